// Kernels: WebAssembly computes what plain JavaScript does, and both what their names say.

import assert from "node:assert/strict";
import test from "node:test";

import { kernelsFor } from "../../../src/rnnlens/page/web/engine/kernels.js";
import { BINS, groupsOf, PlainKernels } from "../../../src/rnnlens/page/web/engine/plain.js";

const COUNT = 200_000;
const wave = (/** @type {number} */ k) => Math.sin(k * 0.7548776662 * 2 * Math.PI);

/** Both sorts of kernels with the same numbers in their memories. */
async function both(first = 0) {
  const plain = new PlainKernels(COUNT), wasm = await kernelsFor(COUNT, true);
  assert.notEqual(wasm.constructor, PlainKernels, "this node has no SIMD");
  for (const { floats } of [plain, wasm]) for (let k = first; k < COUNT; k++) floats[k] = wave(k);
  return [plain, wasm];
}

/** @param {ArrayLike<number>} ours @param {ArrayLike<number>} theirs @param {number} [allowed] */
function near(ours, theirs, allowed = 1e-4) {
  assert.equal(ours.length, theirs.length);
  for (let k = 0; k < ours.length; k++) {
    assert.ok(Math.abs(ours[k] - theirs[k]) <= allowed * (1 + Math.abs(theirs[k])), `${k}: ${ours[k]} and ${theirs[k]}`);
  }
}

test("a product adds to every step-th number, of any number of rows", async () => {
  for (const [rows, columns, step] of [[1, 4, 1], [7, 8, 4], [10, 12, 4]]) {
    const [w, x, y] = [0, 4000, 5000], kernels = await both();
    const right = Array.from({ length: rows }, (_, row) =>
      wave(y + row * step) + Array.from({ length: columns }, (_, k) => wave(row * columns + k) * wave(x + k)).reduce((a, b) => a + b));
    for (const one of kernels) {
      one.product(w, x, y, rows, columns, step);
      near(right.map((_, row) => one.floats[y + row * step]), right);
      if (step > 1) near([one.floats[y + 1]], [wave(y + 1)]);
      near([one.floats[y + rows * step]], [wave(y + rows * step)]); // what follows stays as it is
    }
  }
});

test("products of many vectors stand four by four, those that are left over behind", async () => {
  for (const [rows, count] of [[1, 1], [5, 2], [5, 3], [259, 6], [301, 17], [3, 20], [2, 23]]) {
    const columns = 8, [w, z, out] = [0, 10_000, 20_000], kernels = await both(), groups = groupsOf(count);
    const vector = (/** @type {number} */ n, /** @type {number} */ k) =>
      wave(z + (n < 4 * groups ? (n >> 2) * columns * 4 + k * 4 + (n & 3) : n * columns + k));
    for (const one of kernels) {
      one.products(w, z, out, rows, columns, count);
      for (let n = 0; n < count; n++) {
        const at = (/** @type {number} */ row) => out + ((n >> 2) * rows + row) * 4 + (n & 3);
        const rowsOf = Array.from({ length: rows }, (_, row) => row);
        near(rowsOf.map((row) => one.floats[at(row)]), rowsOf.map((row) =>
          wave(at(row)) + Array.from({ length: columns }, (_, k) => wave(row * columns + k) * vector(n, k)).reduce((a, b) => a + b)));
      }
    }
  }
});

test("exponentials with their sums, of few labels and of many", async () => {
  for (const labels of [1, 5, 256, 1000]) {
    const [x, e, sums] = [0, 20_000, 100];
    for (const one of await both()) {
      const logits = Array.from({ length: labels * 4 }, (_, k) => 30 * wave(k + 1) - 5);
      one.floats.set(logits, x + 200);
      one.exponentials(x + 200, e, labels, sums);
      for (let lane = 0; lane < 4; lane++) {
        const own = logits.filter((_, k) => k % 4 === lane).map(Math.fround), most = Math.max(...own);
        const powers = own.map((value) => Math.exp(value - most));
        near(powers.map((_, k) => one.floats[e + 4 * k + lane]), powers, 1e-6);
        near([0, 4, 8, 12].map((k) => one.floats[sums + k + lane]), [most, Math.min(...own),
          powers.reduce((a, b) => a + b), powers.reduce((sum, p, k) => sum + p * (own[k] - most), 0)], 1e-5);
      }
    }
  }
});

test("what is next to nothing is nothing, and what is no number stays none", async () => {
  for (const one of await both()) {
    one.floats.set([0, 0, 0, NaN, -1e30, -200, -80, 0], 0);
    one.exponentials(0, 100, 2, 200);
    near(one.floats.slice(104, 107), [0, 0, 0], 1e-30);
    assert.ok(Number.isNaN(one.floats[211])); // the sum of the state with NaN
  }
});

test("counts, groups, bins and lists of what lies within bounds", async () => {
  const labels = 333, [x, e, bounds, groups, sums, counts, axis, bins, list] =
    [0, 2000, 4000, 4010, 5000, 5100, 5200, 6000, 20_000];
  const value = (/** @type {number} */ label, /** @type {number} */ lane) => Math.fround(wave(label * 4 + lane));
  const all = Array.from({ length: labels }, (_, label) => label), limits = [0.5, -0.25, 2, -2];
  for (const one of await both()) {
    one.floats.set([...limits, Infinity, 0.5, Infinity, Infinity], bounds);
    one.integers.set(all.map((label) => 4 * (label % 3)), groups);
    one.floats.fill(0, sums, sums + 12);
    one.count(x, labels, bounds, counts);
    one.grouped(x, e, labels, bounds, groups, sums);
    one.floats.set([-1, -1, -1, -1, BINS / 2, BINS / 2, BINS / 2, 0], axis);
    one.histogram(x, labels, axis, bins);
    const listed = one.collect(x, labels, bounds, list), entries = [...one.integers.subarray(list, list + listed)];
    for (let lane = 0; lane < 4; lane++) {
      const reaching = all.filter((label) => value(label, lane) >= limits[lane]);
      assert.equal(one.floats[counts + lane], reaching.length);
      near([0, 1, 2].map((group) => one.floats[sums + 4 * group + lane]), [0, 1, 2].map((group) =>
        reaching.filter((label) => label % 3 === group).reduce((sum, label) => sum + wave(e + label * 4 + lane), 0)));
      const found = entries.filter((entry) => entry & (1 << lane)).map((entry) => entry >> 4);
      assert.deepEqual(found, reaching.filter((label) => lane !== 1 || value(label, lane) < 0.5));
      const binned = Array.from({ length: BINS }, (_, bin) => one.integers[bins + 4 * bin + lane]);
      assert.equal(binned.reduce((a, b) => a + b), labels);
      if (lane === 3) assert.equal(binned[0], labels); // without a scale all are in the first bin
      else assert.ok(all.every((label) => binned[Math.min(BINS - 1, Math.floor((value(label, lane) + 1) * (BINS / 2)))] > 0));
    }
  }
});

test("a browser without WebAssembly computes in JavaScript", async () => {
  assert.equal((await kernelsFor(100, false)).constructor, PlainKernels);
  const { instantiate } = WebAssembly;
  WebAssembly.instantiate = /** @type {any} */ (async () => { throw new WebAssembly.CompileError("no SIMD"); });
  try {
    assert.equal((await kernelsFor(100, true)).constructor, PlainKernels);
  } finally {
    WebAssembly.instantiate = instantiate;
  }
});

test("a lens that is too large for the browser says so", async () => {
  await assert.rejects(kernelsFor(2 ** 42, true), /takes 17592187 MB of memory, which the browser does not give; publish it/);
});
