// Follow labels: how probable they are in every state of a text, or how one set of them stands against another.

import { repr, rounded } from "./python.js";
import { COUNTS } from "../base/rules.js";
import { logSumExp } from "./answers.js";
import { logSigmoid } from "./curves.js";
import { significant } from "./encoding.js";
import { numberOf } from "./labels.js";
import { Lines } from "./lines.js";
import { refusal } from "./refusals.js";

/**
 * How probable labels are in rows or lines.
 * @param {Subject} subject @param {Posts["api/follow"]["asked"]} question @param {Pause} pause
 * @returns {Promise<Posts["api/follow"]["answer"]>}
 */
export async function following(subject, question, pause) {
  const lines = Lines.of(subject, question).showing(question.columns ?? null), [{ answers }] = lines.shown, { first = 0, limit = COUNTS.rows_unasked } = question;
  const sides = new Sides(question.labels, question.against ?? [], answers.names);
  const rows = await lines.byLine(first, first + (limit ?? Infinity), async (reading, from, to) => {
    /** @type {Map<string, number>} */ const at = new Map();
    await subject.rows.each(reading, from, to, (kind, t, logits) => at.set(`${kind} ${t}`, sides.value(logits, answers.several)), pause);
    return Array.from({ length: to - from }, (_, k) => lines.columns.map(({ id, kind, back }) => (reading.wants(id) ? at.get(`${kind} ${from + k - back}`) ?? null : null)));
  }, []);
  return { labels: sides.labels, against: sides.against, from: first, rows };
}

/** The labels that are followed, and those they stand against, by name and by number. */
export class Sides {
  /** @param {readonly string[]} labels @param {readonly string[]} against @param {readonly string[]} known */
  constructor(labels, against, known) {
    this.labels = [...new Set(labels)];
    this.against = [...new Set(against)];
    if (!this.labels.length) throw refusal("no_followed");
    this.ours = this.labels.map((label) => numberOf(label, known));
    this.theirs = this.against.map((label) => numberOf(label, known));
    const both = this.labels.find((label) => this.against.includes(label));
    if (both !== undefined) throw refusal("followed_against", { label: repr(both) });
  }

  /**
   * Of a state with these logits, as it is sent: the labels' probability together, to five digits, or where others stand
   * against them the natural logarithm of the odds, to four decimals. Where several labels hold each by itself, together
   * means any of them, and the odds are those of their mean probabilities.
   * @param {Float32Array} logits @param {boolean} several
   */
  value(logits, several) {
    const odds = this.theirs.length > 0;
    if (several) return odds ? rounded(this.meanOdds(logits), COUNTS.odds_decimals) : significant(this.any(logits));
    const ours = logSumExp(chosen(logits, this.ours));
    if (odds) return rounded(ours - logSumExp(chosen(logits, this.theirs)), COUNTS.odds_decimals);
    return significant(Math.min(1, Math.exp(ours - logSumExp(logits))));
  }

  /** The probability that any of them holds. @param {Float32Array} logits */
  any(logits) {
    return -Math.expm1(this.ours.reduce((none, v) => none + logSigmoid(-logits[v]), 0));
  }

  /** @param {Float32Array} logits */
  meanOdds(logits) {
    const [ours, theirs] = [this.ours, this.theirs].map((some) =>
      logSumExp(chosen(logits, some).map(logSigmoid)) - Math.log(some.length));
    return ours - theirs;
  }
}

/** @param {Float32Array} logits @param {number[]} numbers */
function chosen(logits, numbers) {
  return numbers.map((v) => logits[v]);
}
