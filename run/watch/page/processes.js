// Processes: who works on the run, with which net, how fast, and through which plugins.
import { ago, card, el, get, number, saved, table } from "./dom.js";

export function processes(main) {
  const grid = el("div", { class: "grid" }), orders = el("div");
  main.append(orders, grid);
  const form = orderForm();
  if (!saved) get("/api/orders").then((allowed) => { if (allowed) orders.append(form.card, el("p")); }, () => {});
  return {
    status(s) {
      const all = (s.processes ?? []).filter((p, _, some) => p.role !== "run" || !some.some((o) => o.role !== "run" && o.pid === p.pid)); // "run" is a lock, too
      form.name(all.map((p) => p.role));
      const cards = all.length ? all.map((p) => processCard(p, s)) : [card("Processes", el("p", { class: "note" }, "None works on this run now."))];
      if (s.fleet) cards.push(fleetCard(s));
      grid.replaceChildren(...cards);
    },
  };
}

function processCard(p, s) {
  const page = p.page ?? {};
  const facts = [["command", p.command], ["machine", `${p.host}, process ${p.pid}`], ["since", ago(p.started, Date.parse(s.now))],
    ...Object.entries(page).flatMap(([k, v]) => fact(k, v))];
  return card(p.role, p.error ? el("p", { class: "bad" }, p.error) : null, el("div", { class: "facts" }, table(["", ""], facts)), plugins(page.plugins));
}

// fleetCard shows the players on other machines, those seen last first.
function fleetCard(s) {
  const players = s.fleet.members.flatMap((m) => m.players.map((p) => ({ ...p, member: m.name }))).sort((a, b) => b.seen.localeCompare(a.seen));
  const box = card("Players on other machines", el("div", { class: "facts" }, table(["machine", "member", "games", "refused", "waiting", "net", "seen"],
    players.slice(0, 100).map((p) => [`${p.host} (p${p.process})`, p.member, number(p.games), p.rejected ? `${p.rejected}: ${p.reason ?? ""}` : "", String(p.beat.waiting), p.beat.net, p.distrusted ?? ago(p.seen, Date.parse(s.now))]))),
    players.length > 100 ? el("p", { class: "note" }, `and ${players.length - 100} more`) : null);
  box.classList.add("wide");
  return box;
}

// fact makes lines of a value of a process's page: what is nested is named by its way.
function fact(name, value) {
  if (value == null || name === "plugins") return [];
  if (Array.isArray(value)) return value.length && typeof value[0] !== "object" ? [[words(name), value.join(", ")]] : [];
  if (typeof value === "object") return Object.entries(value).flatMap(([k, v]) => fact(`${name} ${k}`, v));
  if (/_ns$/.test(name)) return [[words(name.slice(0, -3)), `${number(value / 1e9)} s`]];
  return [[words(name), typeof value === "number" ? number(value) : String(value)]];
}

const words = (name) => name.replace(/_s$/, " a second").replaceAll("_", " ").replace(/^rates /, "");

function plugins(list) {
  if (!list?.length) return null;
  const names = [...new Set(list.flatMap((p) => Object.keys(p)))].filter((n) => list.every((p) => typeof p[n] !== "object"));
  return table(names.map(words), list.map((p) => names.map((n) => (typeof p[n] === "number" ? number(p[n]) : String(p[n] ?? "")))));
}

// orderForm is what a reader who may asks of a process.
function orderForm() {
  const role = el("select", { "aria-label": "Process" }), said = el("p", { class: "note", role: "status" });
  const kind = el("select", { "aria-label": "Kind of stage" }, ["rescorer", "sampler", "exporter"].map((k) => el("option", null, k)));
  const stage = el("input", { placeholder: "name of the stage", "aria-label": "Name of the stage" });
  const settings = el("input", { class: "long", placeholder: "settings: name=value ...", "aria-label": "Settings of the stage" });
  async function give(command, swap) {
    said.textContent = "...";
    try {
      const answer = await fetch("/api/orders", { method: "POST", headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ role: role.value, command, swap }) });
      const text = await answer.json();
      said.className = answer.ok ? "note good" : "note bad";
      said.textContent = text.answer ?? text.error;
    } catch (e) {
      said.className = "note bad";
      said.textContent = "no answer: " + e.message;
    }
  }
  const button = (name, command, sure) => el("button", { class: "do", type: "button", onclick: () => { if (!sure || confirm(sure)) give(command); } }, name);
  const swap = (dry) => {
    const values = Object.fromEntries(settings.value.split(/\s+/).filter(Boolean).map((s) => s.split(/=(.*)/s).slice(0, 2)));
    give("swap-plugin", { kind: kind.value, stages: stage.value.split(",").filter(Boolean).map((name) => ({ name: name.trim(), settings: values })), dry_run: dry });
  };
  return {
    card: card("Orders", el("div", { class: "controls" }, role,
      button("Checkpoint now", "checkpoint-now"), button("Start training now", "start-training-now"),
      button("Stop", "stop", "Finish the current step, save, and end the process?")),
    el("div", { class: "controls" }, kind, stage, settings, el("button", { class: "do", type: "button", onclick: () => swap(true) }, "Try"),
      el("button", { class: "do", type: "button", onclick: () => swap(false) }, "Swap")), said),
    // name lists the processes, without changing the choice.
    name(roles) {
      const all = roles.filter((r) => r !== "run");
      if (all.join() === [...role.options].map((o) => o.value).join()) return;
      role.replaceChildren(...all.map((r) => el("option", null, r)));
    },
  };
}
