// Games: boards of games under way, the newest finished ones, and one of them move by move.
import { Position, bar, draw } from "./board.js";
import { chart } from "./chart.js";
import { el, get, picked, saved, table } from "./dom.js";

export function games(main, id) {
  const boards = el("div", { class: "boards" });
  const viewer = el("section", { class: "card", hidden: true });
  const list = el("div");
  const filter = el("input", { type: "search", class: "long", placeholder: "result, end, net or opening", "aria-label": "Filter the finished games" });
  main.append(
    el("section", { class: "card" }, el("h2", null, "Under way, or just over"), boards),
    el("p"), viewer, el("p"),
    el("section", { class: "card" }, el("h2", null, "Finished, the newest first"), el("div", { class: "controls" }, filter), list));
  const slots = new Map(); // boards by place: they are redrawn, not replaced, so that a pointer stays on one
  let finished = [], stop = null, timer;

  async function refresh() {
    try {
      finished = await get("/api/games");
      drawList();
    } catch (e) {
      list.replaceChildren(el("p", { class: "bad" }, e.message));
    }
    if (!saved) timer = setTimeout(refresh, 5000);
  }

  function drawList() {
    const wanted = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = finished.filter((g) => wanted.every((w) => `${g.result} ${g.end} ${g.net} ${g.opening}`.toLowerCase().includes(w)));
    list.replaceChildren(found.length ? table(["game", "result", "end", "plies", "opening", "net"], found.slice(0, 60).map(row)) : el("p", { class: "note" }, finished.length ? "No game fits." : "No game has ended yet."),
      el("p", { class: "note" }, summary(finished)));
  }
  filter.addEventListener("input", drawList);

  function row(g) {
    return { attributes: picked(() => open(`/api/game?id=${g.id}`)), cells: [String(g.game), g.result, g.end, String(g.plies), g.opening, g.net] };
  }

  async function open(path, game) {
    stop?.();
    viewer.hidden = false;
    try {
      stop = view(viewer, await get(path), game ? () => get(path) : null);
    } catch (e) {
      viewer.replaceChildren(el("p", { class: "bad" }, e.message));
    }
    viewer.scrollIntoView({ block: "nearest" });
  }

  refresh();
  if (id) open(`/api/game?id=${encodeURIComponent(id)}`);
  return {
    leave() {
      clearTimeout(timer);
      stop?.();
    },
    games(g) {
      if (!g.length && !slots.size) boards.replaceChildren(el("p", { class: "note" }, saved ? "This page was saved." : "No game is under way, or the players were asked a moment ago."));
      if (g.length && !slots.size) boards.replaceChildren();
      g.forEach((game, i) => {
        let slot = slots.get(i);
        if (!slot) {
          slot = { button: el("button", { class: "mini", type: "button", onclick: () => open(`/api/playing?process=${slot.game.process}&game=${slot.game.game}`, true) }) };
          slots.set(i, slot);
          boards.append(slot.button);
        }
        slot.game = game;
        slot.button.classList.toggle("over", Boolean(game.end));
        const stand = game.end ? `over: ${game.result} ${game.end}` : `ply ${game.plies}`;
        slot.button.replaceChildren(
          draw(new Position(game.fen), { last: game.last, label: `game ${game.game}, ${stand}` }), bar(game.value),
          el("span", { class: "caption" }, el("span", null, `game ${game.game}`), el("span", null, stand)));
      });
      for (const [i, slot] of slots) if (i >= g.length) { slot.button.remove(); slots.delete(i); }
    },
  };
}

function summary(list) {
  const count = (f) => list.filter(f).length;
  const ends = {};
  for (const g of list) ends[g.end] = (ends[g.end] ?? 0) + 1;
  const plies = list.map((g) => g.plies).sort((a, b) => a - b);
  if (!list.length) return "";
  return `Of the newest ${list.length}: White won ${count((g) => g.result === "1-0")}, drawn ${count((g) => g.result === "1/2-1/2")}, Black won ${count((g) => g.result === "0-1")}; half of them at most ${plies[plies.length >> 1]} plies; ` +
    Object.entries(ends).sort((a, b) => b[1] - a[1]).map(([end, n]) => `${n} by ${end}`).join(", ");
}

// view shows a game in box move by move. again asks for it anew while it goes on. It returns what ends that.
function view(box, game, again) {
  let at = game.moves.length, timer;
  const board = el("div"), moves = el("div", { class: "moves" }), graph = el("div"), head = el("p");
  const go = (n) => { at = Math.max(0, Math.min(game.moves.length, n)); redraw(); };
  const button = (text, name, f) => el("button", { class: "do", type: "button", "aria-label": name, title: name, onclick: f }, text);
  const pgn = button("PGN", "Save the game as PGN", () => save(`game-${game.game}.pgn`, pgnOf(game)));
  const ask = el("a", { hidden: Boolean(saved) }, "search this position");
  box.replaceChildren(head, el("div", { class: "viewer" },
    el("div", { tabindex: 0, onkeydown: keys }, board, el("div", { class: "controls" },
      button("«", "First position", () => go(0)), button("‹", "Move back", () => go(at - 1)), button("›", "Move on", () => go(at + 1)), button("»", "Last position", () => go(game.moves.length)), pgn, ask)),
    el("div", null, graph, moves)));

  function keys(e) {
    const step = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: game.moves.length }[e.key];
    if (step === undefined) return;
    e.preventDefault();
    go(step);
  }

  function redraw() {
    const p = new Position(game.start);
    game.moves.slice(0, at).forEach((m) => p.play(m));
    board.replaceChildren(draw(p, { last: game.moves[at - 1], label: `position after ${at} plies` }), bar(game.values[at] ?? game.values[at - 1]));
    head.replaceChildren(el("b", null, `Game ${game.game}`), `  ${game.result}  ${game.end ?? "under way"}, ${game.moves.length} plies, net ${game.net}`);
    ask.href = `#search/${encodeURIComponent(`fen ${game.start}${at ? ` moves ${game.moves.slice(0, at).join(" ")}` : ""}`)}`;
    const black = game.start.split(" ")[1] === "b" ? 1 : 0;
    moves.replaceChildren(...game.san.flatMap((s, i) => [
      (i + black) % 2 === 0 ? ` ${(i + black) / 2 + 1}.` : i === 0 ? "1..." : "",
      el("button", { type: "button", "aria-current": i === at - 1 && "true", onclick: () => go(i + 1) }, s)]));
    moves.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
    graph.replaceChildren(chart([{ name: "White's expected score", points: game.values.map((v, i) => v && [i, v.w + v.d / 2]).filter(Boolean) }], { xName: "ply", low: 0, high: 1 }));
  }

  async function follow() {
    try {
      const end = at === game.moves.length;
      game = await again();
      if (end) at = game.moves.length;
      redraw();
      timer = setTimeout(follow, 500);
    } catch {
      head.append(" (over; it is among the finished games soon)");
    }
  }
  redraw();
  if (again) timer = setTimeout(follow, 500);
  return () => clearTimeout(timer);
}

function pgnOf(game) {
  const tags = { Event: "self-play", White: game.net, Black: game.net, Result: game.result };
  const [, turn, , , , number] = game.start.split(" ");
  if (game.start !== "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1") Object.assign(tags, { SetUp: "1", FEN: game.start });
  const first = 2 * (Number(number) - 1) + (turn === "b" ? 1 : 0);
  const moves = game.san.map((s, i) => ((i + first) % 2 === 0 ? `${(i + first) / 2 + 1}. ${s}` : i === 0 ? `${(first + 1) / 2}... ${s}` : s)).join(" ");
  return `${Object.entries(tags).map(([k, v]) => `[${k} "${v}"]`).join("\n")}\n\n${moves} ${game.result}\n`;
}

function save(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "application/x-chess-pgn" }));
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
