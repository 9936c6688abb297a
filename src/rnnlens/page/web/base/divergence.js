// How far apart two states are: asked of Python, or bounded from what is known of them here.

/**
 * Jensen-Shannon divergence; `exact` is false where it is a lower bound.
 * @typedef {{bits: number, exact: boolean}} Divergence
 */

/** @param {number} p @param {number} m */
function part(p, m) {
  return p > 0 ? p * Math.log2(p / m) : 0;
}

/**
 * The Jensen-Shannon divergence of two distributions, from 0, the same, to 1 bit, nothing in common.
 * @param {ArrayLike<number>} p @param {ArrayLike<number>} q
 */
export function jensenShannon(p, q) {
  let sum = 0;
  for (let k = 0; k < p.length; k++) {
    const m = (p[k] + q[k]) / 2;
    sum += part(p[k], m) + part(q[k], m);
  }
  return Math.min(1, Math.max(0, sum / 2));
}

/** @param {[string, number][]} list */
function sum(list) {
  return list.reduce((all, [, value]) => all + value, 0);
}

/**
 * The least value of a convex function between two ends.
 * @param {(x: number) => number} f @param {number} low @param {number} high
 */
function least(f, low, high) {
  for (let k = 0; k < 60; k++) {
    const third = (high - low) / 3;
    if (f(low + third) <= f(high - third)) high -= third;
    else low += third;
  }
  return f((low + high) / 2);
}

/**
 * At least this far apart, from the most probable labels alone. Merging labels never increases the
 * divergence, so it is taken over few bins: each label in both lists, those in the first list alone,
 * those in the second alone, and the rest. How probable the second finds the first's own labels is
 * not known, only that each is at most its last listed one; the least divergence within that holds.
 * @param {[string, number][]} a most probable first
 * @param {[string, number][]} b
 */
export function lowerBound(a, b) {
  const first = new Map(a), second = new Map(b);
  const both = a.filter(([label]) => second.has(label));
  const onlyA = a.filter(([label]) => !second.has(label)), onlyB = b.filter(([label]) => !first.has(label));
  const restA = Math.max(0, 1 - sum(a)), restB = Math.max(0, 1 - sum(b));
  /** @param {[string, number][]} list @param {number} labels @param {number} rest */
  const most = (list, labels, rest) => Math.min(rest, labels * (list[list.length - 1]?.[1] ?? 1));
  const p = both.map(([, value]) => value), q = both.map(([label]) => second.get(label) ?? 0);
  /** @param {number} x what the first gives the second's own labels @param {number} y the second, the first's */
  const at = (x, y) => jensenShannon([...p, sum(onlyA), x, restA - x], [...q, y, sum(onlyB), restB - y]);
  const [mostX, mostY] = [most(a, onlyB.length, restA), most(b, onlyA.length, restB)];
  return least((x) => least((y) => at(x, y), 0, mostY), 0, mostX);
}
