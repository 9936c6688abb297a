// When a network makes up its mind about a whole text: a line for each kind down the words, and the word that turned it.

import { percent, visible } from "../base/format.js";
import { bdi, html, shape, toDom } from "../base/markup.js";
import { fitted } from "../base/text.js";
import { label, round, SOFT } from "../grid/bars.js";
import { textStyle } from "../grid/draw.js";
import { partName } from "./subject.js";

/** @typedef {(row: number, column: number) => number | null} ValueOf how probable the label is in a state; null: not known */
/** @typedef {{answer: string, valueOf: ValueOf, shown: Set<string>, measure: Measure, onChoose: (place: Place) => void}} Look */

const WIDTH = 240, WORDS = 80, TOP = 18, PITCH = 15, TALLEST = 420, LEAST = 9; // the last: of a row whose word can be read
const SIZE = 11;

/**
 * The model's answer for the whole text: what it says last, or the mean of what it says; null while rows are missing.
 * @param {Held} grid @returns {string | null}
 */
export function answerOf(grid) {
  const own = grid.columns.findIndex((column) => column.letter === "y" && column.layer > 0);
  if (!grid.answer || !grid.words.length || grid.rows.length < grid.words.length || own < 0) return null;
  /** @type {Map<string, number>} */ const sums = new Map();
  const rows = grid.answer === "last" ? grid.rows.slice(-1) : grid.rows;
  for (const row of rows) for (const [name, p] of row[own]?.top ?? []) sums.set(name, (sums.get(name) ?? 0) + p);
  return [...sums].reduce((best, one) => (one[1] > best[1] ? one : best))[0];
}

/**
 * The row from which on a label is a column's most probable one, up to the end; null where it is not there.
 * @param {Held} grid @param {number} column @param {string} answer
 */
export function sinceRow(grid, column, answer) {
  const other = grid.rows.map((row) => row[column]?.top[0][0] === answer).lastIndexOf(false);
  return other === grid.rows.length - 1 ? null : other + 1;
}

/** The probability that a state itself tells. @param {Held} grid @param {string} answer @returns {ValueOf} */
export function toldBy(grid, answer) {
  return (row, column) => {
    const state = grid.rows[row][column];
    return !state || state.unread ? null : state.top.find(([name]) => name === answer)?.[1] ?? null;
  };
}

/** Which columns are told of: those that are shown, but for those of words before and those that say nothing. @param {Held} grid @param {Set<string>} shown */
export function decidingColumns(grid, shown) {
  return grid.columns.flatMap((column, k) => (shown.has(column.id) && !column.back && !column.silent ? [k] : []));
}

/** @param {Held} grid @param {Look} look @returns {Node[]} */
export function drawDecision(grid, look) {
  const { answer, shown } = look;
  const columns = decidingColumns(grid, shown);
  const own = columns.find((k) => grid.columns[k].letter === "y");
  const since = own === undefined ? null : sinceRow(grid, own, answer);
  const word = (/** @type {number} */ row) => html("b", {}, bdi(visible(grid.words[row].text)));
  const begin = answerOf(grid) === answer ? "The answer is " : "For the model\u2019s prediction the label is ";
  const told = since === null ? ["it is not the most probable at the end."]
    : since === 0 ? ["the most probable from the first word on."] : ["the most probable from ", word(since), " on."];
  const items = columns.map((k) => item(grid, look, k));
  return [html("h3", {}, "When it makes up its mind"),
    html("p", {}, begin, html("b", {}, "\u201c", bdi(visible(answer)), "\u201d"), ", ", ...told),
    html("p", { class: "soft" }, "Its probability after each word; the thick line is the model\u2019s prediction. Below: from which word on each part says it."),
    toDom(drawLines(grid, look, columns, since)), html("ol", {}, ...items)];
}

/** A kind, how sure it is at the end, and the word that turned it. @param {Held} grid @param {Look} look @param {number} k */
function item(grid, { answer, valueOf, onChoose }, k) {
  const { id, name } = grid.columns[k], since = sinceRow(grid, k, answer), end = valueOf(grid.rows.length - 1, k);
  const turned = since === null ? "not at the end" : visible(grid.words[since].text);
  return html("li", {}, html("button", { type: "button", class: "action", title: `${visible(name)}: from this word on`,
    click: () => onChoose({ column: id, row: since ?? grid.rows.length - 1 }) },
  html("b", {}, end === null ? "" : percent(end)), html("span", { class: "edge" }, partName(grid.columns[k], grid.columns)),
  html("span", { class: "soft" }, bdi(turned))));
}

/**
 * Words go down as in the grid, probability to the right; the model's own line is the thick one.
 * @param {Held} grid @param {Look} look @param {number[]} columns @param {number | null} since
 * @returns {Shape}
 */
export function drawLines(grid, look, columns, since) {
  const count = grid.rows.length, pitch = round(Math.min(PITCH, TALLEST / count)), height = round(TOP + count * pitch + 4);
  const at = (/** @type {number} */ p) => round(WORDS + p * (WIDTH - WORDS - 6));
  const down = (/** @type {number} */ row) => round(TOP + (row + 0.5) * pitch);
  const rules = [0, 0.5, 1].flatMap((p) => [
    shape("line", { class: "rule", x1: at(p), x2: at(p), y1: TOP - 4, y2: height }),
    label(at(p), TOP - 7, `${100 * p}%`, { class: "soft", fill: SOFT, "font-size": 10, "text-anchor": p === 1 ? "end" : "middle" })]);
  const marked = since === null ? [] : [
    shape("rect", { class: "track", x: 0, y: round(TOP + since * pitch), width: WIDTH, height: pitch, "fill-opacity": 0.09 })];
  const words = grid.words.slice(0, count).flatMap((word, row) => (pitch < LEAST && row !== since ? [] : [
    label(WORDS - 8, round(down(row) + 4), fitted(visible(word.text), WORDS - 12, SIZE, look.measure),
      { "font-size": SIZE, "text-anchor": "end", ...(row === since ? { "font-weight": 700 } : {}) })]));
  const lines = columns.flatMap((k) => drawLine(grid, k, look.valueOf, at, down));
  return shape("svg", { width: "100%", viewBox: `0 0 ${WIDTH} ${height}`, role: "img", ...textStyle(),
    "aria-label": "probability after each word; the list below says from which word on each part says it" }, ...rules, ...marked, ...words, ...lines);
}

/**
 * @param {Held} grid @param {number} k @param {ValueOf} valueOf
 * @param {(p: number) => number} at @param {(row: number) => number} down
 * @returns {Shape[]}
 */
function drawLine(grid, k, valueOf, at, down) {
  const column = grid.columns[k], own = column.letter === "y";
  const points = grid.rows.flatMap((_, row) => {
    const p = valueOf(row, k);
    return p === null ? [] : [`${at(p)},${down(row)}`];
  });
  if (!points.length) return [];
  const look = own ? { "stroke-width": 2.4 } : { "stroke-width": 1, "stroke-opacity": 0.35 };
  return [shape("polyline", { class: "sure", points: points.join(" "), fill: "none", stroke: "currentColor",
    "stroke-linejoin": "round", ...look }, shape("title", {}, partName(column, grid.columns)))];
}
