// Follow labels: how probable they are in every state of a text, or how one set of them stands against another.

import { logSigmoid, logSumExp } from "./answers.js";
import { significant } from "./encoding.js";
import { Refusal } from "../base/refusal.js";
import { numberOf } from "./labels.js";
import { repr, rounded } from "../base/python.js";

/** The labels that are followed, and those they stand against, by name and by number. */
export class Sides {
  /** @param {readonly string[]} labels @param {readonly string[]} against @param {readonly string[]} known */
  constructor(labels, against, known) {
    this.labels = [...new Set(labels)];
    this.against = [...new Set(against)];
    if (!this.labels.length) throw new Refusal("no label is named to follow; name at least one");
    this.ours = this.labels.map((label) => numberOf(label, known));
    this.theirs = this.against.map((label) => numberOf(label, known));
    const both = this.labels.find((label) => this.against.includes(label));
    if (both !== undefined) {
      throw new Refusal(`${repr(both)} is followed and stands against itself; name it on one side only`);
    }
  }

  /**
   * Of a state with these logits, as it is sent: the labels' probability together, to five digits, or where others stand
   * against them the natural logarithm of the odds, to four decimals. Where several labels hold each by itself, together
   * means any of them, and the odds are those of their mean probabilities.
   * @param {Float32Array} logits @param {boolean} several
   */
  value(logits, several) {
    const odds = this.theirs.length > 0;
    if (several) return odds ? rounded(this.meanOdds(logits), 4) : significant(this.any(logits));
    const ours = logSumExp(chosen(logits, this.ours));
    if (odds) return rounded(ours - logSumExp(chosen(logits, this.theirs)), 4);
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
