// Recurrent cells, written like the appendix of the paper: one timestep, every kind by its letter. The equations are
// those of rnnlens/model/cells/classic.py.

import { made, sigmoid } from "./curves.js";

/** @typedef {Record<string, Float32Array>} Letters states of a layer by letter */
/** @typedef {(letter: string, value: Float32Array) => Float32Array} Change puts another value in the place of a state */
/**
 * What a layer's weights make of its input and of the step before: both sums, of which the second is of the step before
 * alone, and the projection of an output.
 * @typedef {{a: Float32Array, u: Float32Array, projected: (h: Float32Array) => Float32Array}} Sums
 */
/** @typedef {(sums: Sums, prev: Letters, edit: Change) => Letters} Step */

/** @param {Sums} sums @param {Letters} prev @param {Change} edit @returns {Letters} */
function lstm({ a, u, projected }, prev, edit) {
  const width = a.length / 4;
  const sum = (/** @type {number} */ block, /** @type {number} */ k) => a[block * width + k] + u[block * width + k];
  const f = edit("f", made(width, (k) => sigmoid(sum(1, k))));
  const i = edit("i", made(width, (k) => sigmoid(sum(0, k))));
  const o = edit("o", made(width, (k) => sigmoid(sum(3, k))));
  const g = edit("g", made(width, (k) => Math.tanh(sum(2, k))));
  const l = edit("l", made(width, (k) => f[k] * prev.c[k]));
  const s = edit("s", made(width, (k) => i[k] * g[k]));
  const c = edit("c", made(width, (k) => l[k] + s[k]));
  const h = edit("h", projected(made(width, (k) => o[k] * Math.tanh(c[k]))));
  return { f, i, o, g, l, s, c, h };
}

/** @param {Sums} sums @param {Letters} prev @param {Change} edit @returns {Letters} */
function gru({ a, u }, prev, edit) {
  const width = a.length / 3;
  const r = edit("r", made(width, (k) => sigmoid(a[k] + u[k])));
  const z = edit("z", made(width, (k) => sigmoid(a[width + k] + u[width + k])));
  const n = edit("n", made(width, (k) => Math.tanh(a[2 * width + k] + r[k] * u[2 * width + k])));
  const kept = edit("k", made(width, (k) => z[k] * prev.h[k]));
  const w = edit("w", made(width, (k) => (1 - z[k]) * n[k]));
  const h = edit("h", made(width, (k) => kept[k] + w[k]));
  return { r, z, n, k: kept, w, h };
}

/** @param {Sums} sums @param {Letters} _prev @param {Change} edit @returns {Letters} */
function elman({ a, u }, _prev, edit) {
  return { h: edit("h", made(a.length, (k) => Math.tanh(a[k] + u[k]))) };
}

/** @param {Sums} sums @param {Letters} _prev @param {Change} edit @returns {Letters} */
function rectified({ a, u }, _prev, edit) {
  return { h: edit("h", made(a.length, (k) => Math.max(0, a[k] + u[k]))) };
}

/** @type {Record<string, Step>} */
export const CELLS = { lstm, gru, rnn: elman, relu: rectified };
