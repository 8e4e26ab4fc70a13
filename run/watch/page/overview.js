// Overview: what the run does now, what limits it, how strong its nets are, and whether all is well.
import { el, card, table, number, bytes, duration, ago, label } from "./dom.js";
import { chart } from "./chart.js";

export function overview(main) {
  const tiles = el("div", { class: "tiles" }), work = el("div"), strength = el("div");
  main.append(tiles, el("div", { class: "split" }, work, strength));
  return {
    status(s) {
      tiles.replaceChildren(...tilesOf(s));
      work.replaceChildren(...[now(s), limits(s), health(s), disk(s)].filter(Boolean));
      strength.replaceChildren(...[trainings(s), ladder(s), ratings(s)].filter(Boolean));
    },
  };
}

const tile = (value, name) => el("div", { class: "tile" }, el("b", null, value), el("span", null, name));

function tilesOf(s) {
  const eta = (s.progress ?? []).find((p) => p.eta);
  const gate = s.nets.gate;
  return [
    tile((s.processes ?? []).length ? "at work" : s.loop?.stopped ? "done" : "stopped", s.created ? `begun ${ago(s.created, Date.parse(s.now))}` : ""),
    eta && tile(duration(eta.eta), `left of ${eta.what}`),
    s.loop && tile(String(s.loop.cycles_done), "cycles done"),
    tile(number(s.rows.samples), `rows trained on, ${number(s.rows.steps)} steps${s.trainings?.[0]?.at_work ? ", in checkpoints" : ""}`),
    s.rows.rows ? tile(number(s.rows.rows), s.rows.samples_per_row ? `positions, each trained on ${number(s.rows.samples_per_row)} times` : "positions") : null,
    tile(String(s.nets.accepted), s.nets.rejected ? `nets accepted, ${s.nets.rejected} rejected` : "nets"),
    gate && tile(gate.accepted ? "accepted" : "rejected", `newest decision: ${gate.candidate}`),
  ].filter(Boolean);
}

function now(s) {
  const work = (s.progress ?? []).map((p) => el("div", null,
    el("div", null, el("b", null, p.what), ` ${number(p.have)}${p.need ? ` of ${number(p.need)}` : ""} ${p.unit}`,
      p.rate ? `, ${number(p.rate * 3600)} an hour` : "", p.eta ? `, ${duration(p.eta)} left` : ""),
    el("div", { class: p.need ? "bar" : "bar moving" }, el("i", { "width%": p.need ? (100 * p.have) / p.need : 100 })),
    p.details ? el("p", { class: "note" }, p.details) : null));
  const done = s.loop?.stopped, stage = s.loop?.stage ?? s.loop?.next;
  return card("Now",
    done ? el("p", null, "done: ", el("b", null, done)) : stage ? el("p", null, `cycle ${s.loop.cycle}: `, el("b", null, stage), s.loop.running ? "" : " (nobody works on it)") : null,
    work.length ? work : el("p", { class: "note" }, "No process works on this run. What follows is what it left."),
    el("p", { class: "note" }, `newest net: ${label(s.nets.newest)}${s.nets.since ? `, ${ago(s.nets.since, Date.parse(s.now))}` : ""}`));
}

function trainings(s) {
  if (!(s.trainings?.length > 1)) return null;
  const loss = (t, name) => number((t.validation ?? t.losses)?.[name]);
  return card("Trainings", table(["name", "net", ">steps", ">samples", ">policy loss", ">value loss", ">rows/s", ">nets"], s.trainings.map((t) => [
    el("a", { href: `#learning/${t.name}` }, t.name), t.arch ?? "-", number(t.steps), number(t.samples), loss(t, "policy_loss"), loss(t, "value_loss"),
    t.at_work ? number(t.rows_s) : "stopped", el("span", { title: t.newest_net }, String(t.nets))])));
}

function limits(s) {
  if (!s.limits?.length) return null;
  return card("What limits it", s.limits.map((l) => el("p", null, l.what, el("br"), el("span", { class: "note" }, `${l.change} `, (l.flags ?? []).map((f) => [el("code", null, f), " "]).flat()))));
}

function ladder(s) {
  if (!s.ladder?.climbs?.length) return card("Strength", el("p", { class: "note" }, "Nobody has asked the ladder yet: ", el("code", null, `chessbrain ladder ${s.root}`)));
  const climbs = s.ladder.climbs, rungs = new Map(); // name -> a score under each limit
  climbs.forEach((c, i) => c.rungs.forEach((r) => {
    if (!rungs.has(r.name)) rungs.set(r.name, { elo: r.elo, scores: Array(climbs.length).fill("") });
    const games = r.wins + r.draws + r.losses;
    rungs.get(r.name).scores[i] = el("span", { title: `+${r.wins} =${r.draws} -${r.losses} of ${games}` }, `${(100 * r.estimate.score).toFixed(1)} %`);
  }));
  const rows = [...rungs].sort((a, b) => a[1].elo - b[1].elo).map(([name, r]) => [name, String(r.elo), ...r.scores]);
  return card("Strength: the ladder", el("p", { class: "note" }, `${s.ladder.net} against ${s.ladder.engine || "opponents inside the program"}`),
    table(["score against", ">rung", ...climbs.map((c) => `>${c.limit}`)], [["rating", "", ...climbs.map((c) => el("b", null, `${Math.round(c.elo)} ± ${Math.round(c.error)}`))], ...rows]));
}

function ratings(s) {
  if (!s.ratings?.length) return null;
  const list = s.ratings.map((r) => ({ ...r, at: Number(/-s(\d+)-d\d+$/.exec(r.name)?.[1] ?? NaN) })).filter((r) => !Number.isNaN(r.at)).sort((a, b) => a.at - b.at);
  return card("Strength: ratings of its own nets",
    chart([{ name: "Elo", points: list.map((r) => [r.at, r.elo]), errors: list.map((r) => 1.96 * r.error), dots: true }], { xName: "rows trained on" }),
    table(["net", ">Elo", ">± 95 %", ">games"], s.ratings.slice(0, 8).map((r) => [label(r.name), r.elo.toFixed(0), (1.96 * r.error).toFixed(0), String(r.games)])));
}

function health(s) {
  const warnings = s.warnings ?? [];
  return card("Health", warnings.length ? warnings.map((w) => el("p", { class: "warn" }, w)) : el("p", { class: "good" }, "No warnings."),
    el("p", { class: "note" }, "Alarms of the training are under Learning."));
}

function disk(s) {
  const parts = Object.entries(s.disk.parts ?? {}).sort((a, b) => b[1] - a[1]).slice(0, 6);
  return card("Disk", el("p", null, `${bytes(s.disk.used)} used, ${bytes(s.disk.free)} free of ${bytes(s.disk.total)}`),
    table(["part", ">size"], parts.map(([name, size]) => [name, bytes(size)])));
}
