// Who wrote a state: the part of every word in how far one label is ahead of another, in logits.

import { visible } from "../base/format.js";
import { bdi, html, shape, toDom } from "../base/markup.js";
import { meaning } from "../base/metrics.js";
import { round } from "../grid/bars.js";

/** @typedef {"stored" | "path" | "without" | "gates"} Reading */
/** A line of the waterfall; `row` is null for what belongs to no single word, and so is `ends`, the interval, of what has none. @typedef {{name: string, row: number | null, value: number, from: number, ends: [number, number] | null}} Fall */

/** What each reading is, the causal one first; in one word, and in a sentence. @type {[Reading, string, string][]} */
export const READINGS = [
  ["without", "without", "Without this word: the text is read again with something else in its place."],
  ["path", "path", "Path: what the word’s own input comes to along all ways through the network, with gates held."],
  ["stored", "stored", "Stored: what stands in the memory since the word was read."],
  ["gates", "gates", "Through gates: what of “without” runs through gates, which is “without” less “path”."],
];

/** What can stand in for a word: in a few words, and in a sentence. @type {[NonNullable<View["stand_in"]>, string, string][]} */
export const STAND_INS = [
  ["tag", "words of the same tag", "Other words of the same part of speech, drawn as often as they are frequent."],
  ["model", "words it expected", "Other words, drawn from what the model itself expected there."],
  ["unknown", "the unknown word", "The word that the model reads for all words that it does not know."],
  ["left_out", "nothing", "The word is left out, and the text is one word shorter."],
];

/** What was read in a word's place. @param {Written} written */
function put({ stand_in: standIn, instead, draws }) {
  if (standIn === "left_out") return "the word left out";
  if (!draws) return `${standIn === "unknown" ? "the unknown word " : ""}“${visible(instead)}” in its place`;
  return `${draws} other words ${standIn === "tag" ? "of the same tag" : "that the model expected"} in its place, one by one`;
}

/** What a reading shows and what it does not, of an answer. @param {Reading} reading @param {Written} written */
export function helpOf(reading, written) {
  const mean = written.draws ? ": in the mean, ± its 95% interval. Pale: it may be nothing" : "";
  return {
    without: `What goes when the text is read again with ${put(written)}${mean}. Another stand-in can tell otherwise. The parts do not add up.`,
    path: `What each word’s own input comes to with gates held, beside ${written.stand_in === "left_out" ? "no input at all" : "what stands in for it"}. The rest is what the stand-ins come to under this text’s gates: with it the parts add up. What happens when gates move is not in them.`,
    stored: "What stands in the memory since each word was read. The parts add up; they are no causes, since gates decide what is kept.",
    gates: "What of “without” runs through gates: “without” less “path”.",
  }[reading];
}
const MOST = 14; // words in the list; of more, those with the smallest parts stand together
const ASKED = "lchkjyS"; // memories, outputs, the prediction
const BAR = 96, HIGH = 11;

/** Whether a state can be asked who wrote it. @param {Column} column */
export function canAsk({ letter, name }) {
  if (letter === "r") return /(^| )read$/.test(name); // elsewhere it is a gate
  return letter === "" || ASKED.includes(letter); // of a submodule's output it is known what goes without a word
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
  /** @type {Omit<Fall, "from" | "ends">[]} */ const lines = [
    ...(adds ? [{ name: "the rest", row: null, value: reading === "stored" ? written.stored_rest : written.path_rest }] : []),
    ...(small.size && adds ? [{ name: `${small.size} other words`, row: null, value: others }] : []),
    ...parts.filter(({ row }) => !small.has(row)).map(({ row, value }) => ({ name: words[row] ?? "", row, value })),
  ];
  let at = 0;
  return lines.map((line) => {
    const from = adds ? at : 0;
    at += line.value;
    return { ...line, from, ends: reading === "without" && line.row !== null ? interval(written, line.row) : null };
  });
}

/** Between which numbers the mean over all possible draws lies, for all that these tell. @param {Written} written @param {number} row @returns {[number, number] | null} */
function interval({ low, high }, row) {
  const ends = [low?.[row] ?? null, high?.[row] ?? null];
  return ends[0] === null || ends[1] === null ? null : [ends[0], ends[1]];
}

/** A part with its interval, as it is written. @param {number} value @param {[number, number] | null} ends */
function withEnds(value, ends) {
  return ends ? `${logits(value)} ±${((ends[1] - ends[0]) / 2).toFixed(2)}` : logits(value);
}

/** How strongly each word is shaded, -1 to 1 of the largest part. @param {Written} written @param {Reading} reading */
export function shades(written, reading) {
  const parts = (written[reading] ?? []).map((value) => value ?? 0), most = Math.max(1e-9, ...parts.map(Math.abs));
  return parts.map((value, row) =>
    ({ share: round(value / most), said: `${named(reading)} ${withEnds(value, reading === "without" ? interval(written, row) : null)}` }));
}

/** @param {Reading} reading */
function named(reading) {
  return reading === "without" ? "without this word" : reading === "gates" ? "through gates" : reading;
}

/** All readings of a word in words. @param {Written} written @param {number} row */
function every(written, row) {
  const drawn = [...new Set(written.drawn[row] ?? [])].map(visible);
  return [...readingsOf(written).map(([key]) => {
    const value = written[key]?.[row] ?? null;
    return `${named(key)} ${value === null ? "—" : withEnds(value, key === "without" ? interval(written, row) : null)}`;
  }), ...(drawn.length ? [`read in its place: ${drawn.join(", ")}`] : [])].join("\n");
}

/** From one end to the other, with a stroke at each. @param {number} left @param {number} right */
function whisker(left, right) {
  const [a, b, middle] = [left, right, HIGH / 2].map(round);
  return `M${a} ${middle}H${b}M${a} ${middle - 2}v4M${b} ${middle - 2}v4`;
}

/** @param {Fall} fall @param {number} low @param {number} high */
function bar({ from, value, ends }, low, high) {
  const at = (/** @type {number} */ x) => ((x - low) / Math.max(1e-9, high - low)) * BAR;
  const left = at(Math.min(from, from + value)), wide = Math.max(1, at(Math.max(from, from + value)) - left);
  return toDom(shape("svg", { width: BAR, height: HIGH, "aria-hidden": "true" },
    shape("line", { class: "rule", x1: round(at(0)), x2: round(at(0)), y1: 0, y2: HIGH }),
    shape("rect", { class: `followed dot ${value < 0 ? "against" : "for"}`, x: round(left), y: 2, width: round(wide), height: HIGH - 4, rx: 1 }),
    ...(ends ? [shape("path", { class: "whisker", d: whisker(at(ends[0]), at(ends[1])) })] : [])));
}

/** Whether nothing is told of a part: its interval holds 0. @param {Fall} fall */
function isUnsure({ ends }) {
  return ends !== null && ends[0] <= 0 && ends[1] >= 0;
}

/** The number of a line; a dash where nothing could stand in. @param {Written} written @param {Reading} reading @param {Fall} fall */
function said(written, reading, { row, value, ends }) {
  return row !== null && (written[reading]?.[row] ?? null) === null ? "—" : withEnds(value, ends);
}

/**
 * The waterfall as a table.
 * @param {Written} written @param {Reading} reading @param {string[]} words
 * @returns {Node[]}
 */
export function drawWaterfall(written, reading, words) {
  const falls = waterfall(written, reading, words);
  const adds = reading === "stored" || reading === "path";
  const ends = [0, ...falls.flatMap(({ from, value, ends: own }) => [from, from + value, ...(own ?? [])]), ...(adds ? [written.difference] : [])];
  const low = Math.min(...ends), high = Math.max(...ends);
  /** @param {Fall} fall */
  const line = (fall) => html("tr", { ...(fall.row === null ? { class: "soft" } : { title: every(written, fall.row) }), ...(isUnsure(fall) ? { class: "unsure" } : {}) },
    html("th", { scope: "row" }, bdi(visible(fall.name))), html("td", {}, bar(fall, low, high)), html("td", {}, said(written, reading, fall)));
  /** @type {Fall} */ const total = { name: "together", row: null, value: written.difference, from: 0, ends: null };
  const head = html("thead", {}, html("tr", {}, html("th", { scope: "col" }, "word"), html("td", {}), html("th", { scope: "col", ...meaning("logits") }, "logits")));
  return [html("table", { "aria-label": `${named(reading)}, in logits` }, head, html("tbody", {}, ...falls.map(line)),
    ...(adds ? [html("tfoot", {}, line(total))] : []))];
}
