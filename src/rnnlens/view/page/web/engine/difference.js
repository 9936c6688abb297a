// How far what states predict lies from what others do: those before an edit, or beside them.

import { logSigmoid, pooled } from "./answers.js";
import { significant } from "./encoding.js";
import { rounded } from "./python.js";

/** @typedef {import("./answers.js").Answers} Answers */
/** @typedef {import("./network.js").Pause} Pause */
/** @typedef {import("../base/schema.d.ts").Change} Change */
/** @typedef {{p: Float32Array, nats: number}} Distribution what a state predicts, and its entropy */

const TINY = 1e-38; // whose logarithm is finite, and nothing times it is nothing

/** @param {ArrayLike<number>} logits @returns {Distribution} */
export function distribution(logits) {
  const p = new Float32Array(logits.length);
  let highest = -Infinity, total = 0, mean = 0;
  for (let v = 0; v < p.length; v++) if (logits[v] > highest) highest = logits[v];
  for (let v = 0; v < p.length; v++) {
    const less = logits[v] - highest, part = Math.exp(less);
    p[v] = part;
    total += part;
    mean += part * less;
  }
  for (let v = 0; v < p.length; v++) p[v] /= total;
  return { p, nats: Math.log(total) - mean / total };
}

/** The Jensen-Shannon divergence in bits, from 0, the same, to 1. @param {Distribution} a @param {Distribution} b */
export function bitsBetween(a, b) {
  const p = a.p, q = b.p;
  let sum = 0;
  for (let v = 0; v < p.length; v++) {
    const twice = p[v] + q[v]; // their middle
    if (twice > TINY) sum += twice * Math.log(twice);
  }
  const middle = Math.LN2 - sum / 2;
  return Math.min(1, Math.max(0, (middle - (a.nats + b.nats) / 2) / Math.LN2));
}

/**
 * How far what states predict lies from what they predicted before, and what had been the most probable label of each
 * with its probability before and after.
 * @param {Float32Array[]} after logits of each @param {Float32Array[]} before @param {Answers} answers @param {Pause} pause
 */
export async function changesOf(after, before, answers, pause) {
  /** @type {Change[]} */ const changes = [];
  for (const [k, logits] of after.entries()) {
    await pause();
    changes.push(change(logits, before[k], answers));
  }
  return changes;
}

/** @param {Float32Array} after @param {Float32Array} before @param {Answers} answers @returns {Change} */
function change(after, before, answers) {
  const then = distribution(pooled(answers, before)), same = isSame(after, before); // often: edits change what follows them
  const now = same ? then : distribution(pooled(answers, after));
  let label = 0;
  for (let v = 1; v < before.length; v++) if (before[v] > before[label]) label = v;
  const [was, is] = answers.several ? [before, after].map((x) => Math.exp(logSigmoid(x[label]))) : [then.p[label], now.p[label]];
  const bits = same ? 0 : rounded(bitsBetween(now, then), 4);
  return { bits, before: [answers.names[label], significant(was)], now: significant(is) };
}

/** @param {Float32Array} a @param {Float32Array} b */
function isSame(a, b) {
  for (let v = 0; v < a.length; v++) if (a[v] !== b[v]) return false;
  return true;
}
