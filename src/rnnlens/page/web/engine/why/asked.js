// What a memory is without a probe of it, and what it would answer if a word came next, as rnnlens/ask/asked.py has it.

import { COUNTS, TEXTS } from "../../base/rules.js";
import { probabilities } from "../answers.js";
import { closeMatches } from "../labels.js";
import { Lines } from "../lines.js";
import { of } from "../network.js";
import { repr, rounded } from "../python.js";
import { message, refusal } from "../refusals.js";
import { TextEdits } from "./changes.js";

/** @typedef {import("../linear.js").StateOf} StateOf */
/** @typedef {Posts["api/memory"]["answer"]} MemoryTold */
/** @typedef {{layer: import("./held.js").AnyLayer, letter: string}} Place of a memory in a layer */

const DECIMALS = 4, FEW = 10; // heads or units of which the shortest and the longest half-life are told
const EQUAL = 1e-12; // the cosine of columns that are orthogonal for all that rounding tells

/**
 * How large a memory is, how long it lasts, and what it answers to a word.
 * @param {Subject} subject @param {Posts["api/memory"]["asked"]} question @param {Pause} pause @returns {Promise<MemoryTold>}
 */
export async function memoryTold(subject, question, pause) {
  const { column, row, word = null } = question;
  return toldOf(Lines.ofOne(subject, question), column, row, word, pause);
}

/**
 * The same in rows or lines, of memories that are matrices where none is named. What was before the first word is asked nothing.
 * @param {Subject} subject @param {Posts["api/memories"]["asked"]} question @param {Pause} pause @returns {Promise<Posts["api/memories"]["answer"]>}
 */
export async function memoriesTold(subject, question, pause) {
  const lines = Lines.of(subject, question), { first = 0, limit = COUNTS.rows_unasked, word = null } = question;
  const columns = question.columns ?? lines.columns.filter(({ kind }) => {
    const found = place(subject, kind);
    return found && matrix(found);
  }).map(({ id }) => id);
  const rows = await lines.byLine(first, first + (limit ?? Infinity), async (reading, from, to) => {
    /** @type {(MemoryTold | null)[][]} */ const found = [];
    for (let row = from; row < to; row++) {
      found.push([]);
      for (const column of columns) found[row - from].push(await toldOf(reading, column, row, reading.place(column, row).back > row ? null : word, pause));
    }
    return found;
  }, columns.map(() => null));
  return { columns, from: first, rows };
}

/**
 * @param {Reading} reading @param {string} column @param {number} row @param {string | null} word @param {Pause} pause
 * @returns {Promise<MemoryTold>}
 */
async function toldOf(reading, column, row, word, pause) {
  const { subject } = reading, { kind: id, back } = reading.place(column, row);
  const kind = subject.kinds.find((one) => one.id === id), found = place(subject, id);
  if (!kind?.memory || !found) {
    const known = subject.kinds.filter(({ memory }) => memory).map((one) => one.id).join(", ");
    throw refusal("no_memory_column", { column, known: known || message("no_memories") });
  }
  const { states, before } = await reading.states(row, row + 1, pause), state = back ? before.get(id) ?? new Float32Array(0) : of(states, id)[0];
  const lived = back && row ? (await reading.states(row - back, row, pause)).states : states, { layer } = found;
  const now = (/** @type {string} */ letter) => of(lived, layer.json.ids[letter])[0];
  const decay = layer.block ? layer.block.family.stays(now) : now(layer.json.memories[found.letter].decay), shape = matrix(found);
  return {
    norm: parts(state, shape?.heads ?? 1).map((some) => sent(Math.sqrt(some.reduce((sum, value) => sum + value * value, 0))) ?? 0),
    rank: shape ? parts(state, shape.heads).map((head) => sent(effectiveRank(head, shape.columns)) ?? 0) : [],
    half_life: quantiles(Float64Array.from(decay, (stays) => (Math.abs(stays) < 1 ? Math.log(0.5) / Math.log(Math.abs(stays)) : Infinity))).map(sent),
    lasting: decay.length,
    asked: word === null ? null : await answerTo(reading, found, id, row - back, word, pause),
  };
}

/** The layer of a memory, and its letter there. @param {Subject} subject @param {string} id @returns {Place | null} */
function place({ network }, id) {
  for (const layer of network.layers) {
    const letter = Object.keys(layer.json.memories).find((one) => layer.json.ids[one] === id);
    if (letter) return { layer, letter };
  }
  return null;
}

/** The shape of a memory that is a matrix for each head; null: it is a vector. @param {Place} place */
function matrix({ layer, letter }) {
  const sizes = layer.json.sizes?.[letter] ?? [];
  if (!layer.block?.family.question || letter !== layer.json.carried.find((one) => one in layer.json.memories)) return null;
  return { heads: sizes.length > 2 ? sizes[0] : 1, columns: sizes[sizes.length - 1] };
}

/** @param {Float32Array} state @param {number} count */
function parts(state, count) {
  const size = state.length / count;
  return Array.from({ length: count }, (_, k) => state.subarray(k * size, (k + 1) * size));
}

/** Of ten half-lives at most the shortest, the median and the longest; of more the outer tenths. @param {Float64Array} lives */
function quantiles(lives) {
  const ordered = lives.sort(), last = ordered.length - 1, cut = Math.floor(last / FEW);
  return [ordered[cut], (ordered[Math.floor(last / 2)] + ordered[Math.ceil(last / 2)]) / 2, ordered[last - cut]];
}

/** The exponential of the entropy of a matrix's singular values. @param {Float32Array} numbers row after row @param {number} columns */
export function effectiveRank(numbers, columns) {
  const values = singularValues(numbers, columns), total = values.reduce((sum, value) => sum + value, 0);
  const shares = values.map((value) => value / total).filter((share) => share > 0);
  return total > 0 ? Math.exp(-shares.reduce((sum, share) => sum + share * Math.log(share), 0)) : 0;
}

/** By turning pairs of columns until all are orthogonal: their lengths are then what is wanted. @param {Float32Array} numbers @param {number} columns */
function singularValues(numbers, columns) {
  const every = Array.from({ length: columns }, (_, k) => Float64Array.from({ length: numbers.length / columns }, (_, row) => numbers[row * columns + k]));
  const dot = (/** @type {Float64Array} */ a, /** @type {Float64Array} */ b) => a.reduce((sum, value, k) => sum + value * b[k], 0);
  for (let turns = 1, rounds = 0; turns && rounds < 60; rounds++) {
    turns = 0;
    for (let i = 0; i < columns; i++) {
      for (let j = i + 1; j < columns; j++) {
        const a = every[i], b = every[j], aa = dot(a, a), bb = dot(b, b), ab = dot(a, b);
        if (Math.abs(ab) <= EQUAL * Math.sqrt(aa * bb)) continue;
        turns++;
        const between = (bb - aa) / (2 * ab), tangent = (between < 0 ? -1 : 1) / (Math.abs(between) + Math.hypot(1, between));
        const cosine = 1 / Math.hypot(1, tangent), sine = cosine * tangent;
        for (let k = 0; k < a.length; k++) [a[k], b[k]] = [cosine * a[k] - sine * b[k], sine * a[k] + cosine * b[k]];
      }
    }
  }
  return every.map((column) => Math.sqrt(dot(column, column)));
}

/**
 * What a memory after a row of a text would answer if a word came next.
 * @param {Reading} reading @param {Place} found @param {string} kind @param {number} row @param {string} word @param {Pause} pause
 * @returns {Promise<NonNullable<MemoryTold["asked"]>>}
 */
async function answerTo(reading, found, kind, row, word, pause) {
  const { subject, answers } = reading, { block } = found.layer, { network, probes } = subject;
  if (!block || !matrix(found)) {
    const known = network.layers.flatMap((layer) => Object.keys(layer.json.memories).filter((letter) => matrix({ layer, letter })).map((letter) => layer.json.ids[letter]));
    throw refusal("asked_vector", { kind, remedy: known.length ? message("asked_matrices", { known: known.join(", ") }) : message("no_matrices") });
  }
  const { number, seen } = known(reading, word), read = block.json.ids[block.family.output];
  if (!probes?.kinds.includes(read)) throw refusal("asked_unprobed", { read, kind });
  if (row < 0) throw refusal("asked_before", { kind });
  const { states } = await reading.states(row, row + 1, pause), at = (/** @type {string} */ letter) => of(states, block.json.ids[letter])[0];
  const some = Math.min(COUNTS.asked_contexts, row), places = [row, ...Array.from({ length: some }, (_, k) => Math.floor((k * row) / some))];
  /** @type {Float64Array[]} */ const shares = [];
  for (const upto of places) {
    const ids = [...reading.ids.slice(0, upto + 1), number], edits = reading.madeEdits.filter(({ step }) => step <= upto);
    const changes = edits.length ? new TextEdits(subject, ids, reading.semantic, edits) : null;
    const next = (await subject.session.read(ids, upto + 1, upto + 2, changes, pause)).states;
    const isKept = (/** @type {string} */ letter) => block.json.carried.includes(letter) && letter !== "p" && !(letter in block.json.memories);
    const now = (/** @type {string} */ letter) => (isKept(letter) ? at(letter) : of(next, block.json.ids[letter])[0]);
    shares.push(probabilities(answers, await subject.rows.logitsOf(reading, read, block.family.read(block, at, now), pause)));
  }
  const best = shares.map((one) => one.reduce((first, share, label) => (share > one[first] ? label : first), 0)), order = [...shares[0].keys()].sort((a, b) => shares[0][b] - shares[0][a] || a - b);
  return {
    word, read, seen, labels: order.slice(0, COUNTS.asked_labels).map((label) => [answers.names[label], rounded(shares[0][label], DECIMALS)]),
    agree: best.slice(1).filter((one) => one === best[0]).length, contexts: places.length - 1,
  };
}

/** The number of a word, and how often it came in training. @param {Reading} reading @param {string} word */
function known({ subject: { text } }, word) {
  if (text.mark !== null || text.features) throw refusal("asked_mark");
  const number = text.index.get(word) ?? text.index.get(TEXTS.piece_blank + word);
  if (number === undefined) {
    const near = closeMatches(word, text.inputs).map(repr).join(" or ");
    throw refusal("asked_word", { word: repr(word), like: near ? message("asked_like", { near }) : message("asked_unlike") });
  }
  const seen = text.follows && text.json.inputs === null ? text.json.counts?.[number] ?? null : null;
  if (seen === 0) throw refusal("asked_unseen", { word: repr(word) });
  return { number, seen };
}

/** @param {number} value */
function sent(value) {
  return Number.isFinite(value) ? rounded(value, DECIMALS) : null;
}
