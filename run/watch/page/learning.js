// Learning: losses, entropies, rates and games over the course of the run, from its metrics.
import { chart } from "./chart.js";
import { card, el, get, saved, table, ago } from "./dom.js";

export function learning(main, training) {
  const path = training ? `/api/learning?training=${training}` : "/api/learning";
  const others = el("p", { class: "trainings" }); // of the run
  const head = el("p", { class: "note" }, "Reading the metrics ..."), grid = el("div", { class: "grid" });
  main.append(others, head, grid);
  let timer;
  async function refresh() {
    try {
      const l = await get(path);
      head.textContent = l.read < 1 ? `${Math.round(100 * l.read)} % of the metrics are read` : describe(l.run);
      if (l.trainings.length > 1) others.replaceChildren("Trainings: ", ...l.trainings.flatMap((name) => [el("a", { href: `#learning/${name}`, "aria-current": name === l.training && "true" }, name), " "]));
      grid.replaceChildren(...cards(l));
      if (!saved) timer = setTimeout(refresh, l.read < 1 ? 1500 : 5000);
    } catch (e) {
      head.replaceChildren(el("span", { class: "bad" }, e.message));
      timer = setTimeout(refresh, 5000);
    }
  }
  refresh();
  return { leave: () => clearTimeout(timer) };
}

// rank puts what matters most first.
const rank = (tag) => ["train/policy_loss", "train/value_loss"].indexOf(tag) + 1 || 9;

function describe(run) {
  if (!run) return "No training has written metrics yet.";
  return [`net ${run.arch}`, run.device && `device ${run.device}`, run.kernels, run.precision, `seed ${run.seed}`, `${run.phase} ${ago(run.time)}`].filter(Boolean).join(", ");
}

function cards(l) {
  const all = [];
  const steps = "step", games = "game";
  const one = (tag, name) => l.curves[tag] && { name, points: l.curves[tag] };
  const add = (title, series, options) => {
    const known = series.filter(Boolean);
    if (known.length) all.push(card(title, chart(known, options)));
  };
  const losses = Object.keys(l.curves).filter((t) => /^train\/.*loss$/.test(t) && t !== "train/loss" && t !== "train/l2_loss").sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  for (const tag of losses) {
    const name = tag.slice("train/".length);
    add(name.replaceAll("_", " "), [one(tag, "trained on"), one(`val/${name}`, "held out"), one(`val_swa/${name}`, "held out, averaged weights"),
      ...Object.keys(l.curves).filter((t) => t.startsWith("val_") && t.endsWith(`/${name}`) && !/^val_(swa|untrained)\//.test(t)).map((t) => one(t, t.slice("val_".length, -name.length - 1).replaceAll("_", " "))),
      name.startsWith("policy") && one("train/target_entropy", "entropy of the target: the floor")], { xName: steps });
  }
  add("accuracy", [one("val/policy_accuracy", "best move, held out"), one("train/policy_accuracy", "best move, trained on"), one("val/value_accuracy", "result, held out"), one("train/value_accuracy", "result, trained on")], { xName: steps, low: 0, high: 1 });
  add("entropy of the policy (nats)", [one("train/policy_entropy", "net"), one("train/target_entropy", "target"), one("train/legal_entropy", "all legal moves alike")], { xName: steps, low: 0 });
  add("learning rate", [one("train/lr", "rate")], { xName: steps, low: 0 });
  add("norm of the gradient", [one("train/grad_norm", "before clipping")], { xName: steps, low: 0 });
  if (l.calibration?.length) {
    all.push(card("calibration: White's score", chart([{ name: "scored", dots: true, points: l.calibration.map((b) => [b.said, b.scored]) },
      { name: "as the search said", points: [[0, 0], [1, 1]] }], { xName: "the search said", low: 0, high: 1 })));
  }
  add("length of games (plies)", [one("selfplay/mean_plies", "mean")], { xName: games, low: 0 });
  add("draws", [one("selfplay/draw_share", "share of games")], { xName: games, low: 0, high: 1 });
  add("speed of self-play", [one("selfplay/positions_s", "positions a second")], { xName: games, low: 0 });
  add("speed of training", [one("throughput/rows_s", "rows a second")], { xName: steps, low: 0 });
  const ends = Object.entries(l.ends ?? {}).sort((a, b) => b[1] - a[1]);
  if (ends.length) {
    const sum = ends.reduce((n, e) => n + e[1], 0);
    all.push(card("how games ended", table(["end", ">games", ">share"], ends.map(([end, n]) => [end, String(n), `${((100 * n) / sum).toFixed(1)} %`]))));
  }
  all.push(card("alarms", l.alarms.length ? l.alarms.map((a) => el("p", { class: a.severity === "error" ? "bad" : "warn" }, `${a.message} (step ${a.step}, ${ago(a.time)})`, a.remedy ? el("span", { class: "note" }, ` ${a.remedy}`) : null)) : el("p", { class: "good" }, "None.")));
  return all;
}
