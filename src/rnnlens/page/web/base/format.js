// Numbers and words as people read them.

import { besideOf, readingAt, rowsAfter } from "./lines.js";
import { filled } from "./refusal.js";
import { COUNTS, NOTICES, SIGNS, TEXTS } from "./rules.js";

/** @param {number} p */
export function percent(p) {
  if (p > 0.9995) return p === 1 ? "100%" : ">99.9%";
  return p >= 0.0995 ? `${Math.round(p * 100)}%` : p >= 0.001 ? `${(p * 100).toFixed(1)}%` : "<0.1%";
}

export const SURE = "In brackets: the 95% interval, by resampling sentences. Of the words that the question is asked of: one about what follows, of those that something follows.";
export const TOO_FEW = "Too few sentences to tell an interval: at least 20 are needed.";

/** A 95% interval of a share, behind it; nothing where there is none. @param {number | null} low @param {number | null} high */
export function between(low, high) {
  return low === null || high === null ? "" : ` [${percent(low)} to ${percent(high)}]`;
}

/** A probability, with as many digits as tell it from others. @param {number} p */
export function probability(p) {
  if (p >= 0.0995) return p.toFixed(2);
  if (p >= 0.0005) return p.toFixed(3);
  return p >= 0.00005 ? p.toFixed(4) : "<0.0001";
}

/** @param {number} n */
export function ordinal(n) {
  const tens = n % 100;
  const ending = tens > 10 && tens < 14 ? "th" : ["th", "st", "nd", "rd"][n % 10] ?? "th";
  return `${thousands(n)}${ending}`;
}

/** @param {number} n */
export function thousands(n) {
  return String(n).replace(/\B(?=(\d{3})+$)/g, ",");
}

const NO_COLOUR = 0.005; // a share that is 0 in percent
const LONGEST_TEXT = COUNTS.text_characters, LONGEST_QUOTE = 80;

/** What is wrong with a text of too many characters, as the server says it. @param {string} text */
export function tooLong(text) {
  const { length } = [...text], told = { count: thousands(length), things: "characters", most: thousands(LONGEST_TEXT) };
  return length > LONGEST_TEXT ? filled(NOTICES.too_many, told) : "";
}

/** As much of a text as the server takes. @param {string} text */
export function allowed(text) {
  return text.length > LONGEST_TEXT ? [...text].slice(0, LONGEST_TEXT).join("") : text;
}

/**
 * What of a text is not drawn, in words.
 * @param {{words: unknown[], left_out: number}} grid @param {string} text as it was typed
 */
export function leftOut({ words, left_out: more }, text) {
  const drawn = words.length, { length } = text.length > LONGEST_TEXT ? [...text] : text;
  const most = "the most that can be";
  if (length > LONGEST_TEXT) {
    const part = `${thousands(LONGEST_TEXT)} of ${thousands(length)} characters`;
    return `the first ${part} are read, and ${thousands(drawn)} words of them are drawn: ${most}`;
  }
  return more ? `the first ${thousands(drawn)} of ${thousands(drawn + more)} words are drawn: ${most}` : "";
}

/**
 * What a grid shows where that is not what is wished for.
 * @param {Pick<Held, "text" | "run" | "title" | "semantic" | "follows" | "edits" | "sides"> & {numbers?: boolean}} grid
 * @param {{text: string, run: string | null, edits: string[], beside: string | null}} wish
 */
export function stillShown(grid, wish) {
  const parts = [
    grid.text === wish.text ? "" : `“${quote(grid.text)}”`,
    (wish.run === null || grid.run === wish.run) && besideOf(grid) === wish.beside ? "" : `by ${visible(grid.title)}`,
    grid.edits.join() === wish.edits.join() ? "" : grid.edits.length ? "with the edits before" : "without edits",
  ].filter(Boolean);
  return `Still shown: ${parts.join(", ") || `what was asked before, ${semanticName(grid.semantic, grid.follows, grid.numbers)}`}`;
}

/** What was given, as a notice quotes it. @param {string} given */
export function quote(given) {
  const characters = [...visible(given)];
  if (characters.length <= LONGEST_QUOTE) return characters.join("");
  return `${characters.slice(0, LONGEST_QUOTE - 1).join("")}…`;
}

/** @param {number | null} value */
export function perplexity(value) {
  if (value === null || !Number.isFinite(value)) return "not measured";
  return value >= 9.95 ? thousands(Math.round(value)) : value.toFixed(2);
}

/**
 * The ends of an interval, as a number is written; nothing where it is not known.
 * @param {Ends | null | undefined} ends @param {(value: number) => string} written
 */
export function fromTo(ends, written) {
  return ends ? `${written(ends.low)}${ends.low < 0 ? " to " : "\u2013"}${written(ends.high)}` : "";
}

/** Where a state's probability is surely off by more than ten points; null: it is not, or nobody measured. @param {Column} column @param {State} state */
export function offHere({ off }, state) {
  const p = state.top[0]?.[1] ?? 0, bin = Math.min(9, Math.floor(p * 10));
  return off?.find(({ start }) => Math.round(start * 10) === bin) ?? null;
}

/** How much of what a kind's probe reads the model uses: how sure that is, and a word where that is sure. @param {Column} column */
export function usedWords({ used_interval: ends, called }) {
  return [fromTo(ends, (value) => value.toFixed(2)), called].filter(Boolean).join(", ");
}

/** @param {Divergence} divergence */
export function apart(divergence) {
  const { bits, exact } = divergence;
  // A lower bound is rounded down, so that it stays one.
  const said = exact ? bits.toFixed(2) : (Math.floor(bits * 100) / 100).toFixed(2);
  return exact ? `${said} bits` : `at least ${said} bits`;
}

/** How far apart two states are, in plain words. @param {number} bits */
export function inWords(bits) {
  const words = /** @type {[number, string][]} */ ([[0.005, "the same"], [0.05, "alike"], [0.2, "close"],
    [0.45, "apart"], [0.75, "far apart"]]);
  return words.find(([most]) => bits < most)?.[1] ?? "unlike";
}

const SHIFTED = /^([a-z0-9_]+)([+-])(\d+)$/; // a semantic some words later or earlier
const BIDI = /[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]/g;

/** Text with what cannot be seen made visible. @param {string} text */
export function visible(text) {
  if (/^ +$/.test(text)) return "\u2423".repeat(text.length); // a character model's most frequent label
  return wellFormed(text)
    .replace(/[\u0000-\u001f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
    .replace(/\u007f/g, "\u2421")
    .replace(/[\u0080-\u009f\ufeff\ufffe\uffff]/g, "\ufffd")
    .replace(BIDI, "\u25cc");
}

const NAMES = new Map(Object.entries(SIGNS));

/**
 * What a label is called where its own letters say little: a sign by its name, a placeholder by what it stands for;
 * null: they say it.
 * @param {string} label @param {Pick<Held, "placeholders">} grid
 */
export function nameOf(label, { placeholders }) {
  return placeholders.get(label) ?? NAMES.get(label) ?? null;
}

/** A label in words, with the label itself: comma (,). @param {string} label @param {Pick<Held, "placeholders">} grid */
export function labelWords(label, grid) {
  const name = nameOf(label, grid), shown = visible(label);
  return name === null || name.includes(shown) ? name ?? shown : `${name} (${shown})`;
}

/** Halves of surrogate pairs cannot be sent or drawn. @param {string} text */
export function wellFormed(text) {
  return text.replace(/[\ud800-\udfff]/gu, "\ufffd");
}

/**
 * What a semantic asks for; of a model that predicts no words, its label or number.
 * @param {string} semantic @param {boolean} [follows] @param {boolean} [numbers]
 */
export function semanticName(semantic, follows = true, numbers = false) {
  const one = numbers ? "number" : follows ? "word" : "label";
  if (semantic === "output") return follows ? `next ${one}` : one;
  if (semantic === "input") return "current word";
  const found = SHIFTED.exec(semantic);
  if (!found) return visible(semantic);
  const step = numbers ? "number" : "word", steps = found[3] === "1" ? `1 ${step}` : `${found[3]} ${step}s`;
  const name = found[1] !== "output" ? `${found[1]} ` : follows ? "" : `${one} `;
  return `${name}${steps} ${found[2] === "+" ? "later" : "earlier"}`;
}

/**
 * What a semantic asks for, in a sentence; `whole`: labels are of whole texts.
 * @param {string} semantic @param {boolean} [follows] @param {boolean} [numbers] @param {boolean} [whole]
 */
export function semanticHelp(semantic, follows = true, numbers = false, whole = false) {
  const one = numbers ? "number" : follows ? "word" : "label", its = `the label of ${whole ? "the whole text" : "its word"}`;
  const asked = follows ? `the ${one} that comes next` : numbers ? "its number" : its;
  if (semantic === "output") return `What does each state say about ${asked}?`;
  if (semantic === "input") return "What does each state still say about the word just read?";
  const found = SHIFTED.exec(semantic);
  if (!found) return `What does each state say about the ${visible(semantic)} of its word?`;
  const where = found[2] === "+" ? "after" : "before";
  if (found[1] !== "output") return `What does each state say about the ${found[1]} ${found[3]} ${where} its word\u2019s?`;
  const own = follows ? `the ${one} ${found[3]} ${where} the next one` : `the ${one} ${found[3]} ${where} its own`;
  return `What does each state say about ${own}?`;
}

/**
 * How a grid is read, in a sentence.
 * @param {{semantic: string, follows: boolean, numbers?: boolean, several?: boolean, alone?: boolean, scale?: object | null, answer?: string | null, rule?: string, pairs?: Pair[]}} grid
 */
export function readHelp({ semantic, follows, numbers = false, several = false, alone = false, scale = null, answer = null, rule = "excess", pairs = [] }) {
  const label = `Rectangle: the ${rule === "excess" ? "label that is most above its base rate, paler nearer to it" : "likeliest, paler where it is less probable"}.`;
  const drawn = scale ? "Number: the mean, and of the model itself its own. Bars: how probable each part of the axis is. Rectangle: the median, paler where the state tells less."
    : several ? `Bars: how probable each label is by itself. ${label}`
    : alone ? `Bars: the most probable labels. ${label}`
    : `Bars: the most probable labels. Rectangle: the group that ${rule === "excess" ? "is most above its base rate" : "leads among them"}.`;
  const own = /^(output[+-]|input)/.test(semantic) && follows;
  return `${semanticHelp(semantic, follows, numbers, answer !== null)} ${drawn}`
    + (pairs.length ? " States of the source: any word of the target." : "")
    + `${own ? ` y: the model\u2019s own prediction of the next ${numbers ? "number" : "word"}.` : ""}`;
}

export const SILENT = "says nothing";
export const SILENT_REASON = "No probe of this kind was better than the frequencies of the labels on validation data, so that these are what it says of every state.";
export const OUTSIDE = "outside what the probe has seen";

/** Why a state is outside what its probe has seen. @param {[size: number, low: number, high: number]} outside */
export function outsideReason([size, low, high]) {
  const [own, from, to] = [size, low, high].map((value) => value.toPrecision(3));
  const near = size < low ? "nearer to the middle" : "further from the middle";
  return `It is ${near} than the states that the probe was fitted on: its size, the root mean square of its standardised units, `
    + `is ${own}; at least 99.9% of held-out states have ${from} to ${to}. What the probe says of it means little.`;
}

/** What a faded rectangle means. @param {Pick<Grid, "scale" | "several" | "alone" | "rule">} grid */
export function paleness({ scale, several, alone, rule }) {
  if (scale) return "the state tells less";
  if (rule === "excess") return "nearer the base rate";
  return several ? "less probable" : alone ? "less sure of its label" : "groups mixed";
}

/** A palette's name without the rule that it fades by. @param {string} palette */
export function plainPalette(palette) {
  return palette.endsWith(TEXTS.paper_rule) ? palette.slice(0, -TEXTS.paper_rule.length) : palette;
}

/** The group that a state stands for, and how much colour it has. @param {State} state */
export function groupWords({ group, share, rival }) {
  if (share < NO_COLOUR) return "no leading group";
  return `${groupName(group)} ${percent(share)}${rival === null ? "" : `, ${groupName(rival)} close behind`}`;
}

/**
 * The number that came, where a text is numbers and states are asked about them; null: that is known only by its part of the axis.
 * @param {Pick<Held, "semantic" | "scale" | "follows" | "words" | "lines">} grid @param {number} row @param {Column} column @param {State} state
 */
export function cameNumber(grid, row, column, { wanted }) {
  const { scale } = grid, asked = column.letter === "y" ? "output" : grid.semantic, shifted = SHIFTED.exec(asked);
  if (!scale || !wanted || !grid.follows || !(asked === "input" || asked === "output" || shifted?.[1] === "output")) return null;
  const step = asked === "input" ? 0 : 1 + (shifted ? Number(`${shifted[2]}${shifted[3]}`) : 0);
  const value = grid.words[rowsAfter(grid, row, step - column.back)[0]]?.value ?? null, part = scale.names.indexOf(wanted[0]);
  const low = part > 0 ? scale.edges[part] : -Infinity, high = part < scale.names.length - 1 ? scale.edges[part + 1] : Infinity;
  return value !== null && part >= 0 && value >= low && value < high ? value : null;
}

/** What the right answer is called. @param {string} semantic @param {Column} column @param {boolean} [follows] */
export function wantedName(semantic, column, follows = true) {
  const asked = column.letter === "y" ? "output" : semantic;
  if (asked === "output") return follows ? "what came next" : "the right label";
  return asked === "input" ? "the word read" : `what came ${semanticName(asked)}`;
}

/** @param {number} layer @param {number} last */
export function layerName(layer, last) {
  if (layer === 0) return "input";
  return layer >= last ? "model" : `layer ${layer}`;
}

/** @param {Column} column @param {number} last */
export function columnName(column, last) {
  const inside = column.layer > 0 && column.layer < last;
  const where = [column.part, inside ? `layer ${column.layer}` : ""].filter(Boolean);
  return [column.name, ...where].map(visible).join(", ");
}

/** The layer number that stands for the model's own prediction. @param {Column[]} columns */
export function lastLayer(columns) {
  const own = columns.find((column) => column.letter === "y");
  return own ? own.layer : Math.max(0, ...columns.map((column) => column.layer)) + 1;
}

/**
 * The word a state has just read.
 * @param {Pick<Held, "words" | "lines">} grid @param {Column} column @param {number} row
 */
export function wordAfter(grid, column, row) {
  const read = rowsAfter(grid, row, -column.back)[0];
  return read === undefined ? "the start" : visible(grid.words[read]?.text ?? "");
}

/**
 * A state in words, for those who listen.
 * @param {Pick<Held, "placeholders">} grid @param {State} state @param {string} name @param {string} after
 * @param {number} bars @param {string} number what it says of a number
 * @param {boolean} silent whether its kind says nothing
 */
export function describe(grid, state, name, after, bars, number = "", silent = false) {
  if (state.unread) return state.top.length ? `${name}, after ${after}: nothing read yet` : `${name}: no word stands here`;
  if (state.outside) return `${name}, after ${after}: ${OUTSIDE}`;
  if (silent) return `${name}, after ${after}: ${SILENT}`;
  if (number) return `${name}, after ${after}: ${number}`;
  const said = state.top.slice(0, bars).map(([label, p]) => `${labelWords(label, grid)} ${percent(p)}`);
  return `${name}, after ${after}: ${groupWords(state)}; ${said.join(", ")}`;
}

/**
 * A row as a sentence, for those who listen.
 * @param {Held} grid @param {number} row
 */
export function rowSentence(grid, row) {
  const { row: number } = readingAt(grid, row), line = grid.lines[row];
  const whose = !line || line.side === "both" ? "" : `${line.side === "first" ? "First" : "Second"}${besideOf(grid) === null ? "" : ` (${grid.sides[line.side === "first" ? 0 : 1].run})`}: `;
  if (number === null) return `${whose}no word stands here.`;
  const begin = `${whose}${whose ? "word" : "Word"} ${number + 1}, ${visible(grid.words[row].text)}`;
  const state = grid.rows[row]?.[grid.columns.findIndex((column) => column.letter === "y")];
  if (!state?.top.length) return `${begin}.`;
  const [[name, p]] = state.top, said = labelWords(name, grid), says = grid.follows ? `expects ${said} next` : `says ${said}`;
  const came = line?.then ? `; ${nextWords(grid, row)}` : state.wanted ? `; ${grid.follows ? "then came" : "it is"} ${labelWords(state.wanted[0], grid)}` : "";
  return `${begin}: the model ${says}, ${percent(p)}${came}.`;
}

/**
 * Where two texts part, how probable the model finds the next word of each.
 * @param {Held} grid @param {number} row
 */
export function nextWords(grid, row) {
  const pair = grid.then[row]?.[grid.columns.findIndex((column) => column.letter === "y")] ?? [];
  return `then ${(grid.lines[row].then ?? []).map((word, k) => nextWord(word, pair[k] ?? null)).join(" or ")}`;
}

/** The next word of a text with its probability; none of an unknown word or of the end. @param {string} word @param {number | null} p */
export function nextWord(word, p) {
  return word ? `${visible(word)} ${p === null ? "(unknown)" : percent(p)}` : "the end";
}

/** @param {string} group */
export function groupName(group) {
  return visible(group).toLowerCase();
}
