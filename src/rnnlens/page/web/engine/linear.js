// Linear memories: what one step makes of a memory once all that it is given is known, S = T(S₋₁) + W, what is read of it,
// and the way back. The algebra of rnnlens/model/transition.py and linear.py, and the families of
// rnnlens/model/cells/linear_memories.py that trained layers have, each written like its equations.

/** @typedef {import("./blocks.js").Block} Block */
/** @typedef {import("./cells.js").Letters} Letters */
/** @typedef {ArrayLike<number>} Numbers */
/** @typedef {(letter: string) => Float32Array} StateOf a layer's state of a kind at a word */
/**
 * A matrix for each head: keys by values, or values by keys where these come last.
 * @typedef {{heads: number, keys: number, values: number, keysLast: boolean}} Shape
 */
/**
 * @typedef {object} Family
 * @property {string} output the letter of what is read
 * @property {string} [question] the letter of what a matrix is asked by; none: it is a vector
 * @property {boolean} [keysLast] whether a matrix lies as values by keys
 * @property {(block: Block, now: StateOf, before: Letters) => Letters} gates small kinds that follow from what is given and carried
 * @property {(block: Block, now: StateOf) => Transition} transition T
 * @property {(block: Block, memory: string, now: StateOf) => Float32Array} write W, where it is not given
 * @property {(block: Block, at: StateOf, now: StateOf) => Float32Array} read of the memories `at` a step; of a vector, itself
 * @property {(block: Block, through: Float64Array, now: StateOf) => Float64Array} asked from what is read back to the memory
 * @property {(block: Block, now: StateOf) => Float32Array | null} direct what of the read comes from no memory
 * @property {(now: StateOf) => Float32Array} stays how much of what the memory says is left
 */

const LEAST = 1e-6; // added to what the read of mLSTM is divided by, as in Python

/** T(S) = decay ∘ S + put ⊗ (ask · S). */
export class Transition {
  /** @param {Shape} shape @param {Numbers} decay one for each stretch of the memory @param {Numbers | null} put @param {Numbers | null} ask */
  constructor(shape, decay, put = null, ask = null) {
    this.shape = shape;
    this.decay = decay;
    this.put = put;
    this.ask = ask;
  }

  /** What the memory before counts for, where the one after counts for so much: the transpose. @param {Float64Array} through */
  back(through) {
    const { shape, decay, put, ask } = this, found = times(through, decay);
    return put && ask ? addOuter(found, shape, ask, toValues(shape, through, put)) : found;
  }

  /** What is taken out of a memory beside its decay. @param {Float32Array} memory */
  erased(memory) {
    const { shape, put, ask } = this, found = new Float32Array(memory.length);
    if (put && ask) addOuter(found, shape, Float64Array.from(put, (x) => -x), toValues(shape, memory, ask));
    return found;
  }
}

/** Numbers times others, of which each is for a stretch of them. @template {Float32Array | Float64Array} T @param {T} x @param {Numbers} factors @returns {T} */
export function times(x, factors) {
  const found = /** @type {T} */ (x.slice()), stretch = x.length / factors.length;
  for (let k = 0, at = 0; k < factors.length; k++) {
    const factor = factors[k];
    for (const end = at + stretch; at < end; at++) found[at] *= factor;
  }
  return found;
}

/** Keys times a memory, head by head; keys may be the same for all heads. @param {Shape} shape @param {Numbers} memory @param {Numbers} keysOf */
export function toValues({ heads, keys, values, keysLast }, memory, keysOf) {
  const found = new Float64Array(heads * values), apart = keysOf.length > keys ? keys : 0;
  for (let h = 0, at = 0; h < heads; h++) {
    const key = h * apart, value = h * values;
    if (keysLast) for (let v = 0; v < values; v++) for (let k = 0; k < keys; k++) found[value + v] += keysOf[key + k] * memory[at++];
    else for (let k = 0; k < keys; k++) for (let v = 0; v < values; v++) found[value + v] += keysOf[key + k] * memory[at++];
  }
  return found;
}

/** Add keys ⊗ values to a memory, head by head. @template {Float32Array | Float64Array} T @param {T} into @param {Shape} shape @param {Numbers} keysOf @param {Numbers} valuesOf */
export function addOuter(into, { heads, keys, values, keysLast }, keysOf, valuesOf) {
  const apart = keysOf.length > keys ? keys : 0;
  for (let h = 0, at = 0; h < heads; h++) {
    const key = h * apart, value = h * values;
    if (keysLast) for (let v = 0; v < values; v++) for (let k = 0; k < keys; k++) into[at++] += keysOf[key + k] * valuesOf[value + v];
    else for (let k = 0; k < keys; k++) for (let v = 0; v < values; v++) into[at++] += keysOf[key + k] * valuesOf[value + v];
  }
  return into;
}

/** @param {Shape} shape @param {Numbers} keysOf @param {Numbers} valuesOf */
function outer(shape, keysOf, valuesOf) {
  return addOuter(new Float32Array(shape.heads * shape.keys * shape.values), shape, keysOf, valuesOf);
}

/** What a read is multiplied with, head by head, so that it is a mean and not a sum. @param {Shape} shape @param {Numbers} n @param {StateOf} now */
function shares(shape, n, now) {
  const m = now("m"), asked = toValues({ ...shape, values: 1, keysLast: false }, n, now("q"));
  return asked.map((sum, h) => 1 / (Math.max(Math.abs(sum), Math.exp(-m[h])) + LEAST));
}

/** A vector that decays and is written to unit by unit: minGRU, minLSTM, RG-LRU. @type {Family} */
export const GATED = {
  output: "c",
  gates: () => ({}),
  transition: ({ shape }, now) => new Transition(shape, now("a")),
  write: (_block, _memory, now) => now("w"),
  read: (_block, at) => at("c"),
  asked: (_block, through) => through,
  direct: () => null,
  stays: (now) => now("a"),
};

/** A matrix of keys by values for each head, each key of which decays: GLA. @type {Family} */
export const ATTENTION = {
  ...GATED, output: "r", question: "q",
  write: ({ shape }, _memory, now) => outer(shape, now("K"), now("v")),
  read: ({ shape }, at, now) => Float32Array.from(toValues(shape, at("S"), now("q"))),
  asked: ({ shape }, through, now) => addOuter(new Float64Array(shape.heads * shape.keys * shape.values), shape, now("q"), through),
};

/** The gated delta rule: what a head says of a key is erased before the key's value is written. @type {Family} */
export const DELTA = {
  ...ATTENTION,
  transition: ({ shape }, now) => new Transition(shape, now("a"), times(times(Float64Array.from(now("K"), (x) => -x), now("a")), now("b")), now("K")),
  write: ({ shape }, _memory, now) => outer(shape, times(now("K"), now("b")), now("v")),
};

/** RWKV-7: a delta rule that erases one key and writes another. @type {Family} */
export const REMOVING = {
  ...ATTENTION,
  transition: ({ shape }, now) => new Transition(shape, now("a"), times(Float64Array.from(now("g"), (x) => -x), now("b")), now("g")),
};

/** State spaces: of Mamba, whose every channel has numbers of memory, and of Mamba-2, whose heads have one decay each. @type {Family} */
export const SPACE = {
  ...GATED, output: "r", question: "C", keysLast: true,
  gates: ({ arrays: { A } }, now) => {
    const steps = now("d"), stretch = A.length / steps.length;
    return { a: A.map((log, at) => Math.exp(-Math.exp(log) * steps[Math.floor(at / stretch)])) };
  },
  write: ({ shape }, _memory, now) => outer(shape, now("B"), times(now("u"), now("d"))),
  read: (block, at, now) => {
    const beside = SPACE.direct(block, now);
    return Float32Array.from(toValues(block.shape, at("S"), now("C")), (x, k) => x + (beside?.[k] ?? 0));
  },
  asked: ({ shape }, through, now) => addOuter(new Float64Array(shape.heads * shape.keys * shape.values), shape, now("C"), through),
  direct: ({ arrays: { D } }, now) => times(now("u"), D),
};

/** The matrix memory of xLSTM: exponential gates, kept within numbers by the largest exponent so far. @type {Family} */
export const EXPONENTIAL = {
  ...ATTENTION,
  gates: (_block, now, before) => {
    const i = now("i"), f = now("f"), m = i.map((enters, h) => Math.max(f[h] + before.m[h], enters));
    return { m, a: f.map((stays, h) => Math.exp(stays + before.m[h] - m[h])), b: i.map((enters, h) => Math.exp(enters - m[h])) };
  },
  write: ({ shape }, memory, now) => {
    const key = times(now("K"), now("b"));
    return memory === "n" ? key : outer(shape, key, now("v"));
  },
  read: ({ shape }, at, now) => Float32Array.from(times(toValues(shape, at("S"), now("q")), shares(shape, at("n"), now))),
  asked: (block, through, now) => ATTENTION.asked(block, times(through, shares(block.shape, now("n"), now)), now),
  stays: (now) => now("f").map(Math.exp),
};

/** The scalar memory of xLSTM, a numerator and a denominator, whose gates see what was read last. @type {Family} */
export const SCALAR = {
  ...GATED, output: "r",
  write: (_block, _memory, now) => times(now("z"), now("b")),
  read: (_block, at, now) => at("c").map((c, k) => (now("g")[k] * c) / at("n")[k]),
  asked: (_block, through, now) => through.map((x, k) => (x * now("g")[k]) / now("n")[k]),
  stays: (now) => now("f").map(Math.exp),
};
