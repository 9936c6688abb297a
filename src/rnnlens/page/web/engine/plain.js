// What takes most of the time, in plain JavaScript: for browsers that cannot run kernels.wat, which computes the same
// in the same memory. Of states that are encoded together, four lie side by side: the numbers of a label in four states
// are followed by those of the next label.

export const BINS = 1024; // of a histogram

/** How many groups of four there are: one or two vectors that are left over are quicker alone. @param {number} count */
export function groupsOf(count) {
  return (count + 1) >> 2;
}

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
   * Add the products of a matrix with so many vectors, of which four lie side by side in each group, and after the groups
   * those that are left over. Two rows at a time; the last of an odd number is its own other.
   * @param {number} w @param {number} z @param {number} out @param {number} rows @param {number} columns
   * @param {number} count
   */
  products(w, z, out, rows, columns, count) {
    const groups = groupsOf(count);
    for (let k = 0; k < count - 4 * groups; k++) {
      this.product(w, z + (4 * groups + k) * columns, out + groups * rows * 4 + k, rows, columns, 4);
    }
    const { floats } = this;
    for (let row = 0, first = w; row < rows; row += 2, first += 2 * columns) {
      const odd = row + 1 === rows, apart = odd ? 0 : columns;
      for (let group = 0; group < groups; group++) {
        let a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
        for (let k = first, end = first + columns, at = z + group * columns * 4; k < end; k++, at += 4) {
          const one = floats[k], other = floats[k + apart];
          const p = floats[at], q = floats[at + 1], r = floats[at + 2], s = floats[at + 3];
          a += one * p;
          b += one * q;
          c += one * r;
          d += one * s;
          e += other * p;
          f += other * q;
          g += other * r;
          h += other * s;
        }
        const at = out + (group * rows + row) * 4;
        floats[at] += a;
        floats[at + 1] += b;
        floats[at + 2] += c;
        floats[at + 3] += d;
        if (odd) continue;
        floats[at + 4] += e;
        floats[at + 5] += f;
        floats[at + 6] += g;
        floats[at + 7] += h;
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
        const less = floats[at] - most, power = exponential(less);
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
    const { floats } = this;
    const a = floats[bounds], b = floats[bounds + 1], c = floats[bounds + 2], d = floats[bounds + 3];
    let countA = 0, countB = 0, countC = 0, countD = 0;
    for (let at = x, end = x + labels * 4; at < end; at += 4) {
      if (floats[at] >= a) countA++;
      if (floats[at + 1] >= b) countB++;
      if (floats[at + 2] >= c) countC++;
      if (floats[at + 3] >= d) countD++;
    }
    floats[counts] = countA;
    floats[counts + 1] = countB;
    floats[counts + 2] = countC;
    floats[counts + 3] = countD;
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
   * Count the logits of each of four states in bins; `axis` holds where the first bin begins, and how many bins there are
   * to 1, four numbers each.
   * @param {number} x @param {number} labels @param {number} axis @param {number} bins
   */
  histogram(x, labels, axis, bins) {
    const { floats, integers } = this;
    integers.fill(0, bins, bins + BINS * 4);
    for (let lane = 0; lane < 4; lane++) {
      const least = floats[axis + lane], scale = floats[axis + 4 + lane];
      for (let at = x + lane, end = x + labels * 4; at < end; at += 4) {
        integers[bins + Math.min(BINS - 1, Math.trunc((floats[at] - least) * scale)) * 4 + lane]++;
      }
    }
  }

  /**
   * List the labels that lie within the bounds in any of four states, the upper bound not included: 16 times the label's
   * number, and a bit for each state.
   * @param {number} x @param {number} labels @param {number} bounds the lower of each state, then the upper
   * @param {number} list @returns {number} how many there are
   */
  collect(x, labels, bounds, list) {
    const { floats, integers } = this;
    const a = floats[bounds], b = floats[bounds + 1], c = floats[bounds + 2], d = floats[bounds + 3];
    const e = floats[bounds + 4], f = floats[bounds + 5], g = floats[bounds + 6], h = floats[bounds + 7];
    let length = 0;
    for (let label = 0, at = x; label < labels; label++, at += 4) {
      const p = floats[at], q = floats[at + 1], r = floats[at + 2], s = floats[at + 3];
      const bits = (p >= a && p < e ? 1 : 0) + (q >= b && q < f ? 2 : 0) + (r >= c && r < g ? 4 : 0)
        + (s >= d && s < h ? 8 : 0);
      if (bits) integers[list + length++] = label * 16 + bits;
    }
    return length;
  }

  /**
   * The sum of y log y over y = a * factor + b * factor, where every fourth number has the same factors.
   * @param {number} a @param {number} b @param {number} count @param {number} factors four of a, then four of b
   * @returns {number}
   */
  mixed(a, b, count, factors) {
    const { floats } = this;
    let sum = 0;
    for (let lane = 0; lane < 4; lane++) {
      const ours = floats[factors + lane], theirs = floats[factors + 4 + lane];
      for (let k = lane; k < count; k += 4) {
        const y = floats[a + k] * ours + floats[b + k] * theirs;
        if (y > TINY) sum += y * Math.log(y);
      }
    }
    return sum;
  }
}

const TINY = 1e-38; // which times its logarithm is nothing
const STEPS = 256, LEAST = -32; // exponentials that are known: so many to 1, down to where they are nothing
const POWERS = Float64Array.from({ length: -LEAST * STEPS + 2 }, (_, k) => Math.exp(-k / STEPS));

/** exp of a number that is not positive, from the nearest that is known: several times as quick as Math.exp. @param {number} x */
function exponential(x) {
  if (!(x > LEAST)) return x <= LEAST ? 0 : NaN;
  const k = Math.trunc(0.5 - x * STEPS), rest = x + k / STEPS;
  return POWERS[k] * (1 + rest * (1 + rest / 2 + (rest * rest) / 6));
}
