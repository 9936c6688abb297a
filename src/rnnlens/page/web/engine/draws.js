// Random draws that are the same everywhere: those of rnnlens/base/draws.py.

import { NUMBERS } from "../base/rules.js";

const WHOLE = 2 ** 32, STEP = 0x9E3779B9; // from one of several to the next

/** Numbers between 0 and 1 for a step of a sample. @param {number} seed @param {number} sample @param {number} step @param {number} count */
export function uniform(seed, sample, step, count) {
  const begin = mixed(mixed(mixed(seed) ^ sample) ^ step), drawn = new Float64Array(count);
  for (let k = 0; k < count; k++) drawn[k] = ((mixed(begin + Math.imul(k, STEP)) >>> 0) + 0.5) / WHOLE;
  return drawn;
}

/** For numbers between 0 and 1 the place in `weights` that each falls on, as often as that weighs. @param {Float64Array} weights @param {number[]} shares */
export function weighted(weights, shares) {
  let sum = 0;
  const upto = weights.map((weight) => (sum += weight));
  return shares.map((share) => {
    const target = share * sum;
    let low = 0, high = upto.length - 1; // the first place that lies beyond the target
    while (low < high) {
      const middle = (low + high) >> 1;
      if (upto[middle] > target) high = middle;
      else low = middle + 1;
    }
    return low;
  });
}

/** How far to either side of the mean of some draws a 95% interval reaches. @param {number} spread @param {number} draws */
export function halfWidth(spread, draws) {
  const z = NUMBERS.quantile, n = draws - 1;
  const terms = [z, (z ** 3 + z) / 4, (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96, (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384];
  return (terms.reduce((sum, term, k) => sum + term / n ** k, 0) * spread) / Math.sqrt(draws);
}

/** A whole number of 32 bits as another that looks random (Wellons' lowbias32). @param {number} x */
function mixed(x) {
  let y = Math.imul(x ^ (x >>> 16), 0x7FEB352D);
  y = Math.imul(y ^ (y >>> 15), 0x846CA68B);
  return y ^ (y >>> 16);
}
