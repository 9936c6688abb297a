// The curves and norms that cells are made of.

const EPS = 1e-6; // added to a mean square, as in Python

/** @param {number} x */
export function sigmoid(x) {
  return 1 / (1 + Math.exp(-x));
}

/** @param {number} x */
export function silu(x) {
  return x * sigmoid(x);
}

/** @param {number} x */
export function softplus(x) {
  return Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
}

/** The logarithm of a sigmoid. @param {number} x */
export function logSigmoid(x) {
  return -softplus(-x);
}

/** x times the share of a normal distribution that lies below it. @param {number} x */
export function gelu(x) {
  return (x * (1 + errorFunction(x * Math.SQRT1_2))) / 2;
}

/** By a series whose terms all have the same sign, so that no digits are lost. @param {number} x */
function errorFunction(x) {
  if (Math.abs(x) > 6) return Math.sign(x); // to all digits
  let term = x, sum = x;
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n++) sum += term *= (2 * x * x) / (2 * n + 1);
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

/** So many numbers, each by its place. @param {number} width @param {(k: number) => number} value */
export function made(width, value) {
  const values = new Float32Array(width);
  for (let k = 0; k < width; k++) values[k] = value(k);
  return values;
}

/** What some numbers are multiplied with so that the mean of their squares is 1. @param {ArrayLike<number>} x @param {number} first @param {number} count */
export function rootMeanSquare(x, first, count) {
  return 1 / Math.sqrt(squares(x, first, count) / count + EPS);
}

/** Vectors of length 1, side by side. @param {Float32Array} x @param {number} heads */
export function units(x, heads) {
  const size = x.length / heads, lengths = made(heads, (h) => 1 / Math.sqrt(squares(x, h * size, size) + EPS));
  return x.map((value, k) => value * lengths[Math.floor(k / size)]);
}

/** @param {ArrayLike<number>} x @param {number} first @param {number} count */
function squares(x, first, count) {
  let sum = 0;
  for (let k = first; k < first + count; k++) sum += x[k] * x[k];
  return sum;
}
