// What a state says of its labels, of which one holds, or several each by itself.

import { logSigmoid } from "./curves.js";

/**
 * Logits whose softmax is what is compared of two states. Where several labels hold, that is every label's yes and no,
 * so that a divergence is the mean over the labels.
 * @param {Answers} answers @param {Float32Array} logits
 */
export function pooled({ several }, logits) {
  if (!several) return logits;
  const count = logits.length, both = new Float32Array(2 * count);
  for (let v = 0; v < count; v++) {
    both[v] = logSigmoid(logits[v]);
    both[count + v] = logSigmoid(-logits[v]);
  }
  return both;
}

/** The probability of each label; where several hold they need not sum to 1. @param {Answers} answers @param {Float32Array} logits */
export function probabilities({ several }, logits) {
  return several ? Float64Array.from(logits, (x) => Math.exp(logSigmoid(x))) : softmax(logits);
}

/** @param {ArrayLike<number>} logits */
export function softmax(logits) {
  const least = logSumExp(logits);
  return Float64Array.from(logits, (x) => Math.exp(x - least));
}

/** @param {ArrayLike<number>} values */
export function logSumExp(values) {
  let highest = -Infinity, sum = 0;
  for (let v = 0; v < values.length; v++) highest = Math.max(highest, values[v]);
  for (let v = 0; v < values.length; v++) sum += Math.exp(values[v] - highest);
  return highest + Math.log(sum);
}
