// Compare: several runs side by side: curves, strength, and the settings in which they differ.
import { chart } from "./chart.js";
import { card, el, get, label, table } from "./dom.js";

const shown = [["val/policy_loss", "policy loss, held out"], ["train/policy_loss", "policy loss, trained on"], ["val/value_loss", "value loss, held out"],
  ["train/value_loss", "value loss, trained on"], ["val/policy_accuracy", "best move, held out"], ["val/value_accuracy", "result, held out"],
  ["selfplay/mean_plies", "length of games (plies)", "game"], ["selfplay/draw_share", "draws, share of games", "game"],
  ["selfplay/positions_s", "self-play, positions a second", "game"], ["throughput/rows_s", "training, rows a second"], ["train/lr", "learning rate"]];

export function compare(main) {
  const head = el("p", { class: "note" }, "Reading the runs ..."), grid = el("div", { class: "grid" });
  main.append(head, grid);
  let timer;
  async function refresh() {
    try {
      const { runs, differ } = await get("/api/runs");
      if (runs.length < 2) {
        head.replaceChildren("One run is watched. To compare it with others: ", el("code", null, `chessbrain watch ${runs[0]} OTHER --web ADDRESS`));
        return;
      }
      const [all, states] = await Promise.all(["learning", "status"].map((what) => Promise.all(runs.map((_, i) => get(`/api/${what}?run=${i}`)))));
      const left = Math.min(...all.map((l) => l.read));
      head.textContent = left < 1 ? `${Math.round(100 * left)} % of the metrics are read` : "";
      grid.replaceChildren(settings(runs, differ), ladders(runs, states), ...shown.map(([tag, title, x = "step"]) =>
        card(title, chart(runs.map((name, i) => ({ name, points: all[i].curves[tag] })), { xName: x }))));
      timer = setTimeout(refresh, left < 1 ? 1500 : 10000);
    } catch (e) {
      head.replaceChildren(el("span", { class: "bad" }, e.message));
      timer = setTimeout(refresh, 10000);
    }
  }
  refresh();
  return { leave: () => clearTimeout(timer) };
}

function settings(runs, differ) {
  const box = card("Settings that differ", differ.length ? table(["setting", ...runs], differ.map((d) => [el("code", null, d.path), ...d.values.map((v) => v || "-")])) : el("p", null, "None."));
  box.classList.add("wide");
  return box;
}

function ladders(runs, states) {
  const limits = [...new Set(states.flatMap((s) => (s.ladder?.climbs ?? []).map((c) => c.limit)))];
  const rows = runs.map((name, i) => [name, ...limits.map((limit) => {
    const c = states[i].ladder?.climbs.find((c) => c.limit === limit);
    return c ? `${Math.round(c.elo)} ± ${Math.round(c.error)}` : "-";
  }), String(states[i].rows.steps), label(states[i].nets.newest)]);
  const box = card("Strength on the ladder", table(["run", ...limits.map((l) => `>${l}`), ">steps", "newest net"], rows));
  box.classList.add("wide");
  return box;
}
