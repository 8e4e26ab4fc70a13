// Processes: who works on the run, with which net, how fast, and through which plugins.
import { ago, card, el, number, table } from "./dom.js";

export function processes(main) {
  const grid = el("div", { class: "grid" });
  main.append(grid);
  return {
    status(s) {
      const all = s.processes ?? [];
      grid.replaceChildren(...(all.length ? all.map((p) => processCard(p, s)) : [card("Processes", el("p", { class: "note" }, "None works on this run now."))]));
    },
  };
}

function processCard(p, s) {
  const page = p.page ?? {};
  const facts = [["command", p.command], ["machine", `${p.host}, process ${p.pid}`], ["since", ago(p.started, Date.parse(s.now))],
    ...Object.entries(page).flatMap(([k, v]) => fact(k, v))];
  return card(p.role, p.error ? el("p", { class: "bad" }, p.error) : null, el("div", { class: "facts" }, table(["", ""], facts)), plugins(page.plugins));
}

// fact makes lines of a value of a process's page: what is nested is named by its way.
function fact(name, value) {
  if (value == null || name === "plugins" || name === "rng") return [];
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
