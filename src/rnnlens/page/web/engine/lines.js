// One or two readings in rows: a text, a text with edits beside itself without them, or two texts. The one path for all of
// them, as rnnlens/reading/lines.py has it.

import { isOfSide } from "../base/edits.js";
import { first, folded, repr } from "./python.js";
import { Refusal } from "../base/refusal.js";
import { COUNTS } from "../base/rules.js";
import { aligned } from "./alignment.js";
import { PREDICTION } from "./network.js";
import { twoTexts } from "./notation.js";
import { firstOther, Reading, sameUntil, tooMany } from "./reading.js";
import { refusal } from "./refusals.js";
import { Edit } from "./why/edit.js";

/** @typedef {import("./alignment.js").Beside} Beside */
/** @typedef {import("../base/schema.d.ts").Line} LineJson */
/** @typedef {{text: string, semantic?: string | null, palette?: string | null, edits?: readonly string[], lenient?: boolean}} OfText */

const SIDES = /** @type {const} */ (["first", "second"]);

/** A line that is drawn: of the first reading, of the second, or of both where all is the same. */
export class Line {
  /** @param {LineJson["side"]} side @param {Beside} rows that stand side by side @param {[string, string] | null} then the word that comes next in each text, where these part */
  constructor(side, rows, then = null) {
    this.side = side;
    this.rows = rows;
    this.then = then;
    /** Whose states it shows. @type {0 | 1} */ this.number = side === "second" ? 1 : 0;
    /** Of its text; null: it is a gap. */ this.row = rows[this.number];
  }

  /** @returns {LineJson} */
  toJson() {
    return { side: this.side, row: this.row, then: this.then };
  }

  /** Whether states are compared in it: it is the second's, and has a word beside it. */
  get isCompared() {
    return this.side === "second" && !this.rows.includes(null);
  }
}

/** Why edits were left out; where none may be, the first is refused. */
class Dropped {
  /** @param {boolean} lenient */
  constructor(lenient) {
    this.lenient = lenient;
    /** @type {string[]} */ this.reasons = [];
  }

  /** @template T @param {() => T} work @param {T} otherwise */
  unless(work, otherwise) {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof Refusal) || !this.lenient) throw error;
      this.reasons.push(error.message);
      return otherwise;
    }
  }
}

/** What is drawn line by line. A text with edits has two readings, the one without them first, of which only the second is shown. */
export class Lines {
  /**
   * @param {string} text that stands for all of it @param {Reading[]} readings @param {Line[]} lines @param {boolean} areTwo whether both are shown
   * @param {string[]} dropped @param {Edit[]} edits all that are made: whoever asks again with these gets the same
   */
  constructor(text, readings, lines, areTwo, dropped, edits) {
    this.text = text;
    this.readings = readings;
    this.lines = lines;
    this.areTwo = areTwo;
    this.dropped = dropped;
    this.made = edits;
    this.edits = edits.map(String);
    /** The readings that are drawn. */ this.shown = areTwo ? readings : readings.slice(-1);
    this.columns = readings[0].columns;
  }

  /** A text as somebody has typed it: one, or two in braces. @param {Subject} subject @param {OfText} question */
  static of(subject, { text, semantic = null, palette = null, edits = [], lenient = false }) {
    const texts = twoTexts(text, subject.text.index), dropped = new Dropped(lenient);
    const parse = () => edits.flatMap((edit) => dropped.unless(() => [Edit.parse(edit)], []));
    if (texts) {
      const one = Reading.of(subject, texts[0], semantic, palette);
      const known = palette !== null && Object.hasOwn(subject.palettes[""] ?? {}, palette) ? palette : null;
      const [both, made] = edited([one, Reading.of(subject, texts[1], one.semantic, known)], parse(), dropped);
      return Lines.ofTwo(both, text, dropped.reasons, made);
    }
    const wanted = parse().filter((edit) => dropped.unless(() => {
      if (edit.side === "second") throw refusal("edit_second", { edit, kind: edit.kind, row: edit.step + 1 });
      return true;
    }, false));
    const [[reading]] = edited([Reading.of(subject, text, semantic, palette)], wanted, dropped);
    return Lines.ofReading(reading, dropped.reasons);
  }

  /** The single text that a question is about; two are refused. @param {Subject} subject @param {OfText} question */
  static ofOne(subject, question) {
    const { areTwo, shown: [reading] } = Lines.of(subject, question);
    if (areTwo) throw refusal("two_texts", { text: repr(first(question.text, COUNTS.quoted_text)) });
    return reading;
  }

  /** A single text, beside itself without its edits where it has any. @param {Reading} reading @param {string[]} dropped */
  static ofReading(reading, dropped) {
    const { edits } = reading, readings = edits ? [reading.edited([]), reading] : [reading];
    const lines = reading.ids.map((_, row) => (edits ? new Line("second", [row, row]) : new Line("first", [row, null])));
    return new Lines(reading.text, readings, lines, false, dropped, reading.madeEdits);
  }

  /** Two readings; `text` stands for both of their texts. @param {Reading[]} readings @param {string} text @param {string[]} dropped @param {Edit[]} edits */
  static ofTwo(readings, text, dropped, edits) {
    for (const { words, leftOut } of readings) {
      if (leftOut) throw tooMany(words.length + leftOut, "words", COUNTS.text_words);
      if (!words.length) throw refusal("empty_text");
    }
    const [a, b] = readings.map(({ words }) => words.map(folded)), same = equalUntil(readings);
    const lines = aligned(a, b).flatMap((rows) => linesOf(rows, readings, same));
    return new Lines(text, readings, lines, true, dropped, edits);
  }

  /**
   * With the states of the kinds in some columns alone. Where two readings are compared the prediction is always among them.
   * @param {string[] | null} columns
   */
  showing(columns) {
    if (!columns) return this;
    const always = this.readings.length > 1 ? [PREDICTION] : [], readings = this.readings.map((one) => one.showing(columns, always));
    return new Lines(this.text, readings, this.lines, this.areTwo, this.dropped, this.made);
  }

  /** The reading and its row that a line shows. @param {number} line @returns {[Reading, number]} */
  state(line) {
    const { number = 0, row } = this.lines[line] ?? {};
    if (row === undefined) throw refusal("no_line", { row: line, count: this.lines.length });
    if (row === null) throw refusal("no_word_in_line", { row: line + 1 });
    return [this.readings[number], row];
  }

  /** The first line that is another than in the grid of what was asked before. @param {Subject} subject @param {OfText} question */
  firstNewSince(subject, question) {
    return new Dropped(true).unless(() => this.firstNew(Lines.of(subject, { ...question, lenient: true })), 0); // it may have had no grid
  }

  /** @param {Lines} before */
  firstNew(before) {
    if (this.areTwo !== before.areTwo) return 0;
    const since = this.shown.map((reading, k) => reading.firstNew(before.shown[k]));
    if (!this.areTwo) return Math.min(since[0], this.lines.length);
    const at = this.lines.findIndex((line, k) => {
      const isNew = line.rows.some((row, side) => row !== null && row >= since[side]);
      return isNew || !before.lines[k] || lineKey(line) !== lineKey(before.lines[k]);
    });
    return at < 0 ? Math.min(this.lines.length, before.lines.length) : at;
  }

  /**
   * What is read of rows of the readings, for some lines.
   * @template T @param {number} from @param {number} to @param {(reading: Reading, first: number, last: number) => Promise<T[]>} each @param {T} gap
   */
  async byLine(from, to, each, gap) {
    const lines = this.lines.slice(from, to);
    /** @type {T[][]} */ const rows = [];
    /** @type {number[]} */ const starts = [];
    for (const [number, reading] of this.readings.entries()) {
      const span = spanOf(lines.flatMap((line) => (line.number === number && line.row !== null ? [line.row] : [])));
      rows.push(span ? await each(reading, ...span) : []);
      starts.push(span?.[0] ?? 0);
    }
    return lines.map(({ number, row }) => (row === null ? gap : rows[number][row - starts[number]]));
  }
}

/** From the first to the last of some rows, and past it; null: there are none. @param {number[]} rows @returns {[number, number] | null} */
export function spanOf(rows) {
  return rows.length ? [Math.min(...rows), Math.max(...rows) + 1] : null;
}

/**
 * Readings, each with the edits of its side, and the edits that are made; one of both is made wherever it can be.
 * @param {Reading[]} readings @param {Edit[]} edits @param {Dropped} dropped @returns {[Reading[], Edit[]]}
 */
function edited(readings, edits, dropped) {
  if (!edits.length) return [readings, []];
  const every = readings.map((one) => one.edited(edits));
  /** @type {Edit[][]} */ const made = readings.map(() => []);
  /** @type {Edit[]} */ const all = [];
  for (const edit of edits) {
    const wrong = new Dropped(true);
    const there = every.map(({ edits: checks }, k) => isOfSide(edit.side, SIDES[k]) && wrong.unless(() => checks?.check(edit) ?? true, false));
    there.forEach((can, k) => can && made[k].push(edit));
    if (there.includes(true)) all.push(edit);
    dropped.unless(() => {
      if (!there.includes(true)) throw new Refusal(wrong.reasons[0]);
    }, undefined);
  }
  return [readings.map((reading, k) => (made[k].length ? reading.edited(made[k]) : reading)), all];
}

/** A line for rows that have the same states, else one for each reading. @param {Beside} rows @param {Reading[]} readings @param {number} same */
function linesOf(rows, readings, same) {
  const row = rows[0] === rows[1] ? rows[0] : null, then = thenOf(rows, readings);
  if (row !== null && row < same && isOneWord(readings, row)) return [new Line("both", rows, then)];
  return SIDES.map((side) => new Line(side, rows, then));
}

/** Whether a row has the same word in both texts; two unknown words may be read as one. @param {Reading[]} readings @param {number} row */
function isOneWord([a, b], row) {
  return folded(a.words[row]) === folded(b.words[row]);
}

/**
 * The word that comes next in each of two texts, empty at its end, where the texts part; null elsewhere, and where the
 * labels are no words that follow.
 * @param {Beside} rows @param {Reading[]} readings @returns {[string, string] | null}
 */
function thenOf([i, j], [a, b]) {
  const { follows, mark } = a.subject.text, later = mark === null ? 1 : 0; // a state may stand beside the word that it predicts
  if (i === null || j === null || !follows) return null;
  if (a.came[i] !== b.came[j] || a.came[i + 1] === b.came[j + 1]) return null;
  return [a.words[i + later] ?? "", b.words[j + later] ?? ""];
}

/** How many rows have the same states in both readings. @param {Reading[]} readings */
function equalUntil([a, b]) {
  return a.subject.network.causal ? Math.min(sameUntil(a.ids, b.ids), firstOther(a.madeEdits, b.madeEdits)) : 0;
}

/** @param {Line} line */
function lineKey({ side, rows, then }) {
  return JSON.stringify([side, rows, then]);
}
