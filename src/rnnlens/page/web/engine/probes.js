// The probes of all kinds under one semantic, as rnnlens/probe/probes.py has them: what a state of some kind says about
// the labels.

import { LISTS } from "../base/rules.js";
import { groupsOf } from "./plain.js";
import { Questions } from "./questions.js";
import { refusal } from "./refusals.js";

/** @typedef {import("./manifest.d.ts").ProbesJson} ProbesJson */
/** @typedef {import("./manifest.d.ts").StackJson} StackJson */
/** @typedef {{mean: Float32Array, scale: Float32Array, map: Matrix, bias: Float32Array, labelBias: Float32Array | null, questions: Questions | null}} Probe */

export class Probes {
  /** @param {ProbesJson} json @param {Machine} machine */
  constructor(json, machine) {
    const { tensors } = machine;
    this.kinds = json.kinds;
    /** @type {Map<string, {deviation: Float32Array, packed: Float32Array} | null>} */
    this.spreads = new Map(Object.entries(json.spreads).map(([kind, spread]) =>
      [kind, spread && { deviation: tensors.vector(spread.deviation), packed: tensors.vector(spread.packed) }]));
    /** @type {Map<string, Stack>} */
    this.stacks = new Map(Object.entries(json.stacks).map(([semantic, stack]) => [semantic, new Stack(stack, machine)]));
  }

  /** @param {string} semantic */
  stack(semantic) {
    const found = this.stacks.get(semantic);
    if (!found) throw new Error(`there are no probes for ${semantic}`);
    return found;
  }

  /**
   * What the logit of a label is of a state: weights and a constant, so that it is weights · state + constant.
   * @param {string} kind @param {number} label @param {string} semantic
   */
  row(kind, label, semantic) {
    return this.stack(semantic).row(this.kinds.indexOf(kind), label);
  }

  /** How the states of a kind vary: deviations, and correlations by rows of the lower triangle. @param {string} kind @param {string} semantic */
  spread(kind, semantic) {
    const found = this.spreads.get(kind);
    if (found) return found;
    const asked = this.stack(semantic).probes[this.kinds.indexOf(kind)].questions;
    throw refusal(asked ? "edit_asked" : found === null ? "edit_left_out" : "edit_no_spread", { kind });
  }
}

/**
 * Shared probes map a state to a few coordinates, and all kinds share one matrix of labels; linear ones map it straight
 * to the labels. The kinds lie in groups of four side by side.
 */
export class Stack {
  /** @param {StackJson} json @param {Machine} machine */
  constructor({ labels, common, kinds, limits, widths }, machine) {
    const { tensors, room } = machine, shared = common === null ? null : tensors.vector(common);
    this.machine = machine;
    this.limits = limits;
    this.widths = widths ?? null;
    this.sizes = new Float32Array(kinds.length); // of the states that were added last
    this.labels = tensors.perhaps(labels);
    /** @type {Probe[]} */
    this.probes = kinds.map((one) => ({
      mean: tensors.vector(one.mean),
      scale: tensors.vector(one.scale),
      map: tensors.matrix(one.map),
      bias: tensors.vector(one.bias),
      questions: one.questions ? new Questions(one.questions, tensors.vector(one.questions.weight)) : null,
      labelBias: one.label_bias === null ? null : tensors.vector(one.label_bias).map((own, label) => own + (shared?.[label] ?? 0)),
    }));
    this.count = this.labels?.rows ?? this.probes[0].map.rows; // of labels
    this.in = room.take(Math.max(...this.probes.map(({ map }) => map.stride)));
    this.narrow = room.take((this.labels?.stride ?? 0) * (kinds.length + 1)); // coordinates, of groups and of those left over
  }

  /** What each label has of its own under a kind. @param {number} k */
  constants(k) {
    const { bias, labelBias } = this.probes[k];
    return labelBias ?? bias;
  }

  /**
   * Add what the states of some kinds say to a block of logits that holds the constants.
   * @param {number[]} kinds their numbers @param {Float32Array[]} states @param {number} block
   */
  add(kinds, states, block) {
    const { labels, machine, narrow } = this, { floats, kernels } = machine, groups = groupsOf(kinds.length);
    kinds.forEach((kind, k) => {
      const { map, bias } = this.probes[kind], group = k >> 2, lane = k & 3, own = block + group * this.count * 4 + lane;
      const x = this.prepared(kind, states[k]);
      this.sizes[kind] = sizeOf(x);
      machine.put(x, this.in, map.stride);
      if (!labels) return kernels.product(map.at, this.in, own, map.rows, map.stride, 4);
      const start = narrow + group * labels.stride * 4, [at, step] = group < groups ? [start + lane, 4] : [start + lane * labels.stride, 1];
      for (let j = 0; j < labels.stride; j++) floats[at + step * j] = bias[j] ?? 0;
      kernels.product(map.at, this.in, at, map.rows, map.stride, step);
    });
    if (!labels) return;
    for (let empty = kinds.length; empty < 4 * groups; empty++) { // beside these stands the prediction, to which nothing is added
      const at = narrow + (empty >> 2) * labels.stride * 4 + (empty & 3);
      for (let j = 0; j < labels.stride; j++) floats[at + 4 * j] = 0;
    }
    kernels.products(labels.at, narrow, block, labels.rows, labels.stride, kinds.length);
  }

  /**
   * Where the state of a kind that was added last is unlike those of the fit, its size and the sizes of those.
   * @param {number} k @returns {[size: number, low: number, high: number] | null}
   */
  outside(k) {
    const [low, high] = this.limits?.[k] ?? [0, Infinity], size = this.sizes[k];
    return size < low || size > high ? [size, low, high] : null;
  }

  /** What the interval of a kind is widened by at a timestep; y comes after all kinds. @param {number} k @param {number} t */
  width(k, t) {
    const widths = this.widths?.[k], group = LISTS.interval_steps.filter((end) => end < Math.max(t, 0) + 1).length;
    return widths ? widths[Math.min(group, widths.length - 1)] : 1;
  }

  /** A state as its map takes it. @param {number} k @param {Float32Array} state */
  prepared(k, state) {
    const { mean, scale, questions } = this.probes[k], read = questions ? questions.answers(state) : state;
    return read.map((value, unit) => (value - mean[unit]) / scale[unit]);
  }

  /** @param {number} k @param {number} label */
  row(k, label) {
    const { map, bias, mean, scale, questions } = this.probes[k], { floats } = this.machine;
    const weights = new Float64Array(map.columns);
    let constant = this.constants(k)[label];
    const rows = this.labels ? map.rows : 1;
    for (let j = 0; j < rows; j++) {
      const factor = this.labels ? floats[this.labels.at + label * this.labels.stride + j] : 1;
      const at = map.at + (this.labels ? j : label) * map.stride;
      for (let unit = 0; unit < map.columns; unit++) weights[unit] += factor * floats[at + unit];
      if (this.labels) constant += factor * bias[j];
    }
    for (let unit = 0; unit < map.columns; unit++) {
      weights[unit] /= scale[unit];
      constant -= weights[unit] * mean[unit];
    }
    return { weights: questions ? questions.lifted(weights) : weights, constant };
  }
}

/** The root mean square of a standardised state. @param {Float32Array} x */
function sizeOf(x) {
  let sum = 0;
  for (const value of x) sum += value * value;
  return Math.sqrt(sum / x.length);
}
