// Which word of one text stands beside which word of another.

import { COUNTS } from "../base/rules.js";

/** @typedef {[number | null, number | null]} Beside a word of each text; null: a gap */

const { gap_cost: GAP, other_word_cost: OTHER } = COUNTS; // two words that differ stand side by side rather than each beside a gap

/**
 * Every word of both texts in order, with as many words beside the same word as there can be. What two texts begin and
 * end with stands side by side; between, the cheapest of all ways.
 * @param {readonly string[]} a @param {readonly string[]} b @returns {Beside[]}
 */
export function aligned(a, b) {
  const least = Math.min(a.length, b.length);
  let start = 0, end = 0;
  while (start < least && a[start] === b[start]) start++;
  while (end < least - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const head = Array.from({ length: start }, (_, k) => /** @type {Beside} */ ([k, k]));
  const tail = Array.from({ length: end }, (_, k) => /** @type {Beside} */ ([a.length - end + k, b.length - end + k]));
  return [...head, ...between(a.slice(start, a.length - end), b.slice(start, b.length - end), start), ...tail];
}

/**
 * The cheapest way from the first words to the last, by dynamic programming.
 * @param {readonly string[]} a @param {readonly string[]} b @param {number} start
 */
function between(a, b, start) {
  const wide = b.length + 1, costs = new Int32Array((a.length + 1) * wide);
  const beside = (/** @type {number} */ i, /** @type {number} */ j) =>
    costs[(i - 1) * wide + j - 1] + (a[i - 1] === b[j - 1] ? 0 : OTHER);
  for (let j = 1; j < wide; j++) costs[j] = GAP * j;
  for (let i = 1; i <= a.length; i++) {
    costs[i * wide] = GAP * i;
    for (let j = 1; j < wide; j++) {
      costs[i * wide + j] = Math.min(beside(i, j), costs[(i - 1) * wide + j] + GAP, costs[i * wide + j - 1] + GAP);
    }
  }
  /** @type {Beside[]} */ const way = [];
  for (let i = a.length, j = b.length; i || j;) {
    const here = costs[i * wide + j];
    if (i && j && here === beside(i, j)) way.push([start + --i, start + --j]);
    else if (i && here === costs[(i - 1) * wide + j] + GAP) way.push([start + --i, null]);
    else way.push([null, start + --j]);
  }
  return way.reverse();
}
