// The encoding of a state: from a distribution over labels to bars and a coloured rectangle. The rule is that of
// rnnlens/reading/encoding.py; states are encoded four at a time.

import { COUNTS, NUMBERS } from "../base/rules.js";
import { NARROW, rint } from "./palette.js";
import { BINS } from "./plain.js";
import { refusal } from "./refusals.js";
import { numbersOf } from "./scale.js";

/**
 * What is drawn of a state: its most probable labels, the dominant group, its share and a group that is close (-1: none), bits, mean and interval where
 * labels are numbers (of y the model's own number), and its size and its limits where it is unlike the states of the fit.
 * @typedef {{labels: number[], probabilities: number[], highest: number, group: number, share: number, rival: number, entropy: number,
 *   numbers: number[] | null, outside?: [size: number, low: number, high: number] | null}} Encoding
 */
/** Of a state that says a number: the model's own, where it is a prediction, and what its interval is widened by. @typedef {{own: number | null, width: number}} OfNumber */
/** @typedef {{came: number, rank: number}} Outcome probability and rank of the label that really came; rank 0: none did */

const { rectangle_share: SHARE, close_groups: CLOSE } = NUMBERS, { state_labels: BARS, state_digits: DIGITS } = COUNTS;
const LEAST = 1e-300; // what is divided by less is infinite

export class Encoder {
  /** @param {number} labels at most @param {number} groups of colours at most @param {Machine} machine */
  constructor(labels, groups, machine) {
    const { room } = machine;
    this.machine = machine;
    this.e = room.take(labels * 4);
    this.list = room.take(labels);
    this.sums = room.take(16);
    this.axis = room.take(8);
    this.bins = room.take(BINS * 4);
    this.bounds = room.take(8);
    this.counts = room.take(4);
    this.grouped = room.take(groups * 4);
  }

  /**
   * Encode the first so many of a block of states.
   * @param {number} block @param {number} count @param {number} labels @param {Palette} palette @param {Answers} answers
   * @param {OfNumber[]} numbers of each, where labels are numbers @param {Pause} pause
   * @returns {Promise<Encoding[]>}
   */
  async encode(block, count, labels, palette, answers, numbers, pause) {
    /** @type {Encoding[]} */ const found = [];
    for (let k = 0; k < count; k += 4) {
      await pause();
      const at = block + k * labels, lanes = Math.min(4, count - k);
      found.push(...(answers.several ? this.several(at, lanes, labels, palette)
        : this.four(at, lanes, labels, palette, answers, numbers.slice(k, k + 4))));
    }
    return found;
  }

  /** @param {number} x @param {number} lanes @param {number} labels @param {Palette} palette @param {Answers} answers @param {OfNumber[]} numbers @returns {Encoding[]} */
  four(x, lanes, labels, palette, answers, numbers) {
    const { kernels } = this.machine;
    kernels.exponentials(x, this.e, labels, this.sums);
    const [most, , sum, weighed] = [0, 1, 2, 3].map((k) => this.kept(this.sums + 4 * k));
    if (!sum.every(Number.isFinite)) throw refusal("too_large");
    this.measure(x, labels);
    const tops = this.largest(x, lanes, labels, Math.min(BARS, labels));
    const bits = tops.map((_, lane) => Math.max((Math.log(sum[lane]) - weighed[lane] / sum[lane]) / Math.LN2, 0));
    const shares = answers.scale ? [] : this.shares(x, lanes, labels, palette, bits);
    return tops.map((top, lane) => {
      const probabilities = top.map(([value]) => Math.exp(value - most[lane]) / sum[lane]);
      const entropy = bits[lane];
      const rectangle = answers.scale ? this.onAxis(lane, labels, sum[lane], entropy, palette, answers.scale, numbers[lane])
        : { ...shares[lane], numbers: null };
      return { labels: top.map(([, label]) => label), probabilities, highest: most[lane], entropy, ...rectangle };
    });
  }

  /** Four numbers of the memory. @param {number} at */
  kept(at) {
    return [...this.machine.floats.subarray(at, at + 4)];
  }

  /**
   * Count the logits of each state in bins from the least to the largest, so that bounds can be read off.
   * @param {number} x @param {number} labels
   */
  measure(x, labels) {
    const { floats, kernels } = this.machine, most = this.kept(this.sums), least = this.kept(this.sums + 4);
    const scales = most.map((high, lane) => (high > least[lane] ? BINS / (high - least[lane]) : 0));
    floats.set([...least, ...scales], this.axis);
    kernels.histogram(x, labels, this.axis, this.bins);
  }

  /** The bin of a state's logit of some rank. @param {number} lane @param {number} rank */
  binOf(lane, rank) {
    const { integers } = this.machine.kernels;
    let bin = BINS;
    for (let left = rank; left > 0 && bin > 0;) left -= integers[this.bins + --bin * 4 + lane];
    return bin;
  }

  /** Where a bin begins; rounding is never as much as a bin. @param {number} lane @param {number} bin */
  edge(lane, bin) {
    const { floats } = this.machine, scale = floats[this.axis + 4 + lane];
    if (bin <= 0 || !scale) return bin <= 0 ? -Infinity : Infinity;
    return bin >= BINS ? Infinity : Math.fround(floats[this.axis + lane] + bin / scale);
  }

  /**
   * The logits of each state that lie between two of its bins, largest first and equal ones in the order of their labels.
   * @param {number} x @param {number} labels @param {[low: number, high: number][]} bounds of each state
   * @returns {[value: number, label: number][][]}
   */
  between(x, labels, bounds) {
    const { floats, kernels } = this.machine, { integers } = kernels;
    floats.fill(Infinity, this.bounds, this.bounds + 8);
    floats.set(bounds.map(([low]) => low), this.bounds);
    floats.set(bounds.map(([, high]) => high), this.bounds + 4);
    const length = kernels.collect(x, labels, this.bounds, this.list);
    /** @type {[number, number][][]} */ const found = bounds.map(() => []);
    for (let k = 0; k < length; k++) {
      const entry = integers[this.list + k], label = entry >> 4;
      found.forEach((some, lane) => {
        if (entry & (1 << lane)) some.push([floats[x + label * 4 + lane], label]);
      });
    }
    return found.map((some) => some.sort((a, b) => b[0] - a[0] || a[1] - b[1]));
  }

  /**
   * The `count` largest of each state.
   * @param {number} x @param {number} lanes @param {number} labels @param {number} count
   */
  largest(x, lanes, labels, count) {
    const bounds = Array.from({ length: lanes }, (_, lane) =>
      /** @type {[number, number]} */ ([this.edge(lane, this.binOf(lane, count) - 1), Infinity]));
    return this.between(x, labels, bounds).map((some) => some.slice(0, count));
  }

  /**
   * The dominant group of each state and its share: what exceeds its base rate, or by the paper's rule the part that it
   * holds of the probability of the top labels.
   * @param {number} x @param {number} lanes @param {number} labels @param {Palette} palette @param {number[]} bits of each state
   */
  shares(x, lanes, labels, palette, bits) {
    if (palette.base) return this.excesses(x, lanes, labels, palette, bits);
    const { floats, kernels } = this.machine, top = Math.floor(SHARE * labels + 0.5);
    if (top < 2 || palette.alone) return Array.from({ length: lanes }, (_, lane) => this.shareOfAll(lane, labels, palette));
    const doubtful = Array.from({ length: lanes }, (_, lane) => {
      const bin = this.binOf(lane, top);
      return /** @type {[number, number]} */ ([this.edge(lane, bin - 1), this.edge(lane, bin + 2)]);
    });
    const near = this.between(x, labels, doubtful), count = palette.groups.length;
    floats.set(doubtful.map(([, high]) => high), this.bounds); // those of the others are infinite
    kernels.count(x, labels, this.bounds, this.counts);
    floats.fill(0, this.grouped, this.grouped + count * 4);
    kernels.grouped(x, this.e, labels, this.bounds, palette.at, this.grouped);
    return near.map((some, lane) => {
      const sums = Array.from({ length: count }, (_, group) => floats[this.grouped + group * 4 + lane]);
      for (const [, label] of some.slice(0, top - floats[this.counts + lane])) {
        sums[palette.groupOf[label]] += floats[this.e + label * 4 + lane];
      }
      return papersShare(sums);
    });
  }

  /**
   * The group of each state that exceeds its base rate most, and by which part of what it could.
   * @param {number} x @param {number} lanes @param {number} labels @param {Palette} palette @param {number[]} bits of each state
   */
  excesses(x, lanes, labels, palette, bits) {
    const { floats, kernels } = this.machine, count = palette.groups.length;
    floats.fill(-Infinity, this.bounds, this.bounds + 4); // all labels take part
    floats.fill(0, this.grouped, this.grouped + count * 4);
    kernels.grouped(x, this.e, labels, this.bounds, palette.at, this.grouped);
    return Array.from({ length: lanes }, (_, lane) => {
      const base = palette.rates(bits[lane]), sums = base.map((_, group) => floats[this.grouped + group * 4 + lane]), all = sums.reduce((sum, one) => sum + one, 0);
      return leading(sums.map((sum, group) => (sum / all - base[group]) / Math.max(1 - base[group], NARROW)));
    });
  }

  /** Where labels are few or each a group of its own, all take part, or nothing would ever fade. @param {number} lane @param {number} labels @param {Palette} palette */
  shareOfAll(lane, labels, palette) {
    const sums = palette.groups.map(() => 0);
    for (let label = 0; label < labels; label++) sums[palette.groupOf[label]] += this.machine.floats[this.e + label * 4 + lane];
    return papersShare(sums);
  }

  /**
   * The rectangle of numbers has the colour of the bin in which the median lies, and fades the less the state tells.
   * @param {number} lane @param {number} labels @param {number} sum @param {number} entropy @param {Palette} palette
   * @param {import("./text.js").Scale} scale @param {OfNumber} of
   */
  onAxis(lane, labels, sum, entropy, palette, scale, { own, width }) {
    const { floats } = this.machine;
    const p = Array.from({ length: labels }, (_, label) => floats[this.e + label * 4 + lane] / sum);
    const half = p.reduce((total, one) => total + one, 0) / 2;
    let median = 0;
    for (let upTo = p[0]; upTo < half && median < labels - 1; upTo += p[median]) median++;
    const share = Math.min(Math.max(1 - entropy / Math.log2(labels), 0), 1);
    return { group: palette.groupOf[median], share, rival: -1, numbers: numbersOf(scale, p, own, width) };
  }

  /**
   * The encodings of labels that hold or not each by itself: the rectangle has the colour of the most probable one, and
   * fades the less probable that is.
   * @param {number} x @param {number} lanes @param {number} labels @param {Palette} palette @returns {Encoding[]}
   */
  several(x, lanes, labels, palette) {
    const { floats } = this.machine;
    return Array.from({ length: lanes }, (_, lane) => {
      const logits = Array.from({ length: labels }, (_, label) => floats[x + label * 4 + lane]);
      if (!logits.every(Number.isFinite)) throw refusal("too_large");
      const top = logits.map((_, label) => label).sort((a, b) => logits[b] - logits[a] || a - b).slice(0, BARS);
      const entropy = logits.reduce((bits, logit) => bits + binaryBits(logit), 0), probabilities = top.map((k) => sigmoid(logits[k]));
      return { labels: top, probabilities, highest: logits[top[0]], group: palette.groupOf[top[0]],
        share: probabilities[0], rival: -1, entropy, numbers: null };
    });
  }

  /**
   * What states that were encoded are asked about: the label that came, -1 where none did.
   * @param {number} block @param {Encoding[]} encodings @param {number[]} wanted @param {number} labels
   * @returns {Outcome[]}
   */
  outcomes(block, encodings, wanted, labels) {
    const { floats, kernels } = this.machine;
    /** @type {Outcome[]} */ const found = [];
    for (let k = 0; k < wanted.length; k += 4) {
      const x = block + k * labels, four = wanted.slice(k, k + 4);
      const values = four.map((label, lane) => floats[x + label * 4 + lane]);
      floats.set([0, 1, 2, 3].map((lane) => ((four[lane] ?? -1) < 0 ? Infinity : above(values[lane]))), this.bounds);
      if (four.some((label) => label >= 0)) kernels.count(x, labels, this.bounds, this.counts);
      found.push(...four.map((label, lane) => {
        if (label < 0) return { came: 0, rank: 0 };
        const { probabilities, highest } = encodings[k + lane];
        return { came: probabilities[0] * Math.exp(values[lane] - highest), rank: 1 + floats[this.counts + lane] };
      }));
    }
    return found;
  }
}

/** The group with the largest sum, and its part of all. @param {number[]} sums */
function papersShare(sums) {
  const all = sums.reduce((sum, one) => sum + one, 0);
  return leading(sums.map((sum) => sum / all));
}

/** The group with the largest share, that share, and the group that comes second where it is close. @param {number[]} shares */
function leading(shares) {
  const most = Math.max(...shares), group = shares.indexOf(most), others = shares.map((share, k) => (k === group ? -Infinity : share));
  const next = Math.max(...others), [share, second] = [most, next].map((one) => Math.min(Math.max(one, 0), 1));
  return { group, share, rival: second > 0 && share >= CLOSE && share - second < CLOSE ? others.indexOf(next) : -1 };
}

/** @param {number} x */
function sigmoid(x) {
  return 1 / (1 + Math.exp(-x));
}

/** The entropy of a yes or no. @param {number} logit */
function binaryBits(logit) {
  const p = sigmoid(logit), q = 1 - p;
  return p > 0 && q > 0 ? -p * Math.log2(p) - q * Math.log2(q) : 0;
}

const single = new Float32Array(1), bits = new Int32Array(single.buffer);

/** The next larger number in single precision. @param {number} value */
function above(value) {
  single[0] = value;
  if (value === 0) return 2 ** -149;
  bits[0] += value > 0 ? 1 : -1;
  return single[0];
}

/** Rounded to so many significant digits; next to nothing is nothing. @param {number} value @param {number} [digits] */
export function significant(value, digits = DIGITS) {
  if (value < LEAST) return 0;
  const scale = 10 ** (digits - 1 - Math.floor(Math.log10(value)));
  return rint(value * scale) / scale;
}
