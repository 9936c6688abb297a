// Two texts side by side, line by line.

import { Refusal } from "../../base/refusal.js";
import { folded } from "../../base/python.js";
import { LONGEST, tooMany } from "../source.js";
import { firstNew } from "../unchanged.js";
import { aligned } from "./alignment.js";

/** @typedef {import("../source.js").GridSource} GridSource */
/** @typedef {import("../source.js").Request} Request */
/** @typedef {import("./alignment.js").Beside} Beside */
/** @typedef {import("../../base/schema.d.ts").Line} LineJson */

/** A line that is drawn: of the first text, of the second, or of both where all is the same. */
export class Line {
  /** @param {LineJson["side"]} side @param {Beside} rows that stand side by side @param {string | null} then the word that came next, where nothing else is another */
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
}

/** What is compared: what a lens is asked of two texts, and how their rows stand side by side. */
export class Pairing {
  /** @param {GridSource} source @param {[Request, Request]} asked */
  constructor(source, asked) {
    for (const one of asked) {
      if (one.leftOut) throw new Refusal(tooMany(one.words.length + one.leftOut, "words", LONGEST));
      if (!one.words.length) throw new Refusal("one of the two texts is empty; give each a word at least");
    }
    this.source = source;
    this.asked = asked;
    const beside = aligned(asked[0].words.map(folded), asked[1].words.map(folded));
    const [states, all] = this.sameUntil();
    this.lines = beside.flatMap((rows) => this.linesOf(rows, states, all));
  }

  /**
   * A line for rows that are the same, else one for each text.
   * @param {Beside} rows @param {number} states rows with the same states @param {number} all and with the same labels
   */
  linesOf(rows, states, all) {
    const row = rows[0] === rows[1] ? rows[0] : null;
    if (row !== null && row < all && this.isOneWord(row)) return [new Line("both", rows)];
    const then = this.asked.map(({ words }) => (row !== null && row >= all && row < states ? words[row + 1] ?? "" : null));
    return [new Line("first", rows, then[0]), new Line("second", rows, then[1])];
  }

  /** Whether a row has the same word in both texts; two unknown words may be read as one. @param {number} row */
  isOneWord(row) {
    const [word, other] = this.asked.map(({ words }) => folded(words[row]));
    return word === other;
  }

  /** How many rows have the same states in both texts, and how many the same labels, too. */
  sameUntil() {
    const [first, second] = this.asked, offset = this.source.offset(first.semantic);
    if (!this.source.network.causal) return [0, 0];
    let states = 0;
    while (states < first.ids.length && first.ids[states] === second.ids[states]) states++;
    return [states, firstNew(first.ids, second.ids, offset)];
  }

  /** The first line that is another than with the texts before. @param {Pairing} before */
  firstNew(before) {
    const first = this.asked.map((now, k) => firstNew(now.ids, before.asked[k].ids, this.source.offset(now.semantic)));
    const changed = first.some((row, k) => row < this.asked[k].ids.length);
    if (changed && !this.source.network.causal) return 0;
    const at = this.lines.findIndex((line, k) => {
      const isNew = line.rows.some((row, side) => row !== null && row >= first[side]);
      return isNew || !before.lines[k] || key(line) !== key(before.lines[k]);
    });
    return at < 0 ? Math.min(this.lines.length, before.lines.length) : at;
  }
}

/** @param {Line} line */
function key({ side, rows, then }) {
  return JSON.stringify([side, rows, then]);
}

/** From which to which row one of the texts is wanted for some lines. @param {Line[]} lines @param {number} side @returns {[number, number] | null} */
export function spanOf(lines, side) {
  const there = lines.flatMap((line) => (line.rows[side] === null || (side && line.side === "both") ? [] : [line.rows[side] ?? 0]));
  return there.length ? [Math.min(...there), Math.max(...there) + 1] : null;
}
