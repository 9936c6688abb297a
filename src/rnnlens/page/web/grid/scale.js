// Numbers: what a state says of an axis that is cut into bins, and the series that is read, as a line.

import { percent } from "../base/format.js";
import { shape } from "../base/markup.js";
import { colourOf, INK, label, round, SOFT } from "./bars.js";

/** @typedef {import("../base/schema.d.ts").Scale} Scale */
/** @typedef {import("./bars.js").BarLook} BarLook */

const FULL = 0.5; // the probability of a bin that is as tall as can be
const LINE = 1.6; // of the series
const DIGITS = 3;

/** A number as people read it. @param {number} value */
export function amount(value) {
  const short = Number(value.toPrecision(DIGITS));
  return String(Math.abs(short) >= 1e6 || (short && Math.abs(short) < 1e-4) ? short.toExponential(1) : short)
    .replace("-", "\u2212");
}

/** A number that was given, with the digits that it was given with. @param {number} value */
export function given(value) {
  return String(Number(value.toPrecision(7))).replace("-", "\u2212"); // what a 32-bit float holds
}

/** A number of an axis, as exact as can be told on it. @param {number} value @param {Scale} scale */
export function amountOn(value, { edges }) {
  const span = edges[edges.length - 1] - edges[0] || 1, decimals = 2 - Math.floor(Math.log10(span));
  return amount(Number(value.toFixed(Math.max(0, Math.min(12, decimals)))));
}

/** What a state says of a number, in words. @param {State} state @param {Scale | null} scale */
export function numberWords({ number }, scale) {
  if (!number || !scale) return "";
  const [mean, low, high] = number.map((value) => amountOn(value, scale));
  return `${mean}, 80% from ${low} to ${high}${scale.calibrated ? "" : " (not calibrated)"}`;
}

/** The probability of every bin, in the order of the axis. @param {Scale} scale @param {State} state */
function shares(scale, state) {
  const known = new Map(state.top);
  return scale.names.map((name) => known.get(name) ?? 0);
}

/**
 * In a cell: the mean, and the bins side by side, each as tall as it is probable.
 * @param {Held} grid @param {Scale} scale @param {State} state @param {number} height @param {BarLook} look
 * @returns {Shape[]}
 */
export function drawStrip(grid, scale, state, height, look) {
  const { width, size, pitch } = look, said = state.number ? amountOn(state.number[0], scale) : "";
  const top = height > 1.5 * pitch ? pitch : 0, room = height - top - 2, each = width / scale.names.length;
  const bars = shares(scale, state).map((p, k) => {
    const tall = Math.max(0.5, Math.min(1, p / FULL) * room);
    return shape("rect", { class: "bar", x: round(k * each), y: round(height - 1 - tall), width: round(Math.max(0.5, each - 0.6)),
      height: round(tall), fill: colourOf(grid, scale.names[k]) });
  });
  const ground = shape("rect", { class: "track", y: height - 1, width: round(width), height: 1, fill: INK, "fill-opacity": 0.15 });
  return [ground, ...bars, ...(top ? [label(0, round(pitch * 0.7), said, { class: "said", "font-size": size })] : [])];
}

/**
 * In the panel: the distribution over the axis itself, its mean, the interval, and what really came.
 * @param {Held} grid @param {Scale} scale @param {State} state @param {number} width
 * @param {Measure} measure
 */
export function drawAxis(grid, scale, state, width, measure) {
  const { edges, names } = scale, first = edges[0], span = edges[edges.length - 1] - first || 1;
  const at = (/** @type {number} */ value) => round(Math.max(0, Math.min(1, (value - first) / span)) * width);
  const tall = 96, base = tall + 16, p = shares(scale, state);
  // Areas are probabilities: a bin is the lower the more of the axis it takes.
  const density = p.map((share, k) => share / Math.max(edges[k + 1] - edges[k], span / 200));
  const most = Math.max(...density, 1e-30);
  const bars = names.map((name, k) => shape("rect", { class: "bar", x: at(edges[k]), y: round(base - (density[k] / most) * tall),
    width: Math.max(0.5, round(at(edges[k + 1]) - at(edges[k]) - 0.5)), height: round((density[k] / most) * tall),
    fill: colourOf(grid, name) }, shape("title", {}, `${name} ${percent(p[k])}`)));
  const [mean, low, high] = state.number ?? [first, first, first];
  const came = state.wanted ? names.indexOf(state.wanted[0]) : -1;
  const small = { "font-size": 11, class: "soft", fill: SOFT };
  const ends = [first, edges[edges.length - 1]].map((value, k) =>
    label(k ? width : 0, base + 31, amount(value), { ...small, "text-anchor": k ? "end" : "start" }));
  const said = amountOn(mean, scale), half = measure(said, 12, 600) / 2;
  const shapes = [
    shape("line", { class: "rule", x1: 0, x2: width, y1: base + 0.5, y2: base + 0.5, stroke: SOFT }), ...bars,
    ...(came < 0 ? [] : [shape("rect", { x: at(edges[came]), y: 15, width: Math.max(2, at(edges[came + 1]) - at(edges[came])),
      height: tall + 1, fill: "none", stroke: "currentColor", "stroke-dasharray": "3 2" }, shape("title", {}, `what came: ${names[came]}`))]),
    shape("line", { x1: at(low), x2: at(high), y1: base + 8, y2: base + 8, stroke: "currentColor", "stroke-width": 3, "stroke-linecap": "round" }),
    shape("circle", { cx: at(mean), cy: base + 8, r: 5, fill: "currentColor" }),
    label(Math.max(half, Math.min(width - half, at(mean))), 11, said, { "font-size": 12, "font-weight": 600, "text-anchor": "middle" }),
    ...ends,
  ];
  return { shapes, height: base + 36 };
}

/** What the series in a row is drawn from. @param {Held} grid @param {number} row @param {Layout} layout */
export function seriesAt(grid, row, { series }) {
  return series && [grid.words[row - 1]?.value, grid.words[row + 1]?.value, series];
}

/**
 * The series in the margin of its words: from the row above to the row below.
 * @param {Held} grid @param {number} row @param {Layout} layout
 * @returns {Shape[]}
 */
export function drawSeries(grid, row, layout) {
  const { series } = layout;
  if (!series) return [];
  if (grid.words[row].picture?.length) return drawFrame(grid.words[row].picture, layout);
  const x = (/** @type {number} */ k) => round(series.x + ((grid.words[k].value ?? 0) - series.least) / series.span * series.width);
  const middle = layout.state / 2, here = x(row), parts = [];
  // Up to the edges of its row, where the rows above and below go on.
  for (const [other, y] of [[row - 1, 0], [row + 1, layout.row]]) {
    if (!grid.words[other]) continue;
    const part = Math.abs(y - middle) / layout.row, edge = round(here + (x(other) - here) * part);
    parts.push(shape("line", { x1: here, y1: middle, x2: edge, y2: y, stroke: SOFT, "stroke-width": LINE }));
  }
  const colour = grid.groups.get(grid.words[row].group ?? "") ?? SOFT;
  return [...parts, shape("circle", { cx: here, cy: middle, r: layout.density === "compact" ? 2 : 3.5, fill: colour })];
}

/**
 * The numbers of a step side by side, the darker the larger; rows join, so that steps make a picture.
 * @param {number[]} picture @param {Layout} layout
 * @returns {Shape[]}
 */
function drawFrame(picture, { series, row }) {
  if (!series) return [];
  const each = series.width / picture.length;
  return picture.map((value, k) => shape("rect", {
    x: round(series.x + k * each), y: 0, width: round(each + 0.3), height: row, fill: "currentColor", "fill-opacity": round(0.04 + 0.8 * value),
  }));
}

/** The colours from little to much. @param {Held} grid @param {Scale} scale @param {number} width */
export function drawRamp(grid, scale, width) {
  const each = width / scale.names.length;
  return scale.names.map((name, k) => shape("rect", { x: round(k * each), width: round(each + 0.3), height: 12, fill: colourOf(grid, name) }));
}
