// Boards: pieces of our own drawing, positions, and moves played on them.
import { el, svg } from "./dom.js";

// Pieces in a square of 45, as white ones; class inner is what black ones show light.
const shapes = {
  p: ["M22.5 9a5 5 0 0 0-3.2 8.9c-3.4 1.3-5 4-4.2 6.6h4.2c0 5.5-2.3 8.5-6.3 11v3h19v-3c-4-2.5-6.3-5.5-6.3-11h4.2c.8-2.6-.8-5.3-4.2-6.6A5 5 0 0 0 22.5 9z"],
  r: ["M11 9v7l4 3v12l-4 4v4h23v-4l-4-4V19l4-3V9h-5v4h-4V9h-5v4h-4V9z", "M15 19h15M15 31h15"],
  n: ["M13 39h21c.5-11-1.5-17-5-21 .4-5.5-1.9-9.4-7-11l-1.3-3-3 4.3C12.5 10.5 9 17 8 24.3c-.3 2.4 2.6 3.9 4.7 2.4l2.3-2 4.5-.9C18.3 29.5 14 32 13 39z", "M16.5 15.5h.2M28 20c3 4.5 3.8 9.5 3.5 15"],
  b: ["M22.5 6.5a2.6 2.6 0 0 0-1.6 4.6C16.5 14 13 18.5 13 23c0 3 1.5 5 3.5 6.5L15 34c-3 .5-5.5 1.5-6 4.5h27c-.5-3-3-4-6-4.5l-1.5-4.5C30.5 28 32 26 32 23c0-4.5-3.5-9-7.9-11.9a2.6 2.6 0 0 0-1.6-4.6z", "M16.5 29.5h12M15 34h15M22.5 16v8M19 19.5h7"],
  q: ["M8 12.5l4.5 15 .5 6-2.5 5h24l-2.5-5 .5-6 4.5-15-6.5 9.5-1.5-13-4.5 12-2.2-13.5-2.1 13.5-4.5-12-1.5 13z", "M12.5 27.5c6-1.5 14-1.5 20 0M13 33.5c5.5-1.3 13.5-1.3 19 0"],
  k: ["M21 4.5v3h-3v3h3v4.2c-2 1-3 2.8-2.5 5.3-4.5-3.5-11.5-2-11.5 4.5 0 4 3 6.5 5 9l-1.5 5h24l-1.5-5c2-2.5 5-5 5-9 0-6.5-7-8-11.5-4.5.5-2.5-.5-4.3-2.5-5.3v-4.2h3v-3h-3v-3z", "M12 33.5c6-2.5 15-2.5 21 0M22.5 20.5v9"],
};

// sprite puts the pieces into the document once; boards refer to them.
export function sprite() {
  document.body.prepend(svg("svg", { class: "sprite", "aria-hidden": "true" },
    Object.entries(shapes).map(([name, [body, inner]]) => svg("symbol", { id: `piece-${name}`, viewBox: "4.5 4 36 36.5" },
      svg("path", { d: body }), inner && svg("path", { class: "inner", d: inner, fill: "none" })))));
}

// Position is the men and the side to move of a FEN.
export class Position {
  constructor(fen) {
    const [men, turn] = fen.split(" ");
    this.squares = Array(64).fill(null);
    this.white = turn === "w";
    men.split("/").forEach((row, r) => {
      let file = 0;
      for (const c of row) {
        if (c >= "1" && c <= "8") file += Number(c);
        else this.squares[(7 - r) * 8 + file++] = c;
      }
    });
  }

  // play makes a legal move in UCI notation, castling in either style.
  play(move) {
    const from = square(move.slice(0, 2)), s = this.squares;
    const to = square(move.slice(2, 4));
    const man = s[from], kind = man.toLowerCase(), other = s[to];
    s[from] = null;
    const own = other && (other === other.toUpperCase()) === (man === man.toUpperCase());
    if (kind === "k" && (own || Math.abs((to & 7) - (from & 7)) === 2)) {
      const home = from & 56, short = (to & 7) > (from & 7);
      const rook = own ? to : home + (short ? 7 : 0);
      const r = s[rook];
      s[rook] = null;
      s[home + (short ? 6 : 2)] = man;
      s[home + (short ? 5 : 3)] = r;
    } else {
      if (kind === "p" && (to & 7) !== (from & 7) && !other) s[(from & 56) + (to & 7)] = null;
      const promoted = move[4];
      s[to] = promoted ? (this.white ? promoted.toUpperCase() : promoted) : man;
    }
    this.white = !this.white;
    return this;
  }
}

const square = (name) => name.charCodeAt(0) - 97 + 8 * (name.charCodeAt(1) - 49);

// draw makes a board, White below. options: last (a move that is marked), arrows [{move, width}], label.
export function draw(position, { last, arrows = [], label = "" } = {}) {
  const marked = last ? [square(last.slice(0, 2)), square(last.slice(2, 4))] : [];
  const board = svg("svg", { class: "board", viewBox: "0 0 360 360", role: "img", "aria-label": label || "chess board" });
  const at = (i) => [(i & 7) * 45, (7 - (i >> 3)) * 45];
  for (let i = 0; i < 64; i++) {
    const [x, y] = at(i), dark = ((i >> 3) + i) % 2 === 0;
    board.append(svg("rect", { x, y, width: 45, height: 45, class: dark ? "sq-d" : "sq-l" }));
    if (marked.includes(i)) board.append(svg("rect", { x, y, width: 45, height: 45, class: "sq-m" }));
  }
  position.squares.forEach((man, i) => {
    if (!man) return;
    const [x, y] = at(i);
    board.append(svg("use", { href: `#piece-${man.toLowerCase()}`, x, y, width: 45, height: 45, class: `piece ${man === man.toUpperCase() ? "pw" : "pb"}` }));
  });
  for (const { move, width } of arrows) board.append(arrow(at(square(move.slice(0, 2))), at(square(move.slice(2, 4))), width));
  return board;
}

function arrow([x1, y1], [x2, y2], width) {
  const dx = x2 - x1, dy = y2 - y1, length = Math.hypot(dx, dy), head = 10 + width;
  const angle = (Math.atan2(dy, dx) * 180) / Math.PI;
  const end = length - head;
  return svg("path", { class: "arrow", transform: `translate(${x1 + 22.5} ${y1 + 22.5}) rotate(${angle})`,
    d: `M8 ${-width / 2}H${end}V${-head / 1.6}L${length} 0L${end} ${head / 1.6}V${width / 2}H8z` });
}

// bar shows win, draw and loss of White.
export function bar(value) {
  if (!value) return el("div", { class: "wdl", role: "img", "aria-label": "not searched" });
  const percent = (v) => Math.round(100 * v);
  return el("div", { class: "wdl", role: "img", "aria-label": `White wins ${percent(value.w)} %, draw ${percent(value.d)} %, Black wins ${percent(value.l)} %`,
    title: `White ${percent(value.w)} %, draw ${percent(value.d)} %, Black ${percent(value.l)} %` },
  el("i", { class: "w", "width%": 100 * value.w }), el("i", { class: "d", "width%": 100 * value.d }), el("i", { class: "l", "width%": 100 * value.l }));
}
