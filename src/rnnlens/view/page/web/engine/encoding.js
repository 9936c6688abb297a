// The encoding of a state: from a distribution over labels to bars and a coloured rectangle. The rule is that of
// rnnlens/view/encoding.py; states are encoded four at a time.

import { RnnlensError } from "./errors.js";
import { rint } from "./palette.js";
import { intervalOf, meanOf } from "./scale.js";

/** @typedef {import("./machine.js").Machine} Machine */
/** @typedef {import("./palette.js").Palette} Palette */
/** @typedef {import("./text.js").Answers} Answers */
/**
 * What is drawn of a state: its most probable labels, the dominant group and its share, bits, and mean and interval where
 * labels are numbers.
 * @typedef {{labels: number[], probabilities: number[], highest: number, group: number, share: number, entropy: number,
 *   numbers: number[] | null}} Encoding
 */
/** @typedef {{came: number, rank: number}} Outcome probability and rank of the label that really came; rank 0: none did */

const SHARE = 0.1; // of the labels take part in the rectangle
const BARS = 20; // labels kept of each state
const SPARE = 3; // times as many may be looked at to find them
const LEAST = 1e-300; // what is divided by less is infinite
const TRIES = 100; // bounds before bisecting alone has found any
export const DIGITS = 5; // of numbers as they are sent

export class Encoder {
  /** @param {number} labels at most @param {number} groups of colours at most @param {Machine} machine */
  constructor(labels, groups, machine) {
    const { room } = machine;
    this.machine = machine;
    this.e = room.take(labels * 4);
    this.list = room.take(labels);
    this.sums = room.take(16);
    this.bounds = room.take(4);
    this.counts = room.take(4);
    this.grouped = room.take(groups * 4);
  }

  /**
   * Encode the first so many of a block of states.
   * @param {number} block @param {number} count @param {number} labels @param {Palette} palette @param {Answers} answers
   * @returns {Encoding[]}
   */
  encode(block, count, labels, palette, answers) {
    /** @type {Encoding[]} */ const found = [];
    for (let k = 0; k < count; k += 4) {
      const at = block + k * labels, lanes = Math.min(4, count - k);
      found.push(...(answers.several ? this.several(at, lanes, labels, palette)
        : this.four(at, lanes, labels, palette, answers)));
    }
    if (!found.every(({ probabilities }) => Number.isFinite(probabilities[0]))) {
      throw new RnnlensError("the network's numbers are too large to draw; train it anew");
    }
    return found;
  }

  /** @param {number} x @param {number} lanes @param {number} labels @param {Palette} palette @param {Answers} answers @returns {Encoding[]} */
  four(x, lanes, labels, palette, answers) {
    const { kernels } = this.machine;
    kernels.exponentials(x, this.e, labels, this.sums);
    const [most, , sum, weighed] = [0, 1, 2, 3].map((k) => this.kept(this.sums + 4 * k));
    const tops = this.largest(x, lanes, labels, Math.min(BARS, labels));
    const shares = answers.scale ? [] : this.shares(x, lanes, labels, palette);
    return tops.map((top, lane) => {
      const probabilities = top.map(([value]) => Math.exp(value - most[lane]) / sum[lane]);
      const nats = Math.log(sum[lane]) - weighed[lane] / sum[lane];
      const entropy = Math.max(nats / Math.LN2, 0);
      const rectangle = answers.scale ? this.onAxis(lane, labels, sum[lane], entropy, palette, answers.scale)
        : { ...shares[lane], numbers: null };
      return { labels: top.map(([, label]) => label), probabilities, highest: most[lane], entropy, ...rectangle };
    });
  }

  /** Four numbers of the memory. @param {number} at */
  kept(at) {
    return [...this.machine.floats.subarray(at, at + 4)];
  }

  /**
   * The `count` largest of each state, largest first and equal ones in the order of their numbers.
   * @param {number} x @param {number} lanes @param {number} labels @param {number} count
   * @returns {[value: number, label: number][][]}
   */
  largest(x, lanes, labels, count) {
    const { floats, kernels } = this.machine, { integers } = kernels;
    this.separate(x, lanes, labels, count, count * SPARE);
    const length = kernels.collect(x, labels, this.bounds, this.list);
    /** @type {[number, number][][]} */ const found = Array.from({ length: lanes }, () => []);
    for (let k = 0; k < length; k++) {
      const entry = integers[this.list + k], label = entry >> 4;
      for (let lane = 0; lane < lanes; lane++) {
        if (entry & (1 << lane)) found[lane].push([floats[x + label * 4 + lane], label]);
      }
    }
    return found.map((some) => some.sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, count));
  }

  /**
   * Leave a bound in the memory for each state that at least so many of its logits reach, and not more than so many
   * unless they are equal.
   * @param {number} x @param {number} lanes @param {number} labels @param {number} least @param {number} most
   * @returns {number[]} how many reach it
   */
  separate(x, lanes, labels, least, most) {
    const { floats, kernels } = this.machine, wanted = Math.log(Math.sqrt(least * most));
    const high = this.kept(this.sums).map((value) => above(value)), low = this.kept(this.sums + 4);
    const reached = low.map(() => labels), few = low.map(() => 0), settled = low.map((_, lane) => lane >= lanes || labels <= most);
    const bounds = low.map((value, lane) => (lane < lanes ? value : Infinity));
    for (let round = 0; settled.includes(false) && round < TRIES; round++) {
      for (let lane = 0; lane < lanes; lane++) {
        if (settled[lane]) continue;
        const from = Math.log(reached[lane]), to = Math.log(few[lane] || 0.5);
        const part = round % 3 === 2 ? 0.5 : (from - wanted) / (from - to);
        bounds[lane] = Math.fround(low[lane] + (high[lane] - low[lane]) * Math.min(Math.max(part, 0.01), 0.99));
        if (!(bounds[lane] > low[lane] && bounds[lane] < high[lane])) { // no number lies between: these are equal
          bounds[lane] = low[lane];
          settled[lane] = true;
        }
      }
      floats.set(bounds, this.bounds);
      kernels.count(x, labels, this.bounds, this.counts);
      this.kept(this.counts).forEach((count, lane) => {
        if (settled[lane]) return;
        if (count < least) [high[lane], few[lane]] = [bounds[lane], count];
        else [low[lane], reached[lane]] = [bounds[lane], count];
        settled[lane] = count >= least && count <= most;
      });
    }
    floats.set(bounds, this.bounds);
    return reached;
  }

  /**
   * The dominant group of each state among its top labels, and the part of their probability that it holds.
   * @param {number} x @param {number} lanes @param {number} labels @param {Palette} palette
   */
  shares(x, lanes, labels, palette) {
    const { floats, kernels } = this.machine, top = Math.max(1, Math.floor(SHARE * labels + 0.5));
    const reached = this.separate(x, lanes, labels, top, top), count = palette.groups.length;
    floats.fill(0, this.grouped, this.grouped + count * 4);
    kernels.grouped(x, this.e, labels, this.bounds, palette.at, this.grouped);
    return reached.slice(0, lanes).map((many, lane) => {
      const sums = Array.from({ length: count }, (_, group) => floats[this.grouped + group * 4 + lane]);
      if (many > top) this.withoutLast(x, lane, labels, many - top, palette, sums);
      const dominant = Math.max(...sums), all = sums.reduce((sum, one) => sum + one, 0);
      return { group: sums.indexOf(dominant), share: dominant / all };
    });
  }

  /**
   * Take the last of labels that equal the bound out of the sums again.
   * @param {number} x @param {number} lane @param {number} labels @param {number} excess @param {Palette} palette
   * @param {number[]} sums
   */
  withoutLast(x, lane, labels, excess, palette, sums) {
    const { floats } = this.machine, bound = floats[this.bounds + lane];
    for (let label = labels - 1; label >= 0 && excess > 0; label--) {
      if (floats[x + label * 4 + lane] !== bound) continue;
      sums[palette.groupOf[label]] -= floats[this.e + label * 4 + lane];
      excess--;
    }
  }

  /**
   * The rectangle of numbers has the colour of the bin in which the median lies, and fades the less the state tells.
   * @param {number} lane @param {number} labels @param {number} sum @param {number} entropy @param {Palette} palette
   * @param {import("./text.js").Scale} scale
   */
  onAxis(lane, labels, sum, entropy, palette, scale) {
    const { floats } = this.machine;
    const p = Array.from({ length: labels }, (_, label) => floats[this.e + label * 4 + lane] / sum);
    const half = p.reduce((total, one) => total + one, 0) / 2;
    let median = 0;
    for (let upTo = p[0]; upTo < half && median < labels - 1; upTo += p[median]) median++;
    const share = Math.min(Math.max(1 - entropy / Math.log2(labels), 0), 1);
    return { group: palette.groupOf[median], share, numbers: [meanOf(scale, p), ...intervalOf(scale, p)] };
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
      const top = logits.map((_, label) => label).sort((a, b) => logits[b] - logits[a] || a - b).slice(0, BARS);
      const entropy = logits.reduce((bits, logit) => bits + binaryBits(logit), 0), probabilities = top.map((k) => sigmoid(logits[k]));
      return { labels: top, probabilities, highest: logits[top[0]], group: palette.groupOf[top[0]],
        share: probabilities[0], entropy, numbers: null };
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
