// Curves with axes, a legend that follows the pointer, and error bars.
import { el, svg, number } from "./dom.js";

const width = 400, height = 190, left = 44, right = 8, top = 6, bottom = 22;

// chart draws series [{name, points: [[x, y], ...], errors, dots}] over one pair of axes. options: xName,
// low and high (of y).
export function chart(series, { xName = "", low, high } = {}) {
  const shown = series.filter((s) => s.points?.length);
  const box = el("div", { class: "chart" });
  if (!shown.length) {
    box.append(el("p", { class: "note" }, "Nothing is known yet."));
    return box;
  }
  const xs = shown.flatMap((s) => s.points.map((p) => p[0]));
  const ys = shown.flatMap((s) => s.points.flatMap((p, i) => (s.errors ? [p[1] - s.errors[i], p[1] + s.errors[i]] : [p[1]])));
  const xTicks = ticks(min(xs), max(xs), 4), yTicks = ticks(low ?? robust(ys, 0), high ?? robust(ys, 1), 5);
  const x0 = min(xs), x1 = Math.max(max(xs), x0 + 1e-9);
  const y0 = Math.min(yTicks[0], low ?? Infinity), y1 = Math.max(yTicks.at(-1), high ?? -Infinity, y0 + 1e-9);
  const X = (x) => left + ((x - x0) / (x1 - x0)) * (width - left - right);
  const Y = (y) => height - bottom - ((Math.min(Math.max(y, y0), y1) - y0) / (y1 - y0)) * (height - top - bottom);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": shown.map((s) => `${s.name} ${number(s.points.at(-1)[1])}`).join(", ") });
  for (const t of yTicks) picture.append(svg("line", { class: "axis", x1: left, x2: width - right, y1: Y(t), y2: Y(t) }), svg("text", { x: left - 6, y: Y(t) + 4, "text-anchor": "end" }, number(t)));
  for (const t of xTicks) if (t >= x0 && t <= x1) picture.append(svg("text", { x: X(t), y: height - 6, "text-anchor": "middle" }, number(t)));
  shown.forEach((s, k) => {
    const group = svg("g", { class: `k${k % 6}` });
    s.errors?.forEach((e, i) => group.append(svg("line", { class: "err", x1: X(s.points[i][0]), x2: X(s.points[i][0]), y1: Y(s.points[i][1] - e), y2: Y(s.points[i][1] + e) })));
    if (s.dots || s.points.length === 1) s.points.forEach((p) => group.append(svg("circle", { cx: X(p[0]), cy: Y(p[1]), r: 3 })));
    group.append(svg("path", { class: "curve", d: s.points.map((p, i) => `${i ? "L" : "M"}${X(p[0]).toFixed(1)} ${Y(p[1]).toFixed(1)}`).join("") }));
    picture.append(group);
  });
  const cursor = svg("line", { class: "cursor", y1: top, y2: height - bottom, visibility: "hidden" });
  picture.append(cursor);
  const values = shown.map(() => el("span"));
  const where = el("span");
  const legend = el("div", { class: "legend" }, shown.map((s, k) => el("span", { class: `k${k % 6}` }, el("i"), s.name, " ", values[k])), where);
  const tell = (x) => {
    shown.forEach((s, k) => { values[k].textContent = number((x == null ? s.points.at(-1) : nearest(s.points, x))[1]); });
    where.textContent = `at ${xName} ${number(Math.round(x ?? x1))}`;
    cursor.setAttribute("visibility", x == null ? "hidden" : "visible");
    if (x != null) { cursor.setAttribute("x1", X(x)); cursor.setAttribute("x2", X(x)); }
  };
  picture.addEventListener("pointermove", (e) => {
    const r = picture.getBoundingClientRect();
    const x = x0 + ((((e.clientX - r.left) / r.width) * width - left) / (width - left - right)) * (x1 - x0);
    tell(Math.min(Math.max(x, x0), x1));
  });
  picture.addEventListener("pointerleave", () => tell(null));
  tell(null);
  box.append(legend, picture);
  return box;
}

const min = (v) => v.reduce((a, b) => Math.min(a, b));
const max = (v) => v.reduce((a, b) => Math.max(a, b));

// robust is the least or the largest value but for a hundredth: one wild point does not flatten a curve.
function robust(ys, end) {
  const sorted = [...ys].sort((a, b) => a - b), cut = Math.floor(ys.length / 100);
  return end ? sorted[sorted.length - 1 - cut] : sorted[cut];
}

function nearest(points, x) {
  let best = points[0];
  for (const p of points) if (Math.abs(p[0] - x) < Math.abs(best[0] - x)) best = p;
  return best;
}

// ticks are round numbers around a range, about n of them.
function ticks(low, high, n) {
  const span = high - low || Math.abs(high) || 1, raw = span / n, size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].find((s) => s * size >= raw) * size;
  const list = [];
  for (let t = Math.floor(low / step) * step; t < high + step; t += step) list.push(Math.abs(t) < step / 1e6 ? 0 : t);
  return list;
}
