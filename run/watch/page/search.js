// Search: what a net thinks of a position. A click on a move plays it, and the search goes on from there.
import { Position, bar, draw } from "./board.js";
import { el, get, number, picked, table } from "./dom.js";

const start = "startpos";

export function search(main, asked) {
  const position = el("input", { class: "long mono", value: asked || start, "aria-label": "Position: startpos or fen FEN, and moves", spellcheck: "false" });
  const visits = el("select", { "aria-label": "Visits" }, [1, 100, 400, 1600, 6400, 20000].map((n) => el("option", { value: n, selected: n === 400 }, `${n} visits`)));
  const nets = el("select", { "aria-label": "Net" }, el("option", { value: "" }, "newest net"));
  const answer = el("div", { "aria-live": "polite" });
  const form = el("form", { class: "controls" }, position, nets, visits,
    el("button", { class: "do main" }, "Search"), el("button", { class: "do", type: "button", onclick: back }, "Take back"));
  main.append(el("section", { class: "card" }, el("h2", null, "Search a position"), form,
    el("p", { class: "note" }, "A position as in UCI: startpos, or fen and a FEN, then moves and the moves. The net searches as it would play."), answer));
  let turn = 0; // of the newest question: older answers come too late

  form.addEventListener("submit", (e) => { e.preventDefault(); think(); });
  for (const s of [visits, nets]) s.addEventListener("change", think);
  get("/api/nets").then((names) => nets.append(...names.map((n) => el("option", { value: n }, n))), () => {});

  function back() {
    const words = position.value.trim().split(/\s+/), moves = words.indexOf("moves");
    if (moves < 0) return;
    words.pop();
    if (words.length === moves + 1) words.pop();
    position.value = words.join(" ");
    think();
  }

  function play(move) {
    const text = position.value.trim();
    position.value = `${text}${/\bmoves\b/.test(text) ? "" : " moves"} ${move}`;
    think();
  }

  async function think() {
    const mine = ++turn;
    answer.setAttribute("aria-busy", "true");
    try {
      const found = await get(`/api/think?${new URLSearchParams({ position: position.value, visits: visits.value, net: nets.value })}`);
      if (mine === turn) show(found);
    } catch (e) {
      if (mine === turn) answer.replaceChildren(el("p", { class: "bad" }, e.message));
    } finally {
      if (mine === turn) answer.removeAttribute("aria-busy");
    }
  }

  function show(t) {
    const p = new Position(t.fen);
    if (t.over) {
      answer.replaceChildren(el("div", { class: "viewer" }, draw(p), el("p", null, `The game is over: ${t.over}.`)));
      return;
    }
    const most = Math.max(1, ...t.moves.map((m) => m.n));
    const arrows = t.moves.filter((m) => m.n > most / 8).slice(0, 4).reverse().map((m) => ({ move: m.move, width: 3 + (7 * m.n) / most }));
    const white = (v) => (p.white ? v : { w: v.l, d: v.d, l: v.w });
    const percent = (v) => `${(100 * v).toFixed(1)} %`;
    const row = (name, v) => [name, v.q.toFixed(3), percent(v.w), percent(v.d), percent(v.l)];
    answer.replaceChildren(el("div", { class: "viewer" },
      el("div", null, draw(p, { arrows, label: `position, best move ${t.best}` }), bar(white(t.value)),
        el("p", { class: "note" }, `${t.net}: ${number(t.visits)} visits in ${t.ms} ms`), el("p", { class: "mono" }, t.line.join(" "))),
      el("div", null,
        table([p.white ? "for White" : "for Black", ">Q", ">win", ">draw", ">loss"], [row("the search", t.value), row("the net alone", t.raw)]),
        el("p"),
        table(["move", ">visits", "", ">Q", ">net's policy", "", ">what it would learn", ""], t.moves.map((m) => moveRow(m, m.move === t.best, most, play))))));
  }

  think();
  return {};
}

function moveRow(m, best, most, play) {
  const bars = (share, kind) => { const i = el("i", { class: `hbar ${kind}` }); i.style.width = `${(60 * share).toFixed(0)}px`; return i; };
  return { attributes: picked(() => play(m.move), best), cells: [best ? el("b", null, m.san) : m.san, String(m.n), bars(m.n / most, ""),
    m.proven ?? (m.q == null ? "-" : m.q.toFixed(3)), `${(100 * m.p).toFixed(1)} %`, bars(m.p, ""), `${(100 * m.t).toFixed(1)} %`, bars(m.t, "t")] };
}
