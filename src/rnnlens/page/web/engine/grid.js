// The grid of a text as the page is given it, whole or the rows that changed, as rnnlens/ask/grids.py writes it.

import { COLOURS, COUNTS, TEXTS } from "../base/rules.js";
import { significant } from "./encoding.js";
import { Lines, spanOf } from "./lines.js";
import { PREDICTION } from "./network.js";
import { rint } from "./palette.js";
import { tooMany } from "./reading.js";

/** @typedef {Pick<Grid, "labels" | "changes" | "then" | "rows">} Part */
/** What every state of some rows says of every label, by kind and timestep. @typedef {Map<string, Float32Array>} Said */

const STEP = 24; // rows that are encoded at once
const SHARES = 10 ** COUNTS.share_decimals;
const FEW = 8; // lines at once whose states are compared: all that they say is held
const NO_WORD = { text: "", label: "", unknown: false, group: null, value: null, picture: [], piece: /** @type {const} */ ("") };
/** No word was read, so that no state says anything. @type {State} */
const NO_STATE = { colour: COLOURS.gap, group: TEXTS.other_group, share: 0, rival: null, entropy: 0, top: [], wanted: null, unread: true, outside: null, number: null };

/**
 * The grid for somebody who has the first `have` rows of that of `previous` with `previous_edits`: its rows begin at the
 * first that is missing there or differs, and are `limit` at most.
 * @param {Subject} subject @param {GridQuestion} question @param {Pause} pause @returns {Promise<Grid>}
 */
export async function grid(subject, question, pause) {
  const { previous = "", have = 0, limit = COUNTS.rows_unasked, previous_edits: edits = [] } = question;
  const lines = Lines.of(subject, question).showing(question.columns ?? null), count = lines.lines.length;
  const [{ semantic, palette, words, leftOut }] = lines.shown;
  if (leftOut && limit === null) throw tooMany(words.length + leftOut, "words", COUNTS.text_words);
  let from = Math.min(have, count);
  if (from) from = Math.min(from, lines.firstNewSince(subject, { text: previous, semantic, palette, edits }));
  const end = Math.min(count, from + (limit ?? count)), step = lines.readings.length > 1 ? FEW : STEP;
  /** @type {Part} */ const all = { labels: {}, changes: [], then: [], rows: [] };
  for (let start = from; start < end; start += step) {
    const { labels, changes, then, rows } = await partOf(lines, start, Math.min(start + step, end), pause);
    Object.assign(all.labels, labels);
    all.changes.push(...changes);
    all.then.push(...then);
    all.rows.push(...rows);
  }
  return { ...headOf(lines), from, ...all };
}

/** Everything about a grid but its rows. @param {Lines} lines */
function headOf({ text, shown, lines, areTwo, edits, dropped, readings }) {
  const [reading] = shown, { subject, semantic } = reading, { manifest } = subject;
  const { of_model: own, columns, edges } = manifest.semantics[semantic], { scale, several } = reading.answers;
  const palettes = subject.palettesFor(semantic), palette = palettes[reading.palette], words = readings.map((one) => (shown.includes(one) ? wordsJson(one) : []));
  return {
    format: /** @type {const} */ ("rnnlens-grid"),
    version: /** @type {const} */ (1),
    run: subject.name,
    title: subject.title,
    text,
    follows: subject.text.follows,
    answer: own ? manifest.answer : null,
    semantic,
    semantics: subject.semantics,
    palette: reading.palette,
    palettes: Object.keys(palettes),
    rule: palette.rule,
    groups: Object.fromEntries(palette.groups.map((group, k) => [group, palette.colours[k]])),
    columns,
    edges,
    numbers: subject.text.labels.scale !== null,
    scale: scale && { edges: scale.edges, names: scale.names, calibrated: Boolean(manifest.probes?.stacks[semantic]?.widths) },
    several,
    reads: manifest.run.reads,
    alone: palette.alone,
    placeholders: own ? subject.text.placeholders : {},
    words: lines.map(({ number, row }) => (row === null ? NO_WORD : words[number][row])),
    left_out: reading.leftOut,
    edits,
    dropped,
    sides: areTwo ? shown.map((one) => ({ run: subject.name, title: subject.title, text: one.text, columns: [] })) : [],
    lines: areTwo ? lines.map((line) => line.toJson()) : [],
    notes: [], pairs: [],
  };
}

/** The words of a text and what the model takes them for. @param {Reading} reading @returns {Word[]} */
function wordsJson({ subject, semantic, palette, words, ids }) {
  const { groups, groupOf } = subject.palettesFor(semantic)[palette], { text, manifest } = subject;
  const labels = manifest.semantics[semantic].of_model ? text.labelsOf(ids) : ids.map(() => -1);
  const places = text.places(ids);
  return words.map((word, k) => ({
    text: word,
    label: text.name(ids[k]),
    unknown: text.isUnknown(ids[k]),
    group: labels[k] >= 0 ? groups[groupOf[labels[k]]] : null,
    value: text.values(ids[k])[0] ?? null,
    picture: text.picture(ids[k]),
    piece: places[k],
  }));
}

/**
 * Some lines: their states, the labels these name, and of lines that are compared how far each state lies from the one
 * beside it, or from what it is without edits.
 * @param {Lines} all @param {number} from @param {number} to @param {Pause} pause @returns {Promise<Part>}
 */
async function partOf({ readings, lines: every, columns, areTwo }, from, to, pause) {
  const lines = every.slice(from, to), compared = lines.some((line) => line.isCompared || line.then), { answers } = readings[0];
  /** @type {Map<number, (State | null)[]>[]} */ const rows = [];
  /** @type {Record<string, string>[]} */ const labels = [];
  /** @type {Said[]} */ const said = readings.map(() => new Map());
  for (const [k, reading] of readings.entries()) {
    const shown = lines.flatMap(({ number, row }) => (number === k && row !== null ? [row] : []));
    const span = spanOf([...shown, ...lines.flatMap((line) => (line.isCompared ? [line.rows[k] ?? 0] : []))]);
    const keep = (/** @type {string} */ kind, /** @type {number} */ t, /** @type {Float32Array} */ logits) => said[k].set(`${kind} ${t}`, logits);
    const drawn = shown.length && span ? await drawnRows(reading, ...span, pause, compared ? keep : null) : null;
    if (!drawn && span) await reading.subject.rows.each(reading, ...span, keep, pause);
    rows.push(drawn?.rows ?? new Map());
    labels.unshift(drawn?.labels ?? {});
  }
  const { comparison } = readings[0].subject;
  const logitsAt = (/** @type {number} */ k, /** @type {number} */ row) => columns.map(({ id, kind, back }) => (readings[k].wants(id) && said[k].get(`${kind} ${row - back}`)) || null);
  /** @type {Grid["changes"]} */ const changes = [];
  for (const { rows: [a, b], isCompared } of readings.length > 1 ? lines : []) {
    changes.push(isCompared ? await comparison.changes(logitsAt(1, b ?? 0), logitsAt(0, a ?? 0), answers, pause) : []);
  }
  const then = areTwo ? lines.map((line) => partings(line, readings, (row) => logitsAt(line.number, row))) : [];
  return { labels: Object.assign({}, ...labels), changes, then,
    rows: lines.map(({ number, row }) => (row === null ? columns.map(() => NO_STATE) : rows[number].get(row) ?? [])) };
}

/**
 * What the states of a line where texts part say of the next word of each, exactly; null where a text ends or its word is
 * unknown, and of states that are not asked about the next word.
 * @param {import("./lines.js").Line} line @param {Reading[]} readings @param {(row: number) => (Float32Array | null)[]} logitsAt @returns {Grid["then"][number]}
 */
function partings({ then, rows, row }, readings, logitsAt) {
  const [{ subject: { text }, semantic, columns }] = readings;
  if (!then || row === null) return [];
  const labels = readings.map(({ came }, k) => came[(rows[k] ?? 0) + 1] ?? -1);
  return logitsAt(row).map((logits, k) => {
    if (!logits || (columns[k].kind !== PREDICTION && (semantic !== "output" || columns[k].back))) return null;
    const highest = logits.reduce((a, b) => Math.max(a, b), -Infinity);
    const sum = logits.reduce((all, x) => all + Math.exp(x - highest), 0);
    const [first, second] = labels.map((label) => (label < 0 || text.isUnknown(label) ? null : significant(Math.exp(logits[label] - highest) / sum)));
    return [first, second];
  });
}

/**
 * What is drawn of rows of a reading, and the groups of the labels that they name.
 * @param {Reading} reading @param {number} first @param {number} last @param {Pause} pause
 * @param {((kind: string, t: number, logits: Float32Array) => void) | null} keep what their states say, too
 */
async function drawnRows(reading, first, last, pause, keep) {
  const { subject, columns, answers: { names } } = reading, palette = subject.palettesFor(reading.semantic)[reading.palette];
  const encoded = await subject.rows.encoded(reading, first, last, pause, keep);
  /** @type {number[]} */ const named = [];
  /** @type {Map<number, (State | null)[]>} */ const rows = new Map();
  for (let t = first; t < last; t++) {
    rows.set(t, columns.map(({ id, kind, back }) => {
      if (!reading.wants(id)) return null;
      const found = encoded.get(t - back)?.get(kind);
      if (!found) throw new Error(`nothing is known of ${kind} at ${t - back}`);
      named.push(...found.encoding.labels, ...(found.wanted < 0 ? [] : [found.wanted]));
      const state = stateJson(found.encoding, found.outcome, found.wanted, names, palette);
      return t < back ? { ...state, unread: true, outside: null } : state;
    }));
  }
  return { labels: labelsJson(named, names, palette), rows };
}

/**
 * What is drawn for a state.
 * @param {Encoding} encoding @param {Outcome} outcome @param {number} wanted @param {readonly string[]} labels
 * @param {Palette} palette @returns {State}
 */
function stateJson(encoding, outcome, wanted, labels, palette) {
  const { group, share, rival, entropy, numbers, probabilities, outside = null } = encoding;
  return {
    colour: outside ? COLOURS.gap : palette.faded(group, share),
    group: palette.groups[group],
    share: rint(share * SHARES) / SHARES,
    rival: rival < 0 ? null : palette.groups[rival],
    entropy: significant(entropy),
    top: encoding.labels.map((label, k) => [labels[label], significant(probabilities[k])]),
    wanted: wanted < 0 ? null : [labels[wanted], significant(outcome.came), outcome.rank],
    unread: false,
    outside: outside && [significant(outside[0]), significant(outside[1]), significant(outside[2])],
    number: numbers && /** @type {[number, number, number]} */ (numbers.map((value) => Number(value.toPrecision(COUNTS.state_digits)))),
  };
}

/** The group of every label that states name, in the order of the labels' numbers. @param {Iterable<number>} named @param {readonly string[]} labels @param {Palette} palette */
function labelsJson(named, labels, palette) {
  const numbers = [...new Set(named)].sort((a, b) => a - b);
  return Object.fromEntries(numbers.map((label) => [labels[label], palette.groups[palette.groupOf[label]]]));
}
