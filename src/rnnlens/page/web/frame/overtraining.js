// Perplexity of each kind over a training whose checkpoints were kept: when does each kind learn?

import { perplexity, visible } from "../base/format.js";
import { html, shape, toDom } from "../base/markup.js";
import { meaning } from "../base/metrics.js";
import { INK, label, round, SOFT } from "../grid/bars.js";
import { textStyle } from "../grid/draw.js";

/** @typedef {import("./accuracy.js").Naming} Naming */
/** One kind's way: its perplexity after each of the epochs, null where it was not measured. @typedef {{kind: string, values: (number | null)[]}} Way */

const HEIGHT = 300, LEFT = 52, RIGHT = 150, TOP = 16, BOTTOM = 34;
const RULE = "#e4e4df", OWN = "y";
const TOLD = 0.9; // of what a kind gains, by which it has learnt
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56b4e9"]; // of layers
const APART = 12; // pixels between names

/** The ways of all kinds under a semantic, and of the model itself. @param {TrainingPoint[]} points @param {string} semantic @returns {Way[]} */
export function ways(points, semantic) {
  const kinds = [...new Set(points.flatMap((point) => Object.keys(point.semantics[semantic] ?? {})))];
  const found = kinds.map((kind) => ({ kind, values: points.map((point) => point.semantics[semantic]?.[kind] ?? null) }));
  const own = semantic === "output" ? [{ kind: OWN, values: points.map((point) => point.own) }] : [];
  return [...found, ...own].filter(({ values }) => values.some((value) => value !== null));
}

/**
 * The epoch by which a kind has nine tenths of all that it gains, in the logarithm; null: it gains nothing.
 * @param {Way} way @param {number[]} epochs
 */
export function learntBy({ values }, epochs) {
  const logs = values.map((value) => (value === null ? null : Math.log(value)));
  const known = logs.flatMap((value) => value ?? []), first = known[0], best = Math.min(...known);
  if (known.length < 2 || first - best < 0.01) return null;
  const at = logs.findIndex((value) => value !== null && first - value >= TOLD * (first - best));
  return epochs[at];
}

/** Round values on both sides of a logarithmic axis. @param {number} low @param {number} high */
function marks(low, high) {
  const made = [];
  for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) {
    made.push(...[1, 1.5, 2, 2.5, 3, 4, 5, 7].map((times) => times * power).filter((value) => value >= low && value <= high));
  }
  return made;
}

/**
 * Lines from the first epoch to the last, on logarithmic axes; the model itself in ink.
 * @param {Way[]} found @param {number[]} epochs @param {Naming} naming @param {number} width
 * @returns {Shape}
 */
export function drawTraining(found, epochs, naming, width) {
  const all = found.flatMap(({ values }) => values.flatMap((value) => value ?? []));
  const low = Math.min(...all) * 0.95, high = Math.max(...all) * 1.05, last = epochs[epochs.length - 1];
  const x = (/** @type {number} */ epoch) => round(LEFT + (last > epochs[0] ? Math.log(epoch / epochs[0]) / Math.log(last / epochs[0]) : 0) * (width - LEFT - RIGHT));
  const y = (/** @type {number} */ value) => round(TOP + (Math.log(high / value) / Math.log(high / low)) * (HEIGHT - TOP - BOTTOM));
  const layers = [...new Set(found.map(({ kind }) => naming(kind).layer))];
  const colour = (/** @type {string} */ kind) => (kind === OWN ? INK : COLOURS[layers.indexOf(naming(kind).layer) % COLOURS.length]);
  const axis = [
    ...marks(low, high).flatMap((value) => [shape("line", { class: "rule", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value), stroke: RULE }),
      label(LEFT - 8, y(value) + 4, String(value), { class: "soft", fill: SOFT, "text-anchor": "end", "font-size": 11 })]),
    ...epochs.map((epoch) => label(x(epoch), HEIGHT - 14, String(epoch), { class: "soft", fill: SOFT, "text-anchor": "middle", "font-size": 11 })),
    label(LEFT - 8, HEIGHT - 14, "epoch", { class: "soft", fill: SOFT, "font-size": 11, "text-anchor": "end" }),
  ];
  const lines = found.flatMap(({ kind, values }) => {
    const points = values.flatMap((value, k) => (value === null ? [] : [`${x(epochs[k])},${y(value)}`]));
    const paint = kind === OWN ? { class: "line own" } : { class: "line" };
    return [shape("polyline", { ...paint, points: points.join(" "), fill: "none", stroke: colour(kind), "stroke-width": kind === OWN ? 2.2 : 1.3 })];
  });
  return shape("svg", { width, height: HEIGHT, role: "img", ...textStyle(), "aria-label": "perplexity over training; the table below says the same" },
    ...axis, ...lines, ...names(found, naming, y, width - RIGHT + 10, colour));
}

/** What a kind is called in a table: its name, its layer, and its id in brackets. @param {string} kind @param {Naming} naming */
export function partName(kind, naming) {
  const { name, layer } = naming(kind), id = visible(kind);
  return [name, layer].filter(Boolean).join(", ") + (name === id ? "" : ` (${id})`);
}

/** Kinds at the ends of their lines, none over another. @param {Way[]} found @param {Naming} naming @param {(value: number) => number} y @param {number} left @param {(kind: string) => string} colour */
function names(found, naming, y, left, colour) {
  const ends = found.flatMap(({ kind, values }) => {
    const value = [...values].reverse().find((one) => one !== null);
    return value === undefined || value === null ? [] : [{ kind, at: y(value), to: y(value) }];
  }).sort((a, b) => a.at - b.at);
  ends.forEach((end, k) => { end.to = k ? Math.max(end.at, ends[k - 1].to + APART) : end.at; });
  const over = Math.max(0, (ends[ends.length - 1]?.to ?? 0) - (HEIGHT - BOTTOM + 6));
  for (let k = ends.length - 1, most = HEIGHT - BOTTOM + 6; over && k >= 0; k--, most -= APART) ends[k].to = Math.min(ends[k].to, most);
  return ends.flatMap(({ kind, at, to }) => [
    shape("line", { class: "line", x1: left - 9, x2: left + 4, y1: at, y2: round(to), stroke: colour(kind), "stroke-opacity": 0.5 }),
    label(left + 8, round(to + 3.5), `${visible(kind)}  ${naming(kind).name}`, { "font-size": 10.5 })]);
}

/**
 * The part of the accuracy page that is about the training.
 * @param {TrainingPoint[]} points @param {string} semantic @param {Naming} naming @param {number} width
 * @returns {Node[]}
 */
export function overTraining(points, semantic, naming, width) {
  const measured = points.filter((point) => Object.hasOwn(point.semantics, semantic));
  if (points.length && measured.length < 2) {
    return [html("p", { class: "soft" }, "Checkpoints were kept, but are not measured yet: run rnnlens fit, then rnnlens eval.")];
  }
  if (measured.length < 2) return [];
  const epochs = measured.map(({ epoch }) => epoch), found = ways(measured, semantic);
  const head = html("tr", {}, html("th", { scope: "col" }, "part"), html("th", { scope: "col", ...meaning("learnt by") }, "learnt by epoch"),
    ...epochs.map((epoch) => html("th", { scope: "col", ...meaning("perplexity") }, `epoch ${epoch}`)));
  const rows = found.map((way) => html("tr", {}, html("th", { scope: "row" }, partName(way.kind, naming)), html("td", {}, String(learntBy(way, epochs) ?? "–")),
    ...way.values.map((value) => html("td", {}, value === null ? "" : perplexity(value)))));
  return [
    html("h2", {}, "When each part learns"),
    html("p", { class: "soft" }, "Perplexity on test sentences after the epochs whose weights were kept; both axes are logarithmic. Each layer has a colour, the model itself the thick line. "
      + "A part has learnt by the first of these epochs that has nine tenths of all it gains from the first epoch to its best."),
    toDom(drawTraining(found, epochs, naming, width)),
    html("table", {}, html("caption", {}, "Perplexity over training"), html("thead", {}, head), html("tbody", {}, ...rows)),
  ];
}
