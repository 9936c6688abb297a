// How far what states predict lies from what others do: those before an edit, or beside them.

import { rounded } from "./python.js";
import { COUNTS, NUMBERS } from "../base/rules.js";
import { pooled } from "./answers.js";
import { logSigmoid } from "./curves.js";
import { significant } from "./encoding.js";
import { padded } from "./unpack.js";

/**
 * What a state predicts: the probability of a label is its number times the factor of every fourth label; the entropy in
 * nats, and what a logit is less to be the logarithm of a probability.
 * @typedef {{numbers: Float32Array, factors: number[], nats: number, norm: number}} Distribution
 */

/** Compares what states predict, in the memory that the kernels compute in. */
export class Comparison {
  /** @param {number} labels at most @param {Machine} machine */
  constructor(labels, machine) {
    const { room } = machine;
    this.machine = machine;
    this.a = room.take(labels);
    this.b = room.take(labels);
    this.sums = room.take(16);
    this.factors = room.take(8);
  }

  /** @param {Float32Array} logits @returns {Distribution} */
  distribution(logits) {
    const { floats, kernels } = this.machine, count = padded(logits.length);
    floats.set(logits, this.a);
    floats.fill(NUMBERS.never_logit, this.a + logits.length, this.a + count);
    kernels.exponentials(this.a, this.b, count / 4, this.sums); // takes every fourth label for another state
    const [most, , sum, weighed] = [0, 1, 2, 3].map((k) => [...floats.subarray(this.sums + 4 * k, this.sums + 4 * k + 4)]);
    const highest = Math.max(...most), parts = most.map((value) => Math.exp(value - highest));
    const total = parts.reduce((all, part, k) => all + part * sum[k], 0);
    const mean = parts.reduce((all, part, k) => (part ? all + part * (weighed[k] + (most[k] - highest) * sum[k]) : all), 0);
    return {
      numbers: floats.slice(this.b, this.b + count), factors: parts.map((part) => part / total),
      nats: Math.log(total) - mean / total, norm: highest + Math.log(total),
    };
  }

  /** Jensen-Shannon in bits, of what the kernels have made of many states at once. @param {Distribution} a @param {Distribution} b */
  bitsBetween(a, b) {
    const { floats, kernels } = this.machine;
    floats.set(a.numbers, this.a);
    floats.set(b.numbers, this.b);
    floats.set([...a.factors, ...b.factors], this.factors);
    const middle = Math.LN2 - kernels.mixed(this.a, this.b, a.numbers.length, this.factors) / 2;
    return Math.min(1, Math.max(0, (middle - (a.nats + b.nats) / 2) / Math.LN2));
  }

  /**
   * How far what states predict lies from what they predicted before, and what had been the most probable label of each
   * with its probability before and after; null where a state was not wanted.
   * @param {(Float32Array | null)[]} after logits of each @param {(Float32Array | null)[]} before @param {Answers} answers @param {Pause} pause
   */
  async changes(after, before, answers, pause) {
    /** @type {(Change | null)[]} */ const changes = [];
    for (const [k, logits] of after.entries()) {
      await pause();
      const then = before[k];
      changes.push(logits && then ? this.change(logits, then, answers) : null);
    }
    return changes;
  }

  /** @param {Float32Array} after @param {Float32Array} before @param {Answers} answers @returns {Change} */
  change(after, before, answers) {
    const then = this.distribution(pooled(answers, before)), same = isSame(after, before); // often: edits change what follows
    const now = same ? then : this.distribution(pooled(answers, after));
    let label = 0;
    for (let v = 1; v < before.length; v++) if (before[v] > before[label]) label = v;
    const [was, is] = answers.several ? [before, after].map((logits) => Math.exp(logSigmoid(logits[label])))
      : [then, now].map(({ numbers, factors }) => numbers[label] * factors[label & 3]);
    const bits = same ? 0 : rounded(this.bitsBetween(now, then), COUNTS.bits_decimals);
    return { bits, before: [answers.names[label], significant(was)], now: significant(is) };
  }
}

/** @param {Float32Array} a @param {Float32Array} b */
function isSame(a, b) {
  for (let v = 0; v < a.length; v++) if (a[v] !== b[v]) return false;
  return true;
}
