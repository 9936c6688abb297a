// Two readings at once: a lane at the left of each one's rows, and, where two texts part, how probable either next word was.

import { nextWord, percent, visible } from "../base/format.js";
import { laneNames } from "../base/lanes.js";
import { shape } from "../base/markup.js";
import { fitted } from "../base/text.js";
import { label, round, SOFT } from "./bars.js";

const COLOURS = ["#2f5d9b", "#96500f"], CLASSES = ["lane first", "lane second"]; // in files, and on the screen
export const LANES = 13; // the width of both

const ALIKE = 3; // letters with which two names begin alike, from which on the others are told
const WIDEST = "<0.1%  6.8%"; // that usually stands under a state

/** @param {Layout} layout @param {number} k */
function laneX({ numbers }, k) {
  return round((numbers ? numbers + 5 : 2) + k * 5);
}

/** What is drawn in a lane's colour. @param {number} k */
function inLane(k) {
  return { class: CLASSES[k], fill: COLOURS[k], stroke: "none" };
}

/**
 * The lanes beside a row: that of its reading thick, the other one thin, on its way to the next row; and what a lane is
 * called, in its first row, unless that is the word.
 * @param {Held} grid @param {number} row @param {Layout} layout @returns {Shape[]}
 */
export function drawLanes(grid, row, layout) {
  const line = grid.lines[row];
  if (!line || line.side === "both") return [];
  const own = line.side === "second" ? 1 : 0, gap = layout.row - layout.state, begin = beginsAt(grid, row), end = row >= grid.lines.length - 2 + own;
  const lanes = [0, 1].flatMap((k) => {
    const mine = k === own, other = begin && !mine && k === 1 ? null : { x: laneX(layout, k) + (mine ? 0 : 1) };
    if (!other) return [];
    const top = begin && mine ? 0 : -gap, bottom = end ? layout.state : layout.row;
    return [shape("rect", { ...inLane(k), ...other, y: top, width: mine ? 3 : 1, height: round(bottom - top), rx: mine ? 1.5 : 0, ...(mine ? {} : { opacity: 0.5 }) })];
  });
  const tint = shape("rect", { ...inLane(own), x: laneX(layout, own), y: -1, width: round(layout.words - laneX(layout, own) - 4), height: layout.state + 2, rx: 3, "fill-opacity": 0.08 });
  return [tint, ...lanes, ...laneName(grid, row, own, layout)];
}

/** Whether a row is the first of its lane. @param {Held} grid @param {number} row */
function beginsAt({ lines }, row) {
  return !lines.slice(Math.max(0, row - 2), row).some((line) => line.side === lines[row].side);
}

/** @param {Held} grid @param {number} row @param {number} own @param {Layout} layout */
function laneName(grid, row, own, layout) {
  const name = visible(laneNames(grid)[own]), size = round(9.5 * layout.scale);
  if (layout.density === "compact" || !beginsAt(grid, row) || name === visible(grid.words[row].text)) return [];
  const x = laneX(layout, own) + 7, other = visible(laneNames(grid)[1 - own]), said = distinct(name, other, (text) => fitted(text, layout.words - x - 7, size, layout.measure, 600));
  return [shape("text", { x, y: round(size * 0.95), "unicode-bidi": "isolate", ...inLane(own), "font-size": size, "font-weight": 600 }, said, ...(said === name ? [] : [shape("title", {}, name)]))];
}

/** A name that is cut, where it begins as the other does so that it ends otherwise. @param {string} name @param {string} other @param {(text: string) => string} cut */
export function distinct(name, other, cut) {
  const said = cut(name), [mine, its] = [[...name], [...other]];
  let same = 0;
  while (same < mine.length && mine[same] === its[same]) same++;
  if (said === name || same < ALIKE || same === mine.length) return said;
  const rest = mine.slice(same).join("").replace(/^[^\p{L}\p{N}]+(?=.)/u, ""), end = `…${rest}`;
  return cut(end) === end ? end : cut(rest);
}

/** How high the line is in which texts part, above what follows; 0: they do not after this row. @param {Layout} layout @param {number} row */
export function thenHeight(layout, row) {
  return layout.splits.includes(row) ? layout.split : 0;
}

/** Where in a row's drawing its line of next words stands. @param {Layout} layout */
function thenBase(layout) {
  return round(layout.state + layout.split * 0.72);
}

/**
 * The words that come next, each in the colour of its lane, in the words' column.
 * @param {Held} grid @param {number} row @param {Layout} layout @returns {Shape[]}
 */
export function drawNextWords(grid, row, layout) {
  const then = grid.lines[row]?.then;
  if (!then || !thenHeight(layout, row)) return [];
  const size = layout.label, right = layout.words - 10, base = thenBase(layout), between = 6 * layout.scale;
  const room = (right - (layout.numbers ? layout.numbers + 6 : 0) - between) / 2;
  const words = then.map((word) => fitted(visible(word) || "(end)", room, size, layout.measure, 600));
  const second = round(layout.measure(words[1], size, 600));
  return [label(round(right - second - between), base, words[0], { ...inLane(0), "font-size": size, "font-weight": 600, "text-anchor": "end" }),
    label(right, base, words[1], { ...inLane(1), "font-size": size, "font-weight": 600, "text-anchor": "end" })];
}

/**
 * How probable a state finds the next word of either text, under it.
 * @param {Held} grid @param {number} row @param {Slot} slot @param {Layout} layout @returns {Shape[]}
 */
export function drawNextPair(grid, row, slot, layout) {
  const pair = grid.then[row]?.[slot.index], then = grid.lines[row]?.then;
  if (!pair || !then || !thenHeight(layout, row) || layout.density === "compact") return [];
  const size = layout.label, base = thenBase(layout), strong = slot === layout.own;
  const said = `how probable each next word is to this state: ${pair.map((p, k) => nextWord(then[k], p)).join(", ")}`;
  const told = pair.map((p, k) => (p === null ? (then[k] ? "unknown" : "–") : percent(p))), weight = strong ? 700 : 400;
  const narrow = layout.measure(WIDEST, size, 700) > slot.width - 6; // as all columns are
  const short = narrow ? told.map((one) => (one === "unknown" ? "?" : one.replace("%", ""))) : told, ahead = round(layout.measure(short[0], size, weight) + size * 0.6);
  const look = (/** @type {number} */ k) => ({ ...inLane(k), "font-size": size, "font-weight": pair[k] !== null && (pair[k] ?? 0) > (pair[1 - k] ?? 0) ? 700 : weight,
    ...(pair[k] === null ? { class: "soft", fill: SOFT } : {}) });
  return [shape("g", { class: "then", transform: `translate(${slot.x} 0)`, "aria-hidden": "true" }, shape("title", {}, said),
    label(0, base, short[0], look(0)), label(ahead, base, short[1], look(1)))];
}
