// Boards: pieces of our own drawing, positions, and moves played on them.
import { el, svg } from "./dom.js";

// Pieces in a square of 45, as white ones; class inner is what black ones show light.
const shapes = {
  p: ["M22.5 9a5 5 0 0 0-3.2 8.9c-3.4 1.3-5 4-4.2 6.6h4.2c0 5.500-2.300 8.500-6.300 11v3h19v-3c-4-2.500-6.300-5.500-6.300-11h4.200c.8-2.600-.8-5.300-4.200-6.600A5 5 0 0 0 22.500 9z"],
  r: ["M11 9v7l4 3v12l-4 4v4h23v-4l-4-4V19l4-3V9h-5v4h-4V9h-5v4h-4V9z", "M15 19h15M15 31h15"],
  n: ["M13 39h21c.5-11-1.500-17-5-21 .4-5.500-1.900-9.400-7-11l-1.300-3-3 4.300C12.500 10.500 9 17 8 24.300c-.3 2.400 2.600 3.900 4.700 2.400l2.300-2 4.500-.9C18.300 29.500 14 32 13 39z", "M16.500 15.500h.2M28 20c3 4.500 3.800 9.500 3.500 15"],
  b: ["M22.500 6.500a2.600 2.600 0 0 0-1.600 4.600C16.500 14 13 18.500 13 23c0 3 1.500 5 3.500 6.500L15 34c-3 .5-5.500 1.500-6 4.500h27c-.5-3-3-4-6-4.500l-1.500-4.500C30.500 28 32 26 32 23c0-4.500-3.500-9-7.900-11.900a2.600 2.600 0 0 0-1.600-4.600z", "M16.500 29.500h12M15 34h15M22.500 16v8M19 19.500h7"],
  q: ["M8 12.500l4.500 15 .5 6-2.500 5h24l-2.500-5 .5-6 4.500-15-6.500 9.500-1.500-13-4.500 12-2.200-13.500-2.100 13.500-4.500-12-1.500 13z", "M12.500 27.500c6-1.500 14-1.500 20 0M13 33.500c5.500-1.300 13.500-1.300 19 0"],
  k: ["M21 4.500v3h-3v3h3v4.200c-2 1-3 2.800-2.500 5.300-4.500-3.500-11.500-2-11.500 4.500 0 4 3 6.500 5 9l-1.500 5h24l-1.500-5c2-2.500 5-5 5-9 0-6.500-7-8-11.500-4.500.5-2.500-.5-4.300-2.500-5.300v-4.200h3v-3h-3v-3z", "M12 33.500c6-2.500 15-2.500 21 0M22.500 20.500v9"],
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
    let to = square(move.slice(2, 4));
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
