// Elements of the page, and numbers as people read them.

const svgNS = "http://www.w3.org/2000/svg";

// el makes an element: el("p", {class: "note", onclick: f}, "text", child, ...). What is null is left out.
export function el(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

// svg is el for pictures.
export function svg(name, attributes, ...children) {
  return fill(document.createElementNS(svgNS, name), attributes, children);
}

function fill(e, attributes, children) {
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
    else if (key === "width%") e.style.width = `${Math.max(0, Math.min(100, value))}%`;
    else if (value != null && value !== false) e.setAttribute(key, value === true ? "" : value);
  }
  e.append(...children.flat().filter((c) => c != null && c !== false));
  return e;
}

// card is a box with a heading.
export function card(title, ...children) {
  return el("section", { class: "card" }, el("h2", null, title), ...children);
}

// picked are the attributes of a table's row that can be chosen, by keyboard, too.
export function picked(choose, selected) {
  return { class: "pick", tabindex: 0, "aria-selected": selected && "true", onclick: choose, onkeydown: (e) => { if (e.key === "Enter") choose(); } };
}

// table draws rows of cells, or {attributes, cells}, under names. A name that begins with > is a number's.
export function table(names, rows) {
  const isNumber = names.map((n) => n.startsWith(">"));
  const cell = (kind, content, i) => el(kind, { class: isNumber[i] ? "num" : null }, content ?? "");
  return el("div", { class: "scroll" }, el("table", null,
    el("thead", null, el("tr", null, names.map((n, i) => cell("th", n.replace(">", ""), i)))),
    el("tbody", null, rows.map((r) => el("tr", r.attributes ?? null, (r.cells ?? r).map((c, i) => cell("td", c, i)))))));
}

// label is a net's name for people: the gatekeeper's "random" has random weights, and does not play random moves.
export function label(net) {
  return net === "random" ? "random weights" : net;
}

// number writes a number with three or four digits that count, and its size in letters where it is large.
export function number(v) {
  if (v == null || Number.isNaN(v)) return "-";
  const a = Math.abs(v);
  if (a >= 1e9) return trim(v / 1e9) + " G";
  if (a >= 1e6) return trim(v / 1e6) + " M";
  if (a >= 1e4) return trim(v / 1e3) + " k";
  return trim(v);
}

function trim(v) {
  const a = Math.abs(v);
  if (Number.isInteger(v) && a < 1e4) return String(v);
  return a >= 100 ? v.toFixed(0) : a >= 10 ? v.toFixed(1) : a >= 0.001 || a === 0 ? v.toFixed(a >= 1 ? 2 : 4).replace(/0+$/, "").replace(/\.$/, "") : v.toExponential(1);
}

export function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  for (; n >= 1024 && i < units.length - 1; i++) n /= 1024;
  return `${n >= 100 || i === 0 ? n.toFixed(0) : n.toFixed(1)} ${units[i]}`;
}

export function duration(seconds) {
  if (!(seconds >= 0)) return "-";
  const s = Math.round(seconds);
  if (s < 90) return `${s} s`;
  if (s < 5400) return `${Math.round(s / 60)} min`;
  if (s < 172800) return `${Math.floor(s / 3600)} h ${Math.round((s % 3600) / 60)} min`;
  return `${(s / 86400).toFixed(1)} days`;
}

export function ago(time, now = Date.now()) {
  return time ? `${duration((now - Date.parse(time)) / 1000)} ago` : "-";
}

// saved has the answers of a page that was saved whole, by path; of one that is served it is null.
export const saved = JSON.parse(document.getElementById("saved")?.textContent ?? "null");

// get asks the program for an answer and throws what it says is wrong.
export async function get(path) {
  if (saved) {
    if (path in saved) return saved[path];
    throw new Error("this saved page does not have it: the newest games are in the first lines of the list");
  }
  const answer = await fetch(path);
  let value;
  try {
    value = await answer.json();
  } catch {
    throw new Error(`the program answered ${answer.status}`);
  }
  if (!answer.ok) throw new Error(value.error ?? `the program answered ${answer.status}`);
  return value;
}
