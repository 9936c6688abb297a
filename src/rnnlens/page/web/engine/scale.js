// An axis of numbers in bins, as rnnlens/labels/sets.py has it.

import { NUMBERS } from "../base/rules.js";

/** @typedef {import("./text.js").Scale} Scale */

const { interval: SURE, interval_deviations: DEVIATIONS, least_bin: LEAST } = NUMBERS;

/** A model's own number as logits of the bins: a normal distribution around it. @param {Scale} scale @param {number} number */
export function binLogits(scale, number) {
  const inner = scale.edges.slice(1, -1).map((edge) => normal((edge - number) / scale.error));
  const below = [0, ...inner, 1];
  return below.slice(1).map((upTo, k) => Math.log(Math.max(upTo - below[k], LEAST)));
}

/** The mean of a distribution over the bins. @param {Scale} scale @param {number[]} p */
function meanOf(scale, p) {
  return scale.middles.reduce((sum, middle, k) => sum + middle * p[k], 0);
}

/**
 * The number that a distribution stands for, its mean or the model's own, and the ends of its interval.
 * @param {Scale} scale @param {number[]} p @param {number | null} own @param {number} width what the interval is widened by on each side
 */
export function numbersOf(scale, p, own, width) {
  const half = DEVIATIONS * scale.error;
  const [low, median, high] = own === null ? spreadOf(scale, p) : [own - half, own, own + half];
  return [own ?? meanOf(scale, p), median - width * (median - low), median + width * (high - median)];
}

/**
 * The numbers between which a distribution holds most, as much left out below as above, and in the middle the median; within
 * a bin every number is as probable.
 * @param {Scale} scale @param {number[]} p
 */
function spreadOf({ edges }, p) {
  const upTo = [0];
  for (const share of p) upTo.push(upTo[upTo.length - 1] + share);
  return [(1 - SURE) / 2, 0.5, (1 + SURE) / 2].map((share) => {
    const wanted = share * upTo[p.length], first = upTo.findIndex((sum) => sum >= wanted);
    const at = Math.min(Math.max(first < 0 ? upTo.length : first, 1), edges.length - 1);
    const part = (wanted - upTo[at - 1]) / Math.max(upTo[at] - upTo[at - 1], LEAST);
    return edges[at - 1] + Math.min(Math.max(part, 0), 1) * (edges[at] - edges[at - 1]);
  });
}

/** The share of a standard normal distribution that lies below a number. @param {number} x */
function normal(x) {
  const beyond = tail(Math.abs(x));
  return x > 0 ? 1 - beyond : beyond;
}

/** The share above a number that is not negative: a series where it is small, a continued fraction where it is large. @param {number} x */
function tail(x) {
  const density = Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
  if (x < 3) {
    let term = x, sum = x;
    for (let k = 3; term > sum * 1e-17; k += 2) sum += term *= (x * x) / k;
    return 0.5 - density * sum;
  }
  let fraction = x;
  for (let k = 60; k > 0; k--) fraction = x + k / fraction;
  return density / fraction;
}
