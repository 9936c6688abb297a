// What takes most of the time, in plain JavaScript: for browsers that cannot run kernels.wat, which computes the same
// in the same memory. Of states that are encoded together, four lie side by side: the numbers of a label in four states
// are followed by those of the next label.

/** @typedef {import("./unpack.js").Memory} Memory */

export class PlainKernels {
  /** @param {number} count numbers that the memory has room for */
  constructor(count) {
    this.floats = new Float32Array(count);
    this.integers = new Int32Array(this.floats.buffer);
  }

  /**
   * Add the product of a matrix and a vector to every step-th number at y.
   * @param {number} w @param {number} x @param {number} y @param {number} rows @param {number} columns
   * @param {number} step
   */
  product(w, x, y, rows, columns, step) {
    const { floats } = this;
    for (let row = 0, at = w; row < rows; row++, at += columns) {
      let a = 0, b = 0, c = 0, d = 0;
      for (let k = 0; k < columns; k += 4) {
        a += floats[at + k] * floats[x + k];
        b += floats[at + k + 1] * floats[x + k + 1];
        c += floats[at + k + 2] * floats[x + k + 2];
        d += floats[at + k + 3] * floats[x + k + 3];
      }
      floats[y + row * step] += a + b + (c + d);
    }
  }

  /**
   * Add the products of a matrix with many vectors, four of them side by side in each of the groups.
   * @param {number} w @param {number} z @param {number} out @param {number} rows @param {number} columns
   * @param {number} groups
   */
  products(w, z, out, rows, columns, groups) {
    const { floats } = this;
    for (let row = 0, from = w; row < rows; row++, from += columns) {
      for (let group = 0; group < groups; group++) {
        let a = 0, b = 0, c = 0, d = 0;
        for (let k = 0, at = z + group * columns * 4; k < columns; k++, at += 4) {
          const weight = floats[from + k];
          a += weight * floats[at];
          b += weight * floats[at + 1];
          c += weight * floats[at + 2];
          d += weight * floats[at + 3];
        }
        const at = out + (group * rows + row) * 4;
        floats[at] += a;
        floats[at + 1] += b;
        floats[at + 2] += c;
        floats[at + 3] += d;
      }
    }
  }

  /**
   * Of four states: the largest logit of each, the least, the sum of e = exp(logit - largest), and the sum of that times
   * (logit - largest), four numbers each; and e itself.
   * @param {number} x @param {number} e @param {number} labels @param {number} sums
   */
  exponentials(x, e, labels, sums) {
    const { floats } = this;
    for (let lane = 0; lane < 4; lane++) {
      const end = x + labels * 4;
      let most = -Infinity, least = Infinity, sum = 0, weighed = 0;
      for (let at = x + lane; at < end; at += 4) {
        const value = floats[at];
        if (value > most) most = value;
        if (value < least) least = value;
      }
      for (let at = x + lane, to = e + lane; at < end; at += 4, to += 4) {
        const less = floats[at] - most, power = Math.exp(less);
        floats[to] = power;
        sum += power;
        weighed += power * less;
      }
      floats[sums + lane] = most;
      floats[sums + 4 + lane] = least;
      floats[sums + 8 + lane] = sum;
      floats[sums + 12 + lane] = weighed;
    }
  }

  /**
   * How many logits of each of four states reach its bound.
   * @param {number} x @param {number} labels @param {number} bounds @param {number} counts
   */
  count(x, labels, bounds, counts) {
    const { floats } = this, [a, b, c, d] = floats.subarray(bounds, bounds + 4);
    let countA = 0, countB = 0, countC = 0, countD = 0;
    for (let at = x, end = x + labels * 4; at < end; at += 4) {
      if (floats[at] >= a) countA++;
      if (floats[at + 1] >= b) countB++;
      if (floats[at + 2] >= c) countC++;
      if (floats[at + 3] >= d) countD++;
    }
    floats.set([countA, countB, countC, countD], counts);
  }

  /**
   * Add up e by group over the labels that reach the bound, of each of four states; `groups` holds four times the
   * number of each label's group.
   * @param {number} x @param {number} e @param {number} labels @param {number} bounds @param {number} groups
   * @param {number} sums
   */
  grouped(x, e, labels, bounds, groups, sums) {
    const { floats, integers } = this;
    for (let lane = 0; lane < 4; lane++) {
      const bound = floats[bounds + lane];
      for (let label = 0, at = lane; label < labels; label++, at += 4) {
        if (floats[x + at] >= bound) floats[sums + integers[groups + label] + lane] += floats[e + at];
      }
    }
  }

  /**
   * List the labels that reach the bound in any of four states: 16 times the label's number, and a bit for each state.
   * @param {number} x @param {number} labels @param {number} bounds @param {number} list
   * @returns {number} how many there are
   */
  collect(x, labels, bounds, list) {
    const { floats, integers } = this, [a, b, c, d] = floats.subarray(bounds, bounds + 4);
    let length = 0;
    for (let label = 0, at = x; label < labels; label++, at += 4) {
      const bits = (floats[at] >= a ? 1 : 0) + (floats[at + 1] >= b ? 2 : 0) + (floats[at + 2] >= c ? 4 : 0)
        + (floats[at + 3] >= d ? 8 : 0);
      if (bits) integers[list + length++] = label * 16 + bits;
    }
    return length;
  }
}
