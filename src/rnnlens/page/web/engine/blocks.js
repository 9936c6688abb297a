// A linear memory with all that stands around it in a trained layer, one timestep: a norm, perhaps a short convolution, the
// memory, a scale of what is read, and a residual, as in rnnlens/model/block.py. Beside its step a layer has what goes back:
// from the output to the memory, from the memory to the one before, and to the input with gates held.

import { Refusal } from "../base/refusal.js";
import { rootMeanSquare } from "./curves.js";
import { times } from "./linear.js";
import { RECURRENCES, TAPS } from "./recurrences.js";
import { isWithin } from "./refusals.js";

/** @typedef {import("./cells.js").Letters} Letters */
/** @typedef {import("./cells.js").Change} Change */
/** @typedef {import("./linear.js").Numbers} Numbers */
/** @typedef {import("./linear.js").Shape} Shape */
/** @typedef {import("./linear.js").StateOf} StateOf */
/** @typedef {import("./manifest.d.ts").LayerJson} LayerJson */
/** @typedef {{now: StateOf, past: StateOf, input: Float64Array}} Moment what a layer did at a word and at the one before, and its input */
/** @typedef {(letter: string) => Float64Array} SlopeOf what a unit of a kind counts for */
/** @typedef {{input: Float64Array, before: Record<string, Float64Array>}} Passed what the input counts for, and the kinds one word before */

const ELEMENTWISE = ["conv", "A", "D", "mix"]; // of more axes than one, and no matrix that a vector is multiplied with

/** One layer and direction. */
export class Block {
  /** @param {LayerJson} json @param {Machine} machine */
  constructor(json, machine) {
    const { tensors, room } = machine, weights = /** @type {Record<string, number>} */ (json.weights);
    this.json = json;
    this.machine = machine;
    this.cell = RECURRENCES[json.cell];
    this.family = this.cell.family;
    /** @type {Record<string, Float32Array>} */ this.arrays = {};
    /** @type {Record<string, Matrix>} */ this.matrices = {};
    for (const [name, number] of Object.entries(weights)) {
      if (ELEMENTWISE.includes(name) || tensors.layouts[number].shape.length === 1) this.arrays[name] = tensors.vector(number);
      else this.matrices[name] = tensors.matrix(number);
    }
    this.inputs = tensors.layouts[weights.norm]?.shape[0] ?? 0;
    this.width = this.matrices.w_h?.rows ?? 0;
    /** @type {Shape} */ this.shape = this.shaped();
    this.check(tensors);
    const every = Object.values(this.matrices);
    this.in = room.take(Math.max(...every.map(({ stride }) => stride)));
    this.out = room.take(Math.max(...every.map(({ rows }) => rows)));
    machine.whenStarted(() => this.checkStates());
  }

  /** Itself: whoever has some layer asks for it. @returns {Block} */
  get block() {
    return this;
  }

  /** Heads, keys and values: of a matrix as memory; of a vector its heads have one key. @returns {Shape} */
  shaped() {
    const { family: { question, keysLast = false }, json: { sizes }, width, matrices: { w_s } } = this;
    const [heads = 1, ...others] = question ? sizes?.S ?? [] : [w_s ? width / w_s.columns : 1, 1, width];
    const [keys = 1, values = 1] = keysLast ? [...others].reverse() : others; // a channel of Mamba has one value
    return { heads, keys, values: question ? values : width / heads, keysLast };
  }

  /** Refuse weights that do not fit together. @param {import("./unpack.js").Tensors} tensors */
  check(tensors) {
    const { json, inputs, width, shape, cell } = this, weights = /** @type {Record<string, number>} */ (json.weights);
    const wanted = { norm: [inputs], w_h: [width, width], ...(inputs === width ? {} : { w_r: [width, inputs] }), ...cell.shapes({ inputs, width, ...shape }) };
    const given = Object.entries(weights).map(([name, number]) => `${name} ${tensors.layouts[number]?.shape.join(" x ")}`);
    const wrong = given.concat(Object.entries(wanted).map(([name, size]) => `${name} ${size.join(" x ")}`))
      .find((one, _, all) => all.filter((other) => other === one).length < 2);
    if (wrong || shape.heads * shape.values !== width) throw this.damaged(wrong ?? `${shape.heads} heads of ${shape.values} values`);
    const most = width * shape.keys, large = Object.keys(json.sizes ?? {}).find((letter) => !isWithin(this.widthOf(letter), 1, most));
    if (large) throw this.damaged(`${this.widthOf(large)} numbers of ${large}`);
  }

  /** Refuse states that are not as large as the file says: those of a word before which nothing was read. */
  checkStates() {
    const { ids } = this.json;
    /** @type {Letters} */ let states = {};
    try {
      states = this.step(new Float32Array(this.inputs), this.before(null), (_letter, value) => value);
    } catch {
      throw this.damaged("its states cannot be computed");
    }
    const wrong = Object.keys(ids).find((letter) => states[letter]?.length !== this.widthOf(letter));
    if (wrong) throw this.damaged(`${states[wrong]?.length ?? "no"} numbers of ${wrong}`);
  }

  /** @param {string} what */
  damaged(what) {
    return new Refusal(`the file has a layer of ${this.json.cell} whose parts do not fit together (${what}); publish the lens again`);
  }

  /** How many numbers the states of a kind have. @param {string} letter */
  widthOf(letter) {
    const size = this.json.sizes?.[letter], { conv } = this.arrays, seen = conv ? conv.length / TAPS : this.inputs;
    if (size) return size.reduce((product, one) => product * one, 1);
    return letter === "p" ? (conv ? TAPS - 1 : 1) * seen : letter === "u" ? seen : this.width;
  }

  /** What is carried into the first timestep, unless more was read before. @param {Map<string, Float32Array> | null} start @returns {Letters} */
  before(start) {
    const { carried, ids } = this.json;
    return Object.fromEntries(carried.map((letter) =>
      [letter, start?.get(ids[letter]) ?? new Float32Array(this.widthOf(letter)).fill(this.cell.first?.[letter] ?? 0)]));
  }

  /** Every kind at a timestep. @param {Float32Array} x @param {Letters} prev @param {Change} edit @returns {Letters} */
  step(x, prev, edit) {
    const { family, cell } = this, own = cell.given(this, this.normed(x), prev, edit), every = this.remembered(own, prev, edit);
    const now = (/** @type {string} */ letter) => every[letter], scale = cell.scale(this, now), beside = cell.beside?.(this, now);
    const mixed = now(family.output).map((value, k) => value * (scale?.[k] ?? 1) + (beside?.[k] ?? 0));
    const skipped = this.matrices.w_r ? this.product("w_r", x) : x;
    const t = edit("t", this.product("w_h", mixed).map((value, k) => value + skipped[k])), factor = rootMeanSquare(t, 0, t.length);
    return { ...every, t, h: edit("h", t.map((value) => value * factor)) };
  }

  /** What becomes of the memories, and what is read of them. @param {Letters} own what is given @param {Letters} prev @param {Change} edit @returns {Letters} */
  remembered(own, prev, edit) {
    const { family, json } = this, every = { ...own }, now = (/** @type {string} */ letter) => every[letter];
    for (const [letter, value] of Object.entries(family.gates(this, now, prev))) every[letter] = edit(letter, value);
    const change = family.transition(this, now);
    for (const [memory, { kept, write, erased }] of Object.entries(json.memories)) {
      const left = times(prev[memory], change.decay);
      if (erased) {
        const gone = every[erased] = edit(erased, change.erased(prev[memory]));
        for (let k = 0; k < left.length; k++) left[k] -= gone[k];
      }
      every[kept] = edit(kept, left);
      every[write] ??= edit(write, family.write(this, memory, now));
      const added = every[write];
      every[memory] = edit(memory, every[kept].map((value, k) => value + added[k]));
    }
    if (!(family.output in json.memories)) every[family.output] = edit(family.output, family.read(this, now, now));
    return every;
  }

  /** @param {string} name @param {Float32Array} x @param {Float32Array | null} bias @param {number} first row @param {number} rows */
  product(name, x, bias = null, first = 0, rows = this.matrices[name].rows) {
    const { machine } = this, { floats, kernels } = machine, { at, stride } = this.matrices[name];
    machine.put(x, this.in, stride);
    if (bias) floats.set(bias, this.out);
    else floats.fill(0, this.out, this.out + rows);
    kernels.product(at + first * stride, this.in, this.out, rows, stride, 1);
    return floats.slice(this.out, this.out + rows);
  }

  /** What columns of a matrix count for, where rows from the first on count for so much. @param {string} name @param {Numbers} slope @param {number} first */
  transposed(name, slope, first = 0) {
    const { floats } = this.machine, { at, columns, stride } = this.matrices[name], found = new Float64Array(columns);
    for (let row = 0; row < slope.length; row++) {
      const x = slope[row], from = at + (first + row) * stride;
      for (let k = 0; k < columns; k++) found[k] += x * floats[from + k];
    }
    return found;
  }

  /** What the normed input is of the input, number by number. @param {Numbers} x */
  lines(x) {
    const factor = rootMeanSquare(x, 0, x.length), { norm } = this.arrays;
    return Float64Array.from(norm, (one) => one * factor);
  }

  /** @param {Float32Array} x */
  normed(x) {
    const lines = this.lines(x);
    return x.map((value, k) => value * lines[k]);
  }

  /** The convolution of an input and those before it, and what of these is carried on. @param {Float32Array} x @param {Float32Array} past */
  convolved(x, past) {
    const count = x.length, p = new Float32Array(past.length), summed = new Float32Array(count), { conv, b_conv } = this.arrays;
    p.set(past.subarray(count));
    p.set(x, p.length - count);
    for (let k = 0; k < count; k++) {
      let sum = b_conv[k] + conv[k * TAPS + TAPS - 1] * x[k];
      for (let tap = 0; tap < TAPS - 1; tap++) sum += conv[k * TAPS + tap] * past[tap * count + k];
      summed[k] = sum;
    }
    return { p, summed };
  }

  /** The convolution of a word that was read. @param {Moment} moment */
  summed({ now, past }) {
    return this.convolved(now("p").subarray(-this.arrays.conv.length / TAPS), past("p")).summed;
  }

  /** Of each head of what was read, what brings the mean of its squares to 1, times a weight and a gate. @param {Numbers} read @param {Numbers | null} gate */
  ofHeads(read, gate) {
    const { heads, values } = this.shape, { norm_r } = this.arrays, factors = Array.from({ length: heads }, (_, h) => rootMeanSquare(read, h * values, values));
    return times(Float64Array.from(norm_r, (weight, k) => weight * (gate?.[k] ?? 1)), factors);
  }

  /** What the residual sum is multiplied with in the output. @param {StateOf} now */
  factor(now) {
    const t = now("t");
    return rootMeanSquare(t, 0, t.length);
  }

  /** What the residual sum counts for where the output does, with its factor held. @param {Numbers} through @param {StateOf} now */
  sumBack(through, now) {
    const factor = this.factor(now);
    return Float64Array.from(through, (x) => x * factor);
  }

  /** What of the read counts for so much where the residual sum does, once it is scaled and before. @param {Numbers} through @param {StateOf} now */
  mixedBack(through, now) {
    const mixed = this.transposed("w_h", through), scale = this.cell.scale(this, now);
    return { mixed, read: scale ? mixed.map((x, k) => x * scale[k]) : mixed };
  }

  /** What a unit of the memory counts for where one of what is read of it does. @param {Float64Array} through @param {StateOf} now */
  asked(through, now) {
    return this.family.asked(this, through, now);
  }

  /** What a unit of the memory counts for where one of the output does. @param {Numbers} through @param {StateOf} now */
  readBack(through, now) {
    return this.asked(this.mixedBack(this.sumBack(through, now), now).read, now);
  }

  /** What of what is read comes from no memory. @param {StateOf} now */
  readUnstored(now) {
    return this.family.direct(this, now) ?? new Float64Array(now(this.family.output).length);
  }

  /** What a unit of a memory before a word counts for where one after it does. @param {Float64Array} through @param {StateOf} now */
  back(through, now) {
    return this.family.transition(this, now).back(through);
  }

  /** What of the output comes from no memory. @param {StateOf} now */
  unstored(now) {
    const { family, cell } = this, scale = cell.scale(this, now), beside = family.direct(this, now), factor = this.factor(now);
    const stored = this.product("w_h", now(family.output).map((value, k) => (value - (beside?.[k] ?? 0)) * (scale?.[k] ?? 1)));
    return now("h").map((value, k) => value - factor * stored[k]);
  }

  /** What input and past count for with gates held. @param {Moment} moment @param {SlopeOf} slope @returns {Passed} */
  held(moment, slope) {
    const { family, cell, json } = this, [[memory, { kept }]] = Object.entries(json.memories), output = this.sumBack(slope("h"), moment.now);
    const { mixed, read: scaled } = this.mixedBack(output, moment.now), own = memory === family.output ? null : slope(family.output);
    const read = own ? scaled.map((x, k) => x + own[k]) : scaled;
    const asked = family.asked(this, read, moment.now), whole = slope(memory).map((x, k) => x + asked[k]);
    const into = cell.into(this, whole, { read, mixed }, moment);
    /** @type {Record<string, Float64Array>} */
    const before = { [memory]: this.back(slope(kept).map((x, k) => x + whole[k]), moment.now), ...into.before };
    const normed = new Float64Array(this.inputs);
    const add = (/** @type {Float64Array} */ some) => some.forEach((x, k) => { normed[k] += x; });
    if (into.normed) add(into.normed);
    if (into.convolved) {
      const { past, now } = this.convolvedBack(into.convolved, slope("p")), first = cell.branch?.(this.shape);
      before.p = past;
      add(first === undefined ? now : this.transposed("w_x", now, first));
    } else if ("p" in json.ids && !this.arrays.conv) add(slope("p")); // which is the normed input itself
    const lines = this.lines(moment.input), around = this.matrices.w_r ? this.transposed("w_r", output) : output;
    return { input: normed.map((x, k) => x * lines[k] + around[k]), before };
  }

  /** What past inputs and that of a word count for, where its convolution and what is carried on count for so much. @param {Float64Array} summed @param {Float64Array} later */
  convolvedBack(summed, later) {
    const count = summed.length, past = new Float64Array(later.length), now = new Float64Array(count), { conv } = this.arrays;
    for (let k = 0; k < count; k++) {
      for (let tap = 0; tap < TAPS - 1; tap++) {
        past[tap * count + k] = summed[k] * conv[k * TAPS + tap] + (tap ? later[(tap - 1) * count + k] : 0);
      }
      now[k] = summed[k] * conv[k * TAPS + TAPS - 1] + later[(TAPS - 2) * count + k];
    }
    return { past, now };
  }
}
