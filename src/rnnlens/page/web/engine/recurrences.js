// The recurrences with a linear memory that networks are trained of: what each memory is given of a layer's normed input,
// and what becomes of what is read. The equations are those of rnnlens/model/cells: minimal.py, griffin.py, mamba.py,
// linear_attention.py, rwkv.py and xlstm.py.

import { gelu, logSigmoid, made, rootMeanSquare, sigmoid, silu, softplus, units } from "./curves.js";
import { ATTENTION, DELTA, EXPONENTIAL, GATED, REMOVING, SCALAR, SPACE, times, toValues } from "./linear.js";

/** @typedef {import("./blocks.js").Block} Block */
/** @typedef {import("./blocks.js").Moment} Moment */
/** @typedef {import("./cells.js").Change} Change */
/** @typedef {import("./cells.js").Letters} Letters */
/** @typedef {import("./linear.js").Shape} Shape */
/** @typedef {import("./linear.js").StateOf} StateOf */
/** @typedef {Shape & {inputs: number, width: number}} Size */
/** @typedef {{read: Float64Array, mixed: Float64Array}} ReadBack what is read counts for so much, before it is scaled and after */
/** What the convolution's sums, the normed input and kinds of the word before count for. @typedef {{convolved?: Float64Array, normed?: Float64Array, before?: Record<string, Float64Array>}} Into */
/**
 * @typedef {object} Recurrence
 * @property {import("./linear.js").Family} family its memory
 * @property {(size: Size) => Record<string, number[]>} shapes of its own weights
 * @property {(block: Block, x: Float32Array, prev: Letters, edit: Change) => Letters} given all kinds that depend on no memory
 * @property {(block: Block, now: StateOf) => Float32Array | Float64Array | null} scale what is read is multiplied with; null: nothing
 * @property {(block: Block, now: StateOf) => Float32Array | Float64Array} [beside] what is added to that
 * @property {Record<string, number>} [first] what carried kinds begin with that do not with zero
 * @property {(shape: Shape) => number} [branch] the first row of `w_x` whose products are convolved; none: the normed input itself is
 * @property {(block: Block, whole: Float64Array, back: ReadBack, moment: Moment) => Into} into from the memory, and from what is read, with gates held
 */

export const TAPS = 4; // timesteps that a convolution sees
const EPS = 1e-6, LEAST = 1e-6; // that gates of minLSTM are added to, and of 1 - a², as in Python
const RANK = 16, GATE_RANK = 64, SLOW = 16; // numbers through which decays, and RWKV-7's gate, are computed, and the root of those of GLA
const MIXED = 6, FASTEST = -Math.exp(-0.5); // mixtures of two words in RWKV-7, and the largest exponent of its decay
const NEAR = 1e-6; // of zero, where a tanh is its own line

/** Where rows of a matrix end, of which there are so many for each part. @param {Float32Array} rows @param {number[]} sizes */
function parts(rows, ...sizes) {
  let at = 0;
  return sizes.map((size) => rows.slice(at, at += size));
}

/** The weights of a convolution. @param {number} channels */
const convolution = (channels) => ({ conv: [channels, TAPS], b_conv: [channels] });

/** The slope of a SiLU's sum, with its factor held. @param {Float64Array} slope @param {Float32Array} summed */
const unbent = (slope, summed) => slope.map((x, k) => x * sigmoid(summed[k]));

/** The same of sums of which only some, from the first on, count. @param {Float64Array} slope @param {Float32Array} summed @param {number} first */
function unbentAmong(slope, summed, first) {
  const found = new Float64Array(summed.length);
  found.set(unbent(slope, summed.subarray(first)), first);
  return found;
}

/** minGRU and minLSTM but for their gates: a vector that gates of the convolved input write to. @param {number} count of blocks of rows */
const minimal = (count) => ({
  family: GATED, scale: (/** @type {Block} */ _block, /** @type {StateOf} */ now) => now("o"),
  shapes: (/** @type {Size} */ { inputs, width }) => ({ ...convolution(inputs), w_x: [count * width, inputs], b_x: [count * width] }),
});

/** The normed input convolved. @param {Block} block @param {Float32Array} x @param {Letters} prev @param {Change} edit */
function seen(block, x, prev, edit) {
  const { p, summed } = block.convolved(x, prev.p);
  return { p: edit("p", p), u: edit("u", summed) };
}

/** Heads that are normed when they are read, and gated. @type {Pick<Recurrence, "scale">} */
const NORMED = { scale: (block, now) => block.ofHeads(now("r"), now("o")) };

/** What all state spaces have: the way of a value, which goes around the memory, too. @param {Block} block @param {Float64Array} whole @param {ReadBack} back @param {Moment} moment */
function valueBack(block, whole, { read }, { now }) {
  const around = times(read, block.arrays.D);
  return times(toValues(block.shape, whole, now("B")), now("d")).map((x, k) => x + around[k]);
}

/** @type {Record<string, Recurrence>} */
export const RECURRENCES = {
  mingru: {
    ...minimal(3), given: (block, x, prev, edit) => {
      const { width, arrays } = block, { p, u } = seen(block, x, prev, edit), sums = parts(block.product("w_x", u, arrays.b_x), width, width, width);
      const z = edit("z", sums[0].map(sigmoid)), n = edit("n", sums[1]), o = edit("o", sums[2].map(silu));
      return { p, u, z, n, o, a: edit("a", z.map((value) => 1 - value)), w: edit("w", times(n, z)) };
    },
    into: (block, whole, _back, { now }) => ({ convolved: block.transposed("w_x", times(whole, now("z")), block.width) }),
  },
  minlstm: {
    ...minimal(4), given: (block, x, prev, edit) => {
      const { width, arrays } = block, { p, u } = seen(block, x, prev, edit), sums = parts(block.product("w_x", u, arrays.b_x), width, width, width, width);
      const f = edit("f", sums[0].map(sigmoid)), i = edit("i", sums[1].map(sigmoid)), n = edit("n", sums[2]), o = edit("o", sums[3].map(silu));
      const a = edit("a", f.map((value, k) => value / (value + i[k] + EPS)));
      return { p, u, f, i, n, o, a, w: edit("w", n.map((value, k) => (value * i[k]) / (f[k] + i[k] + EPS))) };
    },
    into: (block, whole, _back, { now }) => {
      const f = now("f"), i = now("i");
      return { convolved: block.transposed("w_x", whole.map((x, k) => (x * i[k]) / (f[k] + i[k] + EPS)), 2 * block.width) };
    },
  },
  rglru: {
    family: GATED, scale: (_block, now) => now("o"), branch: ({ heads, values }) => heads * values,
    shapes: ({ inputs, width }) => ({ w_x: [2 * width, inputs], b_x: [2 * width], ...convolution(width), w_u: [2 * width, width], b_u: [2 * width], decay: [width] }),
    given: (block, x, prev, edit) => {
      const { width, arrays } = block, [gate, branch] = parts(block.product("w_x", x, arrays.b_x), width, width);
      const o = edit("o", gate.map(gelu)), { p, u } = seen(block, branch, prev, edit), sums = parts(block.product("w_u", u, arrays.b_u), width, width);
      const b = edit("b", sums[0].map(sigmoid)), i = edit("i", sums[1].map(sigmoid));
      const a = edit("a", b.map((gate, k) => Math.exp(-8 * softplus(arrays.decay[k]) * gate)));
      return { o, p, u, b, i, a, w: edit("w", u.map((value, k) => rest(a[k]) * i[k] * value)) };
    },
    into: (_block, whole, _back, { now }) => ({ convolved: whole.map((x, k) => x * rest(now("a")[k]) * now("i")[k]) }),
  },
  mamba: {
    family: SPACE, scale: (_block, now) => now("o"), branch: () => 0,
    shapes: ({ inputs, width, keys }) => {
      const rank = Math.ceil(width / 16);
      return { w_x: [2 * width, inputs], ...convolution(width), w_u: [rank + 2 * keys, width], w_d: [width, rank], b_d: [width], A: [width, keys], D: [width] };
    },
    given: (block, x, prev, edit) => {
      const { width, arrays, shape: { keys } } = block, [branch, gate] = parts(block.product("w_x", x), width, width);
      const o = edit("o", gate.map(silu)), { p: past, summed } = block.convolved(branch, prev.p), p = edit("p", past), u = edit("u", summed.map(silu));
      const [few, key, question] = parts(block.product("w_u", u), Math.ceil(width / 16), keys, keys);
      const d = edit("d", block.product("w_d", few, arrays.b_d).map(softplus));
      return { o, p, u, d, B: edit("B", key), C: edit("C", question) };
    },
    into: (block, whole, back, moment) => ({ convolved: unbent(valueBack(block, whole, back, moment), block.summed(moment)) }),
  },
  mamba2: {
    family: SPACE, branch: ({ heads, values }) => heads * values,
    scale: (block, now) => {
      const o = now("o"), r = now("r"), gated = o.map((gate, k) => gate * r[k]), factor = rootMeanSquare(gated, 0, gated.length);
      return Float64Array.from(o, (gate, k) => gate * factor * block.arrays.norm_r[k]);
    },
    shapes: ({ inputs, width, heads, keys }) => ({
      w_x: [2 * width + 2 * keys + heads, inputs], ...convolution(width + 2 * keys), b_d: [heads], A: [heads], D: [heads, 1], norm_r: [width],
    }),
    given: (block, x, prev, edit) => {
      const { width, arrays, shape: { heads, keys } } = block, [gate, branch, step] = parts(block.product("w_x", x), width, width + 2 * keys, heads);
      const o = edit("o", gate.map(silu)), { p: past, summed } = block.convolved(branch, prev.p), p = edit("p", past);
      const [value, key, question] = parts(summed.map(silu), width, keys, keys);
      const u = edit("u", value), B = edit("B", key), C = edit("C", question);
      return { o, p, u, B, C, d: edit("d", step.map((sum, h) => softplus(sum + arrays.b_d[h]))) };
    },
    into: (block, whole, back, moment) => ({ convolved: unbentAmong(valueBack(block, whole, back, moment), block.summed(moment), 0) }),
  },
  gla: {
    family: ATTENTION, ...NORMED,
    shapes: ({ inputs, width, heads, keys }) => ({ w_x: [2 * heads * keys + 2 * width + RANK, inputs], w_a: [heads * keys, RANK], b_a: [heads * keys], norm_r: [width] }),
    given: (block, x, _prev, edit) => {
      const { width, arrays, shape: { heads, keys } } = block, all = heads * keys;
      const [question, key, value, gate, few] = parts(block.product("w_x", x), all, all, width, width, RANK);
      const q = edit("q", question.map((sum) => sum * keys ** -0.5)), K = edit("K", key), v = edit("v", value);
      const a = edit("a", block.product("w_a", few, arrays.b_a).map((sum) => Math.exp(logSigmoid(sum) / SLOW)));
      return { q, K, v, a, o: edit("o", gate.map(silu)) };
    },
    into: (block, whole, _back, { now }) => ({
      normed: block.transposed("w_x", toValues(block.shape, whole, now("K")), 2 * block.shape.heads * block.shape.keys),
    }),
  },
  deltanet: {
    family: DELTA, ...NORMED, branch: () => 0,
    shapes: ({ inputs, width, heads, keys }) => {
      const convolved = 2 * heads * keys + width;
      return { w_x: [convolved + width + 2 * heads, inputs], ...convolution(convolved), b_a: [2 * heads], A: [heads], norm_r: [width] };
    },
    given: (block, x, prev, edit) => {
      const { width, arrays: { b_a, A }, shape: { heads, keys } } = block, all = heads * keys;
      const [branch, gate, small] = parts(block.product("w_x", x), 2 * all + width, width, 2 * heads), { p: past, summed } = block.convolved(branch, prev.p);
      const p = edit("p", past), [question, key, value] = parts(summed.map(silu), all, all, width);
      const q = edit("q", units(question, heads)), K = edit("K", units(key, heads)), v = edit("v", value);
      const b = edit("b", made(heads, (h) => sigmoid(small[h] + b_a[h])));
      const a = edit("a", made(heads, (h) => Math.exp(-Math.exp(A[h]) * softplus(small[heads + h] + b_a[heads + h]))));
      return { p, q, K, v, b, a, o: edit("o", gate.map(silu)) };
    },
    into: (block, whole, _back, moment) => {
      const { now } = moment, { heads, keys } = block.shape, values = toValues(block.shape, whole, times(now("K"), now("b")));
      return { convolved: unbentAmong(values, block.summed(moment), 2 * heads * keys) };
    },
  },
  rwkv7: {
    family: REMOVING, ...NORMED,
    shapes: ({ inputs, width, heads, keys }) => {
      const all = heads * keys, few = [RANK, inputs];
      return {
        mix: [MIXED, inputs], w_q: [all, inputs], w_k: [all, inputs], w_x: [width, inputs], v_a: few, w_a: [all, RANK], b_a: [all],
        v_b: few, w_b: [all, RANK], b_b: [all], v_o: [GATE_RANK, inputs], w_o: [width, GATE_RANK], erased: [all], added: [all], bonus: [all], norm_r: [width],
      };
    },
    given: (block, x, prev, edit) => {
      const { inputs, arrays, shape: { heads } } = block;
      const mixed = (/** @type {number} */ which) => x.map((value, k) => value + arrays.mix[which * inputs + k] * (prev.p[k] - value));
      const [x_q, x_k, x_v, x_a, x_b, x_o] = [0, 1, 2, 3, 4, 5].map(mixed);
      const p = edit("p", x.slice()), q = edit("q", block.product("w_q", x_q)), v = edit("v", block.product("w_x", x_v));
      const b = edit("b", block.product("w_b", block.product("v_b", x_b), arrays.b_b).map(sigmoid));
      const slow = block.product("w_a", block.product("v_a", x_a).map(Math.tanh), arrays.b_a);
      const a = edit("a", slow.map((sum) => Math.exp(FASTEST * sigmoid(sum)))), key = block.product("w_k", x_k);
      const g = edit("g", units(times(key, arrays.erased), heads)), K = edit("K", key.map((value, k) => value * (1 + (b[k] - 1) * arrays.added[k])));
      return { p, q, v, b, a, g, K, o: edit("o", block.product("w_o", block.product("v_o", x_o).map(sigmoid))) };
    },
    beside: (block, now) => bonus(block, now("v"), now),
    into: (block, whole, { mixed }, { now }) => {
      const { inputs, arrays: { mix } } = block, around = bonus(block, mixed, now);
      const slope = block.transposed("w_x", toValues(block.shape, whole, now("K")).map((x, k) => x + around[k]));
      const past = slope.map((x, k) => x * mix[2 * inputs + k]); // of values
      return { normed: slope.map((x, k) => x - past[k]), before: { p: past } };
    },
  },
  mlstm: {
    family: EXPONENTIAL, ...NORMED, branch: ({ heads, values }) => heads * values,
    shapes: ({ inputs, width, heads, keys }) => ({
      w_x: [3 * width, inputs], ...convolution(width), w_u: [2 * heads * keys + 2 * heads, width], b_u: [2 * heads], norm_r: [width], skip: [width],
    }),
    given: (block, x, prev, edit) => {
      const { width, arrays: { b_u }, shape: { heads, keys } } = block, all = heads * keys, [gate, branch, value] = parts(block.product("w_x", x), width, width, width);
      const o = edit("o", gate.map(silu)), { p: past, summed } = block.convolved(branch, prev.p), p = edit("p", past), u = edit("u", summed.map(silu));
      const [question, key, gates] = parts(block.product("w_u", u), all, all, 2 * heads);
      const q = edit("q", question), K = edit("K", key.map((sum) => sum * keys ** -0.5)), v = edit("v", value);
      const i = edit("i", made(heads, (h) => gates[h] + b_u[h])), f = edit("f", made(heads, (h) => logSigmoid(gates[heads + h] + b_u[heads + h])));
      return { o, p, u, q, K, v, i, f };
    },
    beside: ({ arrays: { skip } }, now) => now("u").map((value, k) => skip[k] * value * now("o")[k]),
    into: (block, whole, { mixed }, moment) => {
      const { now } = moment, { width, shape, arrays: { skip } } = block, values = toValues(shape, whole, times(now("K"), now("b")));
      return {
        normed: block.transposed("w_x", values, 2 * width),
        convolved: unbent(mixed.map((x, k) => x * skip[k] * now("o")[k]), block.summed(moment)),
      };
    },
  },
  slstm: {
    family: SCALAR, scale: (block, now) => block.ofHeads(now("r"), null), first: { m: -1e38 }, // nothing was written yet
    shapes: ({ inputs, width, heads }) => ({
      ...convolution(inputs), w_u: [2 * width, inputs], w_x: [2 * width, inputs], b_x: [4 * width], w_s: [4 * width, width / heads], norm_r: [width],
    }),
    given: (block, x, prev, edit) => {
      const { width, arrays: { b_x } } = block, { p: past, summed } = block.convolved(x, prev.p), p = edit("p", past), u = edit("u", summed.map(silu));
      const few = block.product("w_u", u), own = block.product("w_x", x);
      const sums = [0, 1, 2, 3].map((gate) => {
        const back = lastRead(block, gate, prev.r), from = gate < 2 ? few : own, first = (gate % 2) * width;
        return back.map((sum, k) => sum + from[first + k] + b_x[gate * width + k]);
      });
      const i = edit("i", sums[0]), f = edit("f", sums[1].map(logSigmoid)), z = edit("z", sums[2].map(Math.tanh)), g = edit("g", sums[3].map(sigmoid));
      const m = edit("m", f.map((stays, k) => Math.max(stays + prev.m[k], i[k])));
      const a = edit("a", f.map((stays, k) => Math.exp(stays + prev.m[k] - m[k]))), b = edit("b", i.map((enters, k) => Math.exp(enters - m[k])));
      return { p, u, i, f, z, g, m, a, b };
    },
    into: (block, whole, _back, { now, past, input }) => {
      const { width, arrays: { b_x }, shape: { heads, values } } = block, read = lastRead(block, 2, past("r")), z = now("z"), b = now("b");
      const own = block.product("w_x", block.normed(Float32Array.from(input)), null, 0, width);
      const slope = whole.map((x, k) => {
        const sum = own[k] + read[k] + b_x[2 * width + k];
        return x * b[k] * (Math.abs(sum) < NEAR ? 1 : z[k] / sum);
      });
      const r = new Float64Array(width);
      for (let h = 0; h < heads; h++) r.set(block.transposed("w_s", slope.subarray(h * values, (h + 1) * values), 2 * width + h * values), h * values);
      return { normed: block.transposed("w_x", slope), before: { r } };
    },
  },
};

/** How much of RG-LRU's memory is written anew. @param {number} a */
function rest(a) {
  return Math.sqrt(Math.max(1 - a * a, LEAST));
}

/** What RWKV-7 reads of a word at once, of its values; or the same of slopes. @template {Float32Array | Float64Array} T @param {Block} block @param {T} values @param {StateOf} now */
function bonus(block, values, now) {
  const { arrays, shape } = block, q = now("q"), o = now("o");
  const strengths = toValues({ ...shape, values: 1 }, now("K").map((key, k) => q[k] * arrays.bonus[k] * key), new Float32Array(q.length).fill(1));
  return times(values, strengths).map((x, k) => x * o[k]);
}

/** What a gate of sLSTM sees of what was read last, head by head. @param {Block} block @param {number} gate @param {Float32Array} read */
function lastRead(block, gate, read) {
  const { width, shape: { heads, values } } = block, found = new Float32Array(width);
  for (let h = 0; h < heads; h++) {
    found.set(block.product("w_s", read.subarray(h * values, (h + 1) * values), null, gate * width + h * values, values), h * values);
  }
  return found;
}
