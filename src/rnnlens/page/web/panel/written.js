// Who wrote a state: the part of every word in how far one label is ahead of another, in logits.

import { visible } from "../base/format.js";
import { bdi, html, shape, toDom } from "../base/markup.js";
import { meaning } from "../base/metrics.js";
import { round } from "../grid/bars.js";

/** @typedef {"stored" | "path" | "without" | "gates"} Reading */
/** A line of the waterfall; `row` is null for what belongs to no single word. @typedef {{name: string, row: number | null, value: number, from: number}} Fall */

/** What each reading is, the causal one first; in one word, and in a sentence. @type {[Reading, string, string][]} */
export const READINGS = [
  ["without", "without", "Without this word: the text is read again without it."],
  ["path", "path", "Path: what the word’s own input comes to along all ways through the network, with gates held."],
  ["stored", "stored", "Stored: what stands in the memory since the word was read."],
  ["gates", "gates", "Through gates: what of “without” runs through gates, which is “without” less “path”."],
];

/** What a reading shows and what it does not, of an answer. @param {Reading} reading @param {Written} written */
export function helpOf(reading, { instead }) {
  const again = instead ? `with “${visible(instead)}” in its place` : "with the word left out";
  return {
    without: `How many logits go without the word: the text is read again ${again}. This is what the word really does. The parts do not add up.`,
    path: "What each word’s own input comes to with gates held. The parts add up; what happens when gates move is not in them.",
    stored: "What stands in the memory since each word was read. The parts add up; they are no causes, since gates decide what is kept.",
    gates: "What of “without” runs through gates: “without” less “path”.",
  }[reading];
}
const MOST = 14; // words in the list; of more, those with the smallest parts stand together
const ASKED = "lchkjy"; // memories, outputs, the prediction
const BAR = 74, HIGH = 11;

/** Whether a state can be asked who wrote it. @param {Column} column */
export function canAsk({ letter }) {
  return letter !== "" && ASKED.includes(letter);
}

/** The readings that there are of a state. @param {Written} written */
export function readingsOf(written) {
  return READINGS.filter(([key]) => written[key] !== null);
}

/** @param {number} value */
export function logits(value) {
  const said = Math.abs(value).toFixed(2);
  return `${said === "0.00" ? "" : value < 0 ? "−" : "+"}${said}`;
}

/**
 * The parts one after the other. Those of `stored` and `path` begin where the one before ends, and with the rest they
 * make the difference; the others are no sum, and each begins at nothing.
 * @param {Written} written @param {Reading} reading @param {string[]} words @returns {Fall[]}
 */
export function waterfall(written, reading, words) {
  const parts = (written[reading] ?? []).map((value, row) => ({ row, value: value ?? 0 }));
  const least = [...parts].sort((a, b) => Math.abs(a.value) - Math.abs(b.value)).slice(0, Math.max(0, parts.length - MOST));
  const small = new Set(parts.length > MOST ? least.map(({ row }) => row) : []);
  const adds = reading === "stored" || reading === "path";
  const others = least.reduce((sum, { value }) => sum + value, 0);
  /** @type {Omit<Fall, "from">[]} */ const lines = [
    ...(adds ? [{ name: "the rest", row: null, value: reading === "stored" ? written.stored_rest : written.path_rest }] : []),
    ...(small.size && adds ? [{ name: `${small.size} other words`, row: null, value: others }] : []),
    ...parts.filter(({ row }) => !small.has(row)).map(({ row, value }) => ({ name: words[row] ?? "", row, value })),
  ];
  let at = 0;
  return lines.map((line) => {
    const from = adds ? at : 0;
    at += line.value;
    return { ...line, from };
  });
}

/** How strongly each word is shaded, -1 to 1 of the largest part. @param {Written} written @param {Reading} reading */
export function shades(written, reading) {
  const parts = (written[reading] ?? []).map((value) => value ?? 0), most = Math.max(1e-9, ...parts.map(Math.abs));
  return parts.map((value) => ({ share: round(value / most), said: `${named(reading)} ${logits(value)}` }));
}

/** @param {Reading} reading */
function named(reading) {
  return reading === "without" ? "without this word" : reading === "gates" ? "through gates" : reading;
}

/** All readings of a word in words. @param {Written} written @param {number} row */
function every(written, row) {
  return readingsOf(written).map(([key]) => {
    const value = written[key]?.[row] ?? null;
    return `${named(key)} ${value === null ? "—" : logits(value)}`;
  }).join("\n");
}

/** @param {Fall} fall @param {number} low @param {number} high */
function bar({ from, value }, low, high) {
  const at = (/** @type {number} */ x) => ((x - low) / Math.max(1e-9, high - low)) * BAR;
  const left = at(Math.min(from, from + value)), wide = Math.max(1, at(Math.max(from, from + value)) - left);
  return toDom(shape("svg", { width: BAR, height: HIGH, "aria-hidden": "true" },
    shape("line", { class: "rule", x1: round(at(0)), x2: round(at(0)), y1: 0, y2: HIGH }),
    shape("rect", { class: `followed dot ${value < 0 ? "against" : "for"}`, x: round(left), y: 2, width: round(wide), height: HIGH - 4, rx: 1 })));
}

/**
 * The waterfall as a table.
 * @param {Written} written @param {Reading} reading @param {string[]} words
 * @returns {Node[]}
 */
export function drawWaterfall(written, reading, words) {
  const falls = waterfall(written, reading, words);
  const adds = reading === "stored" || reading === "path";
  const ends = [0, ...falls.flatMap(({ from, value }) => [from, from + value]), ...(adds ? [written.difference] : [])];
  const low = Math.min(...ends), high = Math.max(...ends);
  /** @param {Fall} fall */
  const line = (fall) => html("tr", { ...(fall.row === null ? { class: "soft" } : { title: every(written, fall.row) }) },
    html("th", { scope: "row" }, bdi(visible(fall.name))), html("td", {}, bar(fall, low, high)), html("td", {}, logits(fall.value)));
  const total = { name: "together", row: null, value: written.difference, from: 0 };
  const head = html("thead", {}, html("tr", {}, html("th", { scope: "col" }, "word"), html("td", {}), html("th", { scope: "col", ...meaning("logits") }, "logits")));
  return [html("table", { "aria-label": `${named(reading)}, in logits` }, head, html("tbody", {}, ...falls.map(line)),
    ...(adds ? [html("tfoot", {}, line(total))] : []))];
}
