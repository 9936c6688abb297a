// A recurrent layer with its gates held and every tanh as a line: what its inputs then count for. With these held, a
// layer is a linear map, so that slopes are exact; they are carried from the last word back to the first.

/** @typedef {import("../network.js").Network["layers"][number]} AnyLayer */
/** @typedef {Exclude<AnyLayer, import("../blocks.js").Block>} Layer its matrices have a block of rows for every gate, as torch has them */
/** @typedef {Map<string, (Float64Array | undefined)[]>} Slopes what a unit of each state counts for, by kind and word */
/** @typedef {Map<string, Float32Array[]>} States */
/**
 * What a layer of some cell did at a word: the states of its kinds by letter, those of the word before, and its input.
 * @typedef {{now: (letter: string) => Float32Array, before: Float32Array, input: Float64Array}} Moment
 */
/**
 * Slopes at a word, by letter, as far as they are known, and what the word after adds to them.
 * @typedef {(letter: string) => Float64Array} SlopeOf
 */
/** @typedef {{input: Float64Array, before: Record<string, Float64Array>}} Passed what the input counts for, and the kinds one word before */

const NEAR = 1e-6; // of zero, where a tanh is its own line
const CANDIDATE = /** @type {Record<string, number>} */ ({ lstm: 2, gru: 2 }); // the block of rows that is not a gate's
const CELLS = /** @type {Record<string, (layer: Layer, moment: Moment, slope: SlopeOf) => Passed>} */ ({
  lstm: heldLstm, gru: heldGru, rnn: heldSimple, relu: heldSimple,
});

/** The line from zero to each point (x, y) of a tanh. @param {ArrayLike<number>} y @param {ArrayLike<number>} x */
export function bends(y, x) {
  return Float64Array.from(x, (value, u) => (Math.abs(value) < NEAR ? 1 : y[u] / value));
}

/** Add to the slopes of what a layer reads, from those of its own kinds. @param {AnyLayer} layer @param {States} states @param {Slopes} slopes @param {Pause} pause */
export async function heldSlopes(layer, states, slopes, pause) {
  const { cell, ids, below, reverse } = layer.json, of = (/** @type {string} */ kind) => states.get(kind) ?? [];
  const length = of(ids.h).length, place = (/** @type {number} */ k) => (reverse ? length - 1 - k : k);
  const letters = Object.keys(ids).filter((letter) => slopes.has(ids[letter]));
  /** @type {Record<string, Float64Array> | null} */ let later = null; // what the word after counts for in this one
  for (let k = length - 1; k >= 0; k--) {
    const t = place(k), known = letters.some((letter) => slopes.get(ids[letter])?.[t]);
    if (!later && !known) continue;
    await pause();
    const before = k ? of(ids.h)[place(k - 1)] : new Float32Array(of(ids.h)[t].length);
    const input = Float64Array.from(below.flatMap((kind) => [...of(kind)[t]]));
    const moment = { now: (/** @type {string} */ letter) => of(ids[letter])[t], before, input };
    const after = later ?? {};
    const slope = (/** @type {string} */ letter) =>
      sum(of(ids[letter])[t].length, slopes.get(ids[letter])?.[t], after[letter]);
    const past = (/** @type {string} */ letter) =>
      (k ? of(ids[letter])[place(k - 1)] : new Float32Array(of(ids[letter])[t].length));
    /** @type {Passed} */ const passed = layer.block ? layer.block.held({ ...moment, past }, slope) : CELLS[cell](layer, moment, slope);
    later = passed.before;
    let from = 0;
    for (const kind of below) {
      const wide = of(kind)[t].length, all = slopes.get(kind) ?? [];
      all[t] = sum(wide, all[t], passed.input.subarray(from, from + wide));
      slopes.set(kind, all);
      from += wide;
    }
  }
}

/** @param {Layer} layer @param {Moment} moment @param {SlopeOf} slope @returns {Passed} */
function heldLstm(layer, { now, before, input }, slope) {
  const cell = now("c"), output = projectedBack(layer, slope("h"));
  const bend = bends(Float64Array.from(cell, Math.tanh), cell), gate = now("o");
  const toCell = slope("c").map((x, u) => x + output[u] * gate[u] * bend[u]);
  const kept = slope("l").map((x, u) => (x + toCell[u]) * now("f")[u]);
  const line = bends(now("g"), candidate(layer, input, before, null)), remember = now("i");
  const toSum = toCell.map((x, u) => x * remember[u] * line[u]);
  return { input: back(layer, layer.wx, toSum), before: { c: kept, h: back(layer, layer.wh, toSum) } };
}

/** @param {Layer} layer @param {Moment} moment @param {SlopeOf} slope @returns {Passed} */
function heldGru(layer, { now, before, input }, slope) {
  const output = slope("h"), keep = now("z"), reset = now("r");
  const kept = slope("k").map((x, u) => (x + output[u]) * keep[u]);
  const line = bends(now("n"), candidate(layer, input, before, reset));
  const toSum = output.map((x, u) => x * (1 - keep[u]) * line[u]);
  const through = back(layer, layer.wh, toSum.map((x, u) => x * reset[u]));
  return { input: back(layer, layer.wx, toSum), before: { h: kept.map((x, u) => x + through[u]) } };
}

/** @param {Layer} layer @param {Moment} moment @param {SlopeOf} slope @returns {Passed} */
function heldSimple(layer, { now, before, input }, slope) {
  const line = bends(now("h"), candidate(layer, input, before, null));
  const toSum = slope("h").map((x, u) => x * line[u]);
  return { input: back(layer, layer.wx, toSum), before: { h: back(layer, layer.wh, toSum) } };
}

/** What the tanh is taken of. @param {Layer} layer @param {Float64Array} input @param {Float32Array} before @param {Float32Array | null} reset of what is read of the state before */
function candidate(layer, input, before, reset) {
  const { wx, wh, bx, bh, machine } = layer, { floats } = machine, [first, count] = block(layer);
  return Float64Array.from({ length: count }, (_, u) => {
    const row = first + u, state = dot(floats, wh.at + row * wh.stride, before) + (bh?.[row] ?? 0);
    return dot(floats, wx.at + row * wx.stride, input) + (bx?.[row] ?? 0) + (reset ? reset[u] : 1) * state;
  });
}

/** What columns of a matrix count for, where its candidate's rows count for so much. @param {Layer} layer @param {Matrix} matrix @param {Float64Array} slope */
function back(layer, matrix, slope) {
  return transposed(layer.machine.floats, matrix, slope, block(layer)[0]);
}

/** What the output before its projection counts for. @param {Layer} layer @param {Float64Array} slope */
export function projectedBack(layer, slope) {
  return layer.wp ? transposed(layer.machine.floats, layer.wp, slope, 0) : slope;
}

/** The first row of the candidate, and how many there are. @param {Layer} layer @returns {[number, number]} */
function block({ json, wh, gates }) {
  const count = wh.rows / gates;
  return [(CANDIDATE[json.cell] ?? 0) * count, count];
}

/** @param {Float32Array} floats @param {Matrix} matrix @param {Float64Array} slope @param {number} first row */
function transposed(floats, { at, columns, stride }, slope, first) {
  const found = new Float64Array(columns);
  for (let u = 0; u < slope.length; u++) {
    const x = slope[u], from = at + (first + u) * stride;
    for (let k = 0; k < columns; k++) found[k] += x * floats[from + k];
  }
  return found;
}

/** @param {Float32Array} floats @param {number} at @param {ArrayLike<number>} vector */
function dot(floats, at, vector) {
  let total = 0;
  for (let k = 0; k < vector.length; k++) total += floats[at + k] * vector[k];
  return total;
}

/** Slopes added up, where there are any. @param {number} count @param {(Float64Array | undefined)[]} several */
function sum(count, ...several) {
  const total = new Float64Array(count);
  for (const one of several) one?.forEach((x, u) => { total[u] += x; });
  return total;
}
