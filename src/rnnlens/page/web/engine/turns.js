// Where predictions turn: how far each state lies from those that feed it and from the row above, and how surprising the
// words were that came.

import { rounded } from "./python.js";
import { COUNTS } from "../base/rules.js";
import { pooled } from "./answers.js";
import { Lines } from "./lines.js";
import { PREDICTION } from "./network.js";

/** @typedef {import("./difference.js").Distribution} Distribution */
/** @typedef {[kind: string, step: number]} Place */

const FEW = 4; // rows that are asked at once: all that their states predict is held

/**
 * Where predictions turn in rows or lines.
 * @param {Subject} subject @param {Posts["api/turns"]["asked"]} question @param {Pause} pause
 * @returns {Promise<Posts["api/turns"]["answer"]>}
 */
export async function turning(subject, question, pause) {
  const lines = Lines.of(subject, question).showing(question.columns ?? null), { edges, columns } = new Turns(lines.shown[0], 0), { first = 0, limit = COUNTS.rows_unasked } = question;
  const gap = { edges: edges.map(() => null), above: columns.map(() => null), surprisal: null };
  const rows = await lines.byLine(first, first + (limit ?? Infinity), async (reading, from, to) => {
    const turns = new Turns(reading, to);
    /** @type {TurnRow[]} */ const found = [];
    for (let t = from; t < to; t++) found.push(await turns.row(t, pause));
    return found;
  }, gap);
  return { from: first, rows };
}

/** The turns of a text, row by row; what its states predict is held as long as the next row needs it. */
export class Turns {
  /** @param {Reading} reading @param {number} end the row after the last that is wanted */
  constructor(reading, end) {
    this.reading = reading;
    this.comparison = reading.subject.comparison;
    this.end = end;
    this.columns = reading.columns;
    const there = new Set(this.columns.map((column) => column.kind));
    /** Source, timesteps back, and target. */
    this.edges = this.columns.flatMap((column) => (column.back ? [] : column.sources
      .filter(([kind]) => there.has(kind)).map(([kind, back]) => /** @type {const} */ ([kind, back, column.kind]))));
    this.ahead = this.edges.some(([, back]) => back < 0) ? 1 : 0; // rows that a layer reads before, backwards
    /** By timestep and kind. @type {Map<number, Map<string, Distribution>>} */ this.known = new Map();
    this.next = 0; // the first row that was not asked for
    /** Bits of the word that came after each row, by y. @type {Map<number, number>} */ this.surprisals = new Map();
  }

  /** @param {number} t @param {Pause} pause @returns {Promise<TurnRow>} */
  async row(t, pause) {
    await this.read(t, pause);
    const edges = [], above = [];
    for (const [kind, back, target] of this.edges) edges.push(await this.bits([kind, t - back], [target, t], pause));
    for (const { kind, back } of this.columns) above.push(await this.bits([kind, t - back - 1], [kind, t - back], pause));
    const surprisal = this.surprisals.get(t);
    return { edges, above, surprisal: surprisal === undefined ? null : rounded(surprisal, COUNTS.bits_decimals) };
  }

  /** Have what the states around a row predict. @param {number} t @param {Pause} pause */
  async read(t, pause) {
    for (const step of this.known.keys()) if (step < t - 2) this.known.delete(step);
    const end = Math.min(this.reading.ids.length, t + 1 + this.ahead);
    const from = Math.max(this.next, t - 2, 0), last = Math.min(this.reading.ids.length, from + FEW, this.end + this.ahead);
    if (from >= end) return;
    this.next = Math.max(end, last);
    await this.reading.subject.rows.each(this.reading, from, this.next, (kind, step, logits) => this.keep(kind, step, logits), pause);
  }

  /** @param {string} kind @param {number} t @param {Float32Array} logits */
  keep(kind, t, logits) {
    const { answers, came, ids } = this.reading, here = this.known.get(t) ?? new Map();
    if (here.has(kind)) return;
    const compared = pooled(answers, logits), label = t + 1 < ids.length ? came[t + 1] : -1;
    const said = this.comparison.distribution(compared);
    this.known.set(t, here.set(kind, said));
    if (kind === PREDICTION && label >= 0) this.surprisals.set(t, (said.norm - compared[label]) / Math.LN2);
  }

  /** Between two states; null where there is none of them. @param {Place} a @param {Place} b @param {Pause} pause */
  async bits([kind, from], [other, to], pause) {
    await pause();
    if (Math.min(from, to) < 0 || Math.max(from, to) >= this.reading.ids.length) return null;
    const a = this.known.get(from)?.get(kind), b = this.known.get(to)?.get(other);
    return a && b ? rounded(this.comparison.bitsBetween(a, b), COUNTS.bits_decimals) : null;
  }
}
