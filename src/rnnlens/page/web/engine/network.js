// The network: what a word is read as, recurrent layers in one or both directions, and the maps to its prediction. Like
// rnnlens/model/network.py it gives every kind by name.

import { Refusal } from "../base/refusal.js";
import { TEXTS } from "../base/rules.js";
import { Block } from "./blocks.js";
import { CELLS } from "./cells.js";
import { RECURRENCES } from "./recurrences.js";

/** @typedef {import("./cells.js").Change} Change */
/** @typedef {import("./manifest.d.ts").LayerJson} LayerJson */
/** @typedef {import("./manifest.d.ts").NetworkJson} NetworkJson */
/** @typedef {import("./text.js").Text} Text */
/** @typedef {() => Promise<void>} Pause lets others have their turn; fails where nobody waits any more */
/** @typedef {Map<string, Float32Array[]>} States of each kind, one for each timestep */
/** @typedef {Map<string, Float32Array>} Carried of each kind that the next timestep needs */
/** @typedef {(state: Float32Array) => Float32Array} StateChange from a state to the one in its place */
/** @typedef {Map<number, Map<string, StateChange>>} StateEdits by timestep and by kind */

export const PREDICTION = TEXTS.prediction; // the id of the model's own prediction
export const INPUT = TEXTS.embedding; // the id of what the first layer reads

export class Network {
  /** @param {NetworkJson} json @param {Kind[]} kinds @param {Text} text @param {Machine} machine */
  constructor(json, kinds, text, machine) {
    this.json = json;
    /** Kinds that are just the outputs of both directions side by side. */
    this.joined = kinds.filter(({ letter }) => letter === TEXTS.joined);
    this.text = text;
    this.machine = machine;
    this.embedding = machine.tensors.perhaps(json.embedding);
    this.layers = json.layers.map((layer) => {
      if (Object.hasOwn(RECURRENCES, layer.cell)) return new Block(layer, machine);
      if (Object.hasOwn(CELLS, layer.cell)) return new Layer(layer, machine);
      throw new Refusal(`the file has a layer of ${layer.cell}, of which its page has no equations; publish the lens again`);
    });
    this.maps = json.maps.map(({ weight, bias }) => ({
      weight: machine.tensors.matrix(weight),
      bias: bias === null ? null : machine.tensors.vector(bias),
    }));
    /** Whether it is answered as a model of which it is known that a state depends on nothing after it. */
    this.causal = json.causal;
    /** Whether that is so: of a user's module Python does not know. */
    this.forwards = !json.whole && json.layers.every((layer) => !layer.reverse);
    this.alike = true; // whether all texts begin with the same states
    /** The kinds that the next timestep needs. */
    this.carried = json.layers.flatMap((layer) => layer.carried.map((letter) => layer.ids[letter]));
    const widest = Math.max(0, ...this.maps.flatMap(({ weight }) => [weight.stride, weight.rows]));
    this.in = machine.room.take(widest);
    this.out = machine.room.take(widest);
    this.last = machine.room.take(this.maps[this.maps.length - 1]?.weight.rows ?? 0);
  }

  /** What memories were before the first word, where these are not zeros. @param {Kind[]} _kinds @param {States} _states @returns {Map<string, Float32Array>} */
  began(_kinds, _states) {
    return new Map();
  }

  /** A state of a kind before anything is read. @param {string} kind @returns {Float32Array} */
  zeros(kind) {
    const joined = this.joined.find(({ id }) => id === kind);
    if (joined) return sideBySide(joined.sources.map((source) => this.zeros(source.kind)));
    const layer = this.layers.find((one) => Object.values(one.json.ids).includes(kind));
    const letter = layer && Object.keys(layer.json.ids).find((one) => layer.json.ids[one] === kind);
    const inputs = this.embedding?.columns ?? this.text.features;
    return new Float32Array(layer ? layer.widthOf(letter ?? "") : inputs);
  }

  /**
   * The states of every kind after the words first..last-1, going on from what was carried into the first, and what the
   * prediction is made of as `y`. Where words are read backwards, all of them are asked for.
   * @param {number[]} ids @param {number} first @param {number} last @param {Carried | null} start
   * @param {StateEdits | null} edits @param {Pause} pause @returns {Promise<States>}
   */
  async states(ids, first, last, start, edits, pause) {
    /** @type {(t: number) => Change} */
    const changes = (t) => (kind, value) => edits?.get(t)?.get(kind)?.(value) ?? value;
    /** @type {States} */
    const states = new Map([[INPUT, []]]);
    for (let t = first; t < last; t++) of(states, INPUT).push(changes(t)(INPUT, this.input(ids, t)));
    for (const layer of this.layers) {
      const { ids: kinds, below, reverse } = layer.json, count = last - first;
      for (const kind of Object.values(kinds)) states.set(kind, new Array(count));
      let prev = layer.before(start);
      for (let k = 0; k < count; k++) {
        const at = reverse ? count - 1 - k : k, edit = changes(first + at);
        const x = sideBySide(below.map((kind) => of(states, kind)[at]));
        prev = layer.step(x, prev, (letter, value) => edit(kinds[letter], value));
        for (const [letter, kind] of Object.entries(kinds)) of(states, kind)[at] = prev[letter];
        await pause();
      }
    }
    for (const { id, sources } of this.joined) {
      states.set(id, Array.from({ length: last - first }, (_, at) =>
        changes(first + at)(id, sideBySide(sources.map(({ kind }) => of(states, kind)[at])))));
    }
    if (this.json.tops.length) states.set(PREDICTION, this.tops(states, last - first));
    return states;
  }

  /** What is read at a timestep. @param {number[]} ids @param {number} t */
  input(ids, t) {
    const { mark } = this.text, number = mark === null ? ids[t] : t ? ids[t - 1] : mark;
    if (!this.embedding) return Float32Array.from(this.text.values(number));
    const { at, stride, columns } = this.embedding, row = at + number * stride;
    return this.machine.floats.slice(row, row + columns);
  }

  /** What the prediction at each timestep is made of. @param {States} states @param {number} count */
  tops(states, count) {
    const { tops, whole } = this.json;
    const backwards = new Set(this.json.layers.filter((layer) => layer.reverse).map((layer) => layer.ids.h));
    const end = (/** @type {string} */ kind) => (backwards.has(kind) ? 0 : count - 1); // where all has been read
    return Array.from({ length: count }, (_, t) =>
      sideBySide(tops.map((kind) => of(states, kind)[whole ? end(kind) : t])));
  }

  /** The constants of the prediction. */
  get bias() {
    return this.maps[this.maps.length - 1].bias;
  }

  /**
   * Add the prediction without its constants to every step-th number of the memory.
   * @param {Float32Array} y @param {number} at @param {number} step
   */
  predict(y, at, step) {
    const { machine, maps } = this, { floats, kernels } = machine;
    let x = y;
    for (const { weight, bias } of maps.slice(0, -1)) {
      machine.put(x, this.in, weight.stride);
      floats.fill(0, this.out, this.out + weight.rows);
      if (bias) floats.set(bias, this.out);
      kernels.product(weight.at, this.in, this.out, weight.rows, weight.stride, 1);
      x = floats.slice(this.out, this.out + weight.rows);
    }
    const { weight } = maps[maps.length - 1];
    machine.put(x, this.in, weight.stride);
    kernels.product(weight.at, this.in, at, weight.rows, weight.stride, step);
  }

  /** What the logit of a label is of the states that it is made of: weights · states + constant. @param {number} label */
  row(label) {
    const { floats } = this.machine;
    let weights = Float64Array.of(1), constant = 0;
    for (const { weight: { at, stride, columns, rows }, bias } of [...this.maps].reverse()) {
      const first = rows > weights.length ? label : 0; // of the last map only one row
      const before = new Float64Array(columns);
      weights.forEach((factor, k) => {
        constant += factor * (bias?.[first + k] ?? 0);
        for (let j = 0; j < columns; j++) before[j] += factor * floats[at + (first + k) * stride + j];
      });
      weights = before;
    }
    return { weights, constant };
  }

  /** The prediction apart from the memory, with its constants. @param {Float32Array} y */
  prediction(y) {
    const { floats } = this.machine, { rows } = this.maps[this.maps.length - 1].weight;
    floats.fill(0, this.last, this.last + rows);
    if (this.bias) floats.set(this.bias, this.last);
    this.predict(y, this.last, 1);
    return floats.slice(this.last, this.last + rows);
  }
}

/** One layer and direction. */
class Layer {
  /** @param {LayerJson} json @param {Machine} machine */
  constructor(json, machine) {
    const { tensors, room } = machine, { w_x, w_h, w_p, b_x, b_h } = json.weights;
    this.json = json;
    this.machine = machine;
    this.wx = tensors.matrix(w_x);
    this.wh = tensors.matrix(w_h);
    this.wp = tensors.perhaps(w_p ?? null);
    this.bx = b_x === undefined ? null : tensors.vector(b_x);
    this.bh = b_h === undefined ? null : tensors.vector(b_h);
    this.gates = /** @type {Record<string, number>} */ ({ lstm: 4, gru: 3, rnn: 1, relu: 1 })[json.cell];
    this.in = room.take(Math.max(this.wx.stride, this.wh.stride, this.wp?.stride ?? 0));
    this.out = room.take(this.wx.rows);
  }

  /** A layer of another sort, which this is not. @returns {null} */
  get block() {
    return null;
  }

  /** How many numbers the states of a kind have. @param {string} letter */
  widthOf(letter) {
    return letter === this.json.output ? this.wh.columns : this.wx.rows / this.gates;
  }

  /** What is carried into the first timestep: zeros, unless more was read before. @param {Carried | null} start */
  before(start) {
    const { carried, ids } = this.json;
    return Object.fromEntries(carried.map((letter) =>
      [letter, start?.get(ids[letter]) ?? new Float32Array(this.widthOf(letter))]));
  }

  /** @param {Float32Array} x @param {import("./cells.js").Letters} prev @param {Change} edit */
  step(x, prev, edit) {
    const sums = {
      a: this.product(this.wx, x, this.bx),
      u: this.product(this.wh, prev.h, this.bh),
      projected: (/** @type {Float32Array} */ h) => (this.wp ? this.product(this.wp, h, null) : h),
    };
    return CELLS[this.json.cell](sums, prev, edit);
  }

  /** @param {Matrix} weight @param {Float32Array} x @param {Float32Array | null} bias */
  product(weight, x, bias) {
    const { machine } = this, { floats, kernels } = machine;
    machine.put(x, this.in, weight.stride);
    if (bias) floats.set(bias, this.out);
    else floats.fill(0, this.out, this.out + weight.rows);
    kernels.product(weight.at, this.in, this.out, weight.rows, weight.stride, 1);
    return floats.slice(this.out, this.out + weight.rows);
  }
}

/** The states of a kind. @param {States} states @param {string} kind */
export function of(states, kind) {
  const found = states.get(kind);
  if (!found) throw new Error(`${kind} is read before it is computed`);
  return found;
}

/** @param {Float32Array[]} parts */
export function sideBySide(parts) {
  if (parts.length === 1) return parts[0];
  const joined = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}
