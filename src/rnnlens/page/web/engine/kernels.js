// What takes most of the time, by kernels.wat where the browser runs WebAssembly with SIMD, else in plain JavaScript.

import { ASSEMBLED } from "./assembled.js";
import { Refusal } from "../base/refusal.js";
import { BINS, groupsOf, PlainKernels } from "./plain.js";

/** @typedef {PlainKernels | WasmKernels} Kernels */
/** @typedef {(...numbers: number[]) => number} Kernel */

const PAGE = 65_536; // bytes
const ROWS = 256; // of a matrix that stay in the processor's cache while all groups are multiplied with them

/**
 * Kernels with a memory for so many numbers.
 * @param {number} count @param {boolean} wasm whether to try WebAssembly @returns {Promise<Kernels>}
 */
export async function kernelsFor(count, wasm) {
  if (wasm && typeof WebAssembly === "object") {
    try {
      const memory = new WebAssembly.Memory({ initial: Math.ceil((count * 4) / PAGE) || 1 });
      const code = Uint8Array.from(atob(ASSEMBLED), (character) => character.charCodeAt(0));
      const { instance } = await WebAssembly.instantiate(code, { lens: { memory } });
      return new WasmKernels(memory, /** @type {Record<string, Kernel>} */ (/** @type {unknown} */ (instance.exports)));
    } catch (error) {
      if (!(error instanceof WebAssembly.CompileError || error instanceof RangeError)) throw error; // no SIMD, or forbidden
    }
  }
  try {
    return new PlainKernels(count);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new Refusal(`this lens takes ${Math.ceil((count * 4) / 1e6)} MB of memory, which the browser does not give; `
      + "publish it with fewer semantics, or with shared probes");
  }
}

/** The same functions as those of `PlainKernels`; addresses are in numbers here, and in bytes there. */
class WasmKernels {
  /** @param {WebAssembly.Memory} memory @param {Record<string, Kernel>} kernels */
  constructor(memory, kernels) {
    this.floats = new Float32Array(memory.buffer);
    this.integers = new Int32Array(memory.buffer);
    this.kernels = kernels;
  }

  /** @param {number} w @param {number} x @param {number} y @param {number} rows @param {number} columns @param {number} step */
  product(w, x, y, rows, columns, step) {
    this.kernels.product(w * 4, x * 4, y * 4, rows, columns * 4, step * 4);
  }

  /** @param {number} w @param {number} z @param {number} out @param {number} rows @param {number} columns @param {number} count */
  products(w, z, out, rows, columns, count) {
    const { products4, products1 } = this.kernels, inZ = columns * 16, inOut = rows * 16, groups = groupsOf(count);
    for (let row = 0; row < rows; row += ROWS) {
      const some = Math.min(ROWS, rows - row), even = some & ~1, from = (w + row * columns) * 4;
      for (let group = 0; group < groups;) {
        const at = z * 4 + group * inZ, to = (out + row * 4) * 4 + group * inOut, four = group + 4 <= groups;
        if (four && even) products4(from, at, to, even, columns * 4, inZ, inOut);
        const done = four ? even : 0;
        for (let k = 0; k < (four ? 4 : 1) && done < some; k++) {
          products1(from + done * columns * 4, at + k * inZ, to + k * inOut + done * 16, some - done, columns * 4);
        }
        group += four ? 4 : 1;
      }
      for (let k = 0; k < count - 4 * groups; k++) {
        this.product(w + row * columns, z + (4 * groups + k) * columns, out + (groups * rows + row) * 4 + k, some, columns, 4);
      }
    }
  }

  /** @param {number} x @param {number} e @param {number} labels @param {number} sums */
  exponentials(x, e, labels, sums) {
    this.kernels.exponentials(x * 4, e * 4, labels, sums * 4);
  }

  /** @param {number} x @param {number} labels @param {number} bounds @param {number} counts */
  count(x, labels, bounds, counts) {
    this.kernels.count(x * 4, labels, bounds * 4, counts * 4);
  }

  /** @param {number} x @param {number} e @param {number} labels @param {number} bounds @param {number} groups @param {number} sums */
  grouped(x, e, labels, bounds, groups, sums) {
    this.kernels.grouped(x * 4, e * 4, labels, bounds * 4, groups * 4, sums * 4);
  }

  /** @param {number} x @param {number} labels @param {number} axis @param {number} bins */
  histogram(x, labels, axis, bins) {
    this.integers.fill(0, bins, bins + BINS * 4);
    this.kernels.histogram(x * 4, labels, axis * 4, bins * 4, BINS);
  }

  /** @param {number} x @param {number} labels @param {number} bounds @param {number} list */
  collect(x, labels, bounds, list) {
    return this.kernels.collect(x * 4, labels, bounds * 4, list * 4);
  }

  /** @param {number} a @param {number} b @param {number} count @param {number} factors */
  mixed(a, b, count, factors) {
    return this.kernels.mixed(a * 4, b * 4, count, factors * 4);
  }
}
