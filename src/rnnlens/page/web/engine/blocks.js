// Cells with a linear memory between a norm and an output map, one timestep, every kind by its letter: the equations of
// rnnlens/model/block.py and of the cells in rnnlens/model/cells that say that they are here. Beside its step, a cell has
// what goes back: from the output to the memory, from the memory to the one before, and to the input with gates held.

/** @typedef {import("./cells.js").Letters} Letters */
/** @typedef {import("./cells.js").Change} Change */
/** @typedef {import("./manifest.d.ts").LayerJson} LayerJson */
/** @typedef {ArrayLike<number>} Numbers */
/** @typedef {(letter: string) => Float32Array} StateOf a layer's state of a kind at a word */
/** @typedef {{now: StateOf, past: StateOf, input: Float64Array}} Moment what a layer did at a word and at the one before, and its input */
/** @typedef {(letter: string) => Float64Array} SlopeOf what a unit of a kind counts for */
/** @typedef {{input: Float64Array, before: Record<string, Float64Array>}} Passed what the input counts for, and the kinds one word before */
/**
 * @typedef {object} Cell
 * @property {string} memory its letter
 * @property {boolean} mapped whether what is convolved is the input after a map
 * @property {(block: Block, x: Float32Array, prev: Letters, edit: Change) => Letters} step
 * @property {(block: Block, now: StateOf) => Float64Array} scale what is read is multiplied with
 * @property {(block: Block, through: Numbers, now: StateOf) => Float64Array} asked from the read to the memory
 * @property {(block: Block, through: Numbers, now: StateOf) => Float64Array} back from the memory to the one before
 * @property {(block: Block, slope: Numbers, moment: Moment) => Float64Array} written from the memory to what is convolved, or to the normed input
 */

const EPS = 1e-6, TAPS = 4, SLOW = 16; // as in Python
const NAMES = ["norm", "norm_r", "b_x", "b_a", "b_conv", "A"]; // of weights that are vectors

/** One layer and direction of such cells. */
export class Block {
  /** @param {LayerJson} json @param {Machine} machine */
  constructor(json, machine) {
    const { tensors, room } = machine, weights = /** @type {Record<string, number>} */ (json.weights);
    this.json = json;
    this.machine = machine;
    this.cell = BLOCKS[json.cell];
    /** @type {Record<string, Float32Array>} */ this.vectors = {};
    /** @type {Record<string, Matrix>} */ this.matrices = {};
    for (const [name, number] of Object.entries(weights)) {
      if (NAMES.includes(name)) this.vectors[name] = tensors.vector(number);
      else this.matrices[name] = tensors.matrix(number);
    }
    const every = Object.values(this.matrices);
    this.in = room.take(Math.max(...every.map(({ stride }) => stride)));
    this.out = room.take(Math.max(...every.map(({ rows }) => rows)));
  }

  /** Itself: whoever has some layer asks for it. @returns {Block} */
  get block() {
    return this;
  }

  get width() {
    return this.matrices.w_h.rows;
  }

  /** Heads, keys and values of a matrix as memory. @returns {number[]} */
  get parts() {
    return this.json.sizes?.S ?? [1, 1, this.width];
  }

  /** How many numbers the states of a kind have. @param {string} letter */
  widthOf(letter) {
    const size = this.json.sizes?.[letter], conv = this.matrices.conv?.rows ?? 0;
    if (size) return size.reduce((product, one) => product * one, 1);
    return letter === "p" ? (TAPS - 1) * conv : letter === "u" ? conv : this.width;
  }

  /** What is carried into the first timestep: zeros, unless more was read before. @param {Map<string, Float32Array> | null} start */
  before(start) {
    const { carried, ids } = this.json;
    return Object.fromEntries(carried.map((letter) =>
      [letter, start?.get(ids[letter]) ?? new Float32Array(this.widthOf(letter))]));
  }

  /** @param {Float32Array} x @param {Letters} prev @param {Change} edit */
  step(x, prev, edit) {
    return this.cell.step(this, x, prev, edit);
  }

  /** @param {string} name @param {Float32Array} x @param {Float32Array | null} bias */
  product(name, x, bias = null) {
    const { machine } = this, { floats, kernels } = machine, weight = this.matrices[name];
    machine.put(x, this.in, weight.stride);
    if (bias) floats.set(bias, this.out);
    else floats.fill(0, this.out, this.out + weight.rows);
    kernels.product(weight.at, this.in, this.out, weight.rows, weight.stride, 1);
    return floats.slice(this.out, this.out + weight.rows);
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
    const factor = rootMeanSquare(x, 0, x.length), { norm } = this.vectors;
    return Float64Array.from(norm, (one) => one * factor);
  }

  /** @param {Float32Array} x */
  normed(x) {
    const lines = this.lines(x);
    return x.map((value, k) => value * lines[k]);
  }

  /** The convolution of an input and those before it, and what of these is carried on. @param {Float32Array} x @param {Float32Array} past */
  convolved(x, past) {
    const count = x.length, p = new Float32Array(past.length), summed = new Float32Array(count);
    p.set(past.subarray(count));
    p.set(x, p.length - count);
    for (let k = 0; k < count; k++) {
      let sum = this.vectors.b_conv[k] + this.tap(k, TAPS - 1) * x[k];
      for (let tap = 0; tap < TAPS - 1; tap++) sum += this.tap(k, tap) * past[tap * count + k];
      summed[k] = sum;
    }
    return { p, summed };
  }

  /** A weight of the convolution. @param {number} channel @param {number} tap */
  tap(channel, tap) {
    const { at, stride } = this.matrices.conv;
    return this.machine.floats[at + channel * stride + tap];
  }

  /** The output. @param {Float32Array} x @param {Float32Array} mixed */
  residual(x, mixed) {
    const skipped = this.matrices.w_r ? this.product("w_r", x) : x, mapped = this.product("w_h", mixed);
    return mapped.map((value, k) => value + skipped[k]);
  }

  /** What a unit of the memory counts for where one of the output does. @param {Numbers} through @param {StateOf} now */
  readBack(through, now) {
    const scale = this.cell.scale(this, now);
    return this.cell.asked(this, this.transposed("w_h", through).map((x, k) => x * scale[k]), now);
  }

  /** What of the output comes from no memory. @param {StateOf} now */
  unstored(now) {
    const read = now(this.json.ids.r ? "r" : this.cell.memory), scale = this.cell.scale(this, now);
    const stored = this.product("w_h", read.map((value, k) => value * scale[k]));
    return now("h").map((value, k) => value - stored[k]);
  }

  /** What input and past count for with gates held. @param {Moment} moment @param {SlopeOf} slope @returns {Passed} */
  held(moment, slope) {
    const { memory } = this.cell, { kept } = this.json.memories[memory], output = slope("h"), { conv } = this.matrices;
    const asked = this.readBack(output, moment.now), whole = slope(memory).map((x, k) => x + asked[k]);
    const before = { [memory]: this.cell.back(this, slope(kept).map((x, k) => x + whole[k]), moment.now) };
    let into = this.cell.written(this, whole, moment);
    if (conv) {
      const later = slope("p"), count = conv.rows, past = new Float64Array(later.length), now = new Float64Array(count);
      for (let k = 0; k < count; k++) {
        for (let tap = 0; tap < TAPS - 1; tap++) {
          past[tap * count + k] = into[k] * this.tap(k, tap) + (tap ? later[(tap - 1) * count + k] : 0);
        }
        now[k] = into[k] * this.tap(k, TAPS - 1) + later[(TAPS - 2) * count + k];
      }
      Object.assign(before, { p: past });
      into = this.cell.mapped ? this.transposed("w_x", now) : now;
    }
    const lines = this.lines(moment.input), around = this.matrices.w_r ? this.transposed("w_r", output) : output;
    return { input: into.map((x, k) => x * lines[k] + around[k]), before };
  }
}

/** What all cells have whose memory is a vector that is its own read. */
function vector() {
  return {
    memory: "c", mapped: false,
    scale: (/** @type {Block} */ block) => new Float64Array(block.width).fill(1),
    asked: (/** @type {Block} */ _block, /** @type {Numbers} */ through) => Float64Array.from(through),
    back: (/** @type {Block} */ _block, /** @type {Numbers} */ through, /** @type {StateOf} */ now) =>
      Float64Array.from(through, (x, k) => x * now("a")[k]),
  };
}

/** What all cells have whose memory is a matrix of keys by values for every head, each normed when it is read. */
function matrix() {
  return {
    memory: "S", mapped: true,
    scale: (/** @type {Block} */ block, /** @type {StateOf} */ now) => ofHeads(block, now("r"), now("o")),
    asked: (/** @type {Block} */ block, /** @type {Numbers} */ through, /** @type {StateOf} */ now) => {
      const [heads, keys, values] = block.parts, q = now("q");
      return Float64Array.from({ length: heads * keys * values }, (_, at) => {
        const row = Math.floor(at / values), h = Math.floor(row / keys);
        return q[row] * through[h * values + (at % values)];
      });
    },
  };
}

/** What a vector keeps, becomes and gives. @param {Block} block @param {Float32Array} x @param {Letters} prev @param {{a: Float32Array, w: Float32Array}} given @param {Change} edit */
function remembered(block, x, prev, { a, w }, edit) {
  const k = edit("k", prev.c.map((value, at) => value * a[at])), c = edit("c", k.map((value, at) => value + w[at]));
  return { a, w, k, c, h: edit("h", block.residual(x, c)) };
}

/**
 * What is written to a matrix, what it becomes, what is read of it and what it gives.
 * @param {Block} block @param {Float32Array} x
 * @param {{q: Float32Array, key: Float32Array, v: Float32Array, o: Float32Array, k: Float32Array, strength: (head: number) => number}} given
 * @param {Change} edit
 */
function asked(block, x, { q, key, v, o, k, strength }, edit) {
  const [, keys, values] = block.parts;
  const w = edit("w", made(k.length, (at) => {
    const row = Math.floor(at / values), h = Math.floor(row / keys);
    return strength(h) * key[row] * v[h * values + (at % values)];
  }));
  const S = edit("S", k.map((value, at) => value + w[at]));
  const r = edit("r", Float32Array.from(toValues(block, S, q, () => 1))), scale = ofHeads(block, r, o);
  return { k, w, S, r, h: edit("h", block.residual(x, r.map((value, at) => value * scale[at]))) };
}

/** Keys times a memory, head by head. @param {Block} block @param {Numbers} memory @param {Numbers} keysOf @param {(head: number) => number} strength */
function toValues(block, memory, keysOf, strength) {
  const [heads, keys, values] = block.parts, found = new Float64Array(heads * values);
  for (let row = 0; row < heads * keys; row++) {
    const h = Math.floor(row / keys), factor = strength(h) * keysOf[row];
    for (let k = 0; k < values; k++) found[h * values + k] += factor * memory[row * values + k];
  }
  return found;
}

/** What is read is multiplied with this. @param {Block} block @param {Float32Array} r @param {Float32Array} o */
function ofHeads(block, r, o) {
  const [heads, , values] = block.parts, factors = Array.from({ length: heads }, (_, h) => rootMeanSquare(r, h * values, values));
  return Float64Array.from(o, (gate, k) => gate * block.vectors.norm_r[k] * factors[Math.floor(k / values)]);
}

/** @param {Numbers} x @param {number} first @param {number} count */
function rootMeanSquare(x, first, count) {
  let sum = 0;
  for (let k = first; k < first + count; k++) sum += x[k] * x[k];
  return 1 / Math.sqrt(sum / count + EPS);
}

/** Vectors of length 1, side by side. @param {Float32Array} x @param {number} size */
function units(x, size) {
  const factors = Array.from({ length: x.length / size }, (_, h) => rootMeanSquare(x, h * size, size));
  const lengths = factors.map((factor) => 1 / Math.sqrt((1 / factor ** 2 - EPS) * size + EPS));
  return x.map((value, k) => value * lengths[Math.floor(k / size)]);
}

/** @param {number} x */
function sigmoid(x) {
  return 1 / (1 + Math.exp(-x));
}

/** @param {number} x */
function silu(x) {
  return x * sigmoid(x);
}

/** @param {number} x */
function softplus(x) {
  return Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
}

/** @param {number} width @param {(k: number) => number} value */
function made(width, value) {
  const values = new Float32Array(width);
  for (let k = 0; k < width; k++) values[k] = value(k);
  return values;
}

/** @type {Record<string, Cell>} */
export const BLOCKS = {
  mingru: {
    ...vector(), step: (block, x, prev, edit) => {
      const { width } = block, { p, summed } = block.convolved(block.normed(x), prev.p);
      const past = edit("p", p), u = edit("u", summed), rows = block.product("w_x", u, block.vectors.b_x);
      const z = edit("z", made(width, (k) => sigmoid(rows[k]))), n = edit("n", rows.slice(width));
      const a = edit("a", z.map((value) => 1 - value)), w = edit("w", z.map((value, k) => value * n[k]));
      return { p: past, u, z, n, ...remembered(block, x, prev, { a, w }, edit) };
    },
    written: (block, slope, { now }) => block.transposed("w_x", Float64Array.from(slope, (x, k) => x * now("z")[k]), block.width),
  },
  minlstm: {
    ...vector(), step: (block, x, prev, edit) => {
      const { width } = block, { p, summed } = block.convolved(block.normed(x), prev.p);
      const past = edit("p", p), u = edit("u", summed), rows = block.product("w_x", u, block.vectors.b_x);
      const f = edit("f", made(width, (k) => sigmoid(rows[k]))), i = edit("i", made(width, (k) => sigmoid(rows[width + k])));
      const n = edit("n", rows.slice(2 * width)), a = edit("a", f.map((value, k) => value / (value + i[k] + EPS)));
      const w = edit("w", n.map((value, k) => (value * i[k]) / (f[k] + i[k] + EPS)));
      return { p: past, u, f, i, n, ...remembered(block, x, prev, { a, w }, edit) };
    },
    written: (block, slope, { now }) => {
      const f = now("f"), i = now("i");
      return block.transposed("w_x", Float64Array.from(slope, (x, k) => (x * i[k]) / (f[k] + i[k] + EPS)), 2 * block.width);
    },
  },
  gla: {
    ...matrix(), step: (block, x, prev, edit) => {
      const [heads, keys, values] = block.parts, all = heads * keys, width = heads * values;
      const rows = block.product("w_x", block.normed(x)), scale = keys ** -0.5;
      const q = edit("q", made(all, (k) => rows[k] * scale)), key = edit("K", rows.slice(all, 2 * all));
      const v = edit("v", rows.slice(2 * all, 2 * all + width)), few = rows.slice(2 * (all + width));
      const sums = block.product("w_a", few, block.vectors.b_a);
      const a = edit("a", sums.map((sum) => Math.exp(-softplus(-sum) / SLOW)));
      const o = edit("o", made(width, (k) => silu(rows[2 * all + width + k])));
      const k = edit("k", prev.S.map((value, at) => value * a[Math.floor(at / values)]));
      return { q, K: key, v, a, o, ...asked(block, x, { q, key, v, o, k, strength: () => 1 }, edit) };
    },
    back: (block, through, now) => {
      const [, , values] = block.parts, a = now("a");
      return Float64Array.from(through, (x, at) => x * a[Math.floor(at / values)]);
    },
    written: (block, slope, { now }) => {
      const [heads, keys] = block.parts;
      return block.transposed("w_x", toValues(block, slope, now("K"), () => 1), 2 * heads * keys);
    },
  },
  deltanet: {
    ...matrix(), step: (block, x, prev, edit) => {
      const [heads, keys, values] = block.parts, all = heads * keys, width = heads * values, seen = 2 * all + width;
      const rows = block.product("w_x", block.normed(x)), { p, summed } = block.convolved(rows.slice(0, seen), prev.p);
      const past = edit("p", p), bent = summed.map(silu);
      const q = edit("q", units(bent.slice(0, all), keys)), key = edit("K", units(bent.slice(all, 2 * all), keys));
      const v = edit("v", bent.slice(2 * all)), small = rows.slice(seen + width), { b_a, A } = block.vectors;
      const b = edit("b", made(heads, (h) => sigmoid(small[h] + b_a[h])));
      const a = edit("a", made(heads, (h) => Math.exp(-Math.exp(A[h]) * softplus(small[heads + h] + b_a[heads + h]))));
      const o = edit("o", made(width, (k) => silu(rows[seen + k])));
      const said = toValues(block, prev.S, key, () => 1); // what the memory says of the key
      const e = edit("e", made(prev.S.length, (at) => {
        const row = Math.floor(at / values), h = Math.floor(row / keys);
        return a[h] * b[h] * key[row] * said[h * values + (at % values)];
      }));
      const k = edit("k", prev.S.map((value, at) => value * a[Math.floor(at / (keys * values))] - e[at]));
      return { p: past, q, K: key, v, b, a, o, e, ...asked(block, x, { q, key, v, o, k, strength: (h) => b[h] }, edit) };
    },
    back: (block, through, now) => {
      const [, keys, values] = block.parts, a = now("a"), b = now("b"), key = now("K");
      const put = toValues(block, through, key, (h) => -a[h] * b[h]);
      return Float64Array.from(through, (x, at) => {
        const row = Math.floor(at / values), h = Math.floor(row / keys);
        return a[h] * x + key[row] * put[h * values + (at % values)];
      });
    },
    written: (block, slope, { now, past }) => {
      const [heads, keys] = block.parts, all = heads * keys, b = now("b"), count = block.matrices.conv.rows;
      const values = toValues(block, slope, now("K"), (h) => b[h]), found = new Float64Array(count);
      const { summed } = block.convolved(now("p").subarray(-count), past("p"));
      for (let k = 0; k < values.length; k++) found[2 * all + k] = values[k] * sigmoid(summed[2 * all + k]);
      return found;
    },
  },
};
