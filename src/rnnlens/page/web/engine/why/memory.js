// The memory of a recurrent layer, split over the words that wrote it.

import { message } from "../refusals.js";
import { bends, heldSlopes, projectedBack } from "./held.js";

/** @typedef {import("./held.js").AnyLayer} Layer */
/** @typedef {Map<string, Float32Array[]>} States the states of each kind, word by word */
/** @typedef {{kind: string, step: number, weight: Float64Array, constant: number}} Direction a linear map from one state of a text to one number */
/** @typedef {{parts: number[], rest: number}} Split what each word counts for in that number, and the rest */

/**
 * The same of states that stand side by side in the one that is mapped, equally wide.
 * @param {Direction} direction @param {string[]} kinds @returns {Direction[]}
 */
export function split({ step, weight, constant }, kinds) {
  const wide = weight.length / kinds.length;
  return kinds.map((kind, k) =>
    ({ kind, step, weight: weight.slice(k * wide, (k + 1) * wide), constant: k ? 0 : constant }));
}

/** The parts and rests of several states together. @param {Split[]} splits @returns {Split} */
export function added(splits) {
  return {
    parts: splits[0].parts.map((_, t) => splits.reduce((sum, { parts }) => sum + parts[t], 0)),
    rest: splits.reduce((sum, { rest }) => sum + rest, 0),
  };
}

/** Why a reading cannot be given, in one line. */
export class UnknownWay extends Error {}

/**
 * What each word has written of the number that a state is mapped to, and the rest. The memory is a sum over words of
 * what each wrote, times all later forget gates.
 * @param {readonly Layer[]} layers @param {States} states @param {Direction} direction @returns {Split}
 */
export function stored(layers, states, direction) {
  const [layer, letter] = layerOf(layers, direction.kind), every = Object.entries(layer.json.memories);
  const memory = every.find(([own, { kept }]) => own === letter || kept === letter) ?? every[0]; // an output reads the first
  if (!memory) throw new UnknownWay(message("no_additive_memory", { kind: direction.kind }));
  const of = (/** @type {string} */ wanted) => inOrder(layer, states.get(layer.json.ids[wanted]) ?? []);
  const [name, { decay, write, kept }] = memory, gate = of(decay), written = of(write), parts = gate.map(() => 0);
  let through = direction.weight; // what a unit of the memory at this step counts for
  let step = layer.json.reverse ? parts.length - 1 - direction.step : direction.step;
  const at = (/** @type {number} */ t) => (/** @type {string} */ wanted) => of(wanted)[t];
  /** What the memory before a word counts for. @type {(t: number) => Float64Array} */
  const carried = (t) => layer.block?.back(through, at(t)) ?? through.map((x, u) => x * gate[t][u]);
  let rest = direction.constant;
  if (letter === kept) through = carried(step);
  else if (letter === layer.json.read && layer.block) {
    rest += dot(through, layer.block.readUnstored(at(step)));
    through = layer.block.asked(through, at(step));
  } else if (letter !== name && layer.block) {
    rest += dot(through, layer.block.unstored(at(step)));
    through = layer.block.readBack(through, at(step));
  } else if (letter !== name && !layer.block) through = throughOutput(layer, through, of(name)[step], of("o")[step]);
  for (let t = letter === kept ? step - 1 : step; t >= 0; t--) {
    parts[t] = dot(through, written[t]);
    through = carried(t);
  }
  return { parts: inOrder(layer, parts), rest };
}

/** What the cell counts for where its output is what is mapped. @param {import("./held.js").Layer} layer @param {Float64Array} weight @param {Float32Array} cell @param {Float32Array} gate */
function throughOutput(layer, weight, cell, gate) {
  const bend = bends(Float64Array.from(cell, Math.tanh), cell);
  return projectedBack(layer, weight).map((x, u) => x * gate[u] * bend[u]);
}

/**
 * What each word's input counts for in that number, and the rest, with all gates held. `instead` are the inputs that
 * stand in a word's place where it is taken away, by kind; without them it is zero.
 * @param {readonly Layer[]} layers @param {States} states @param {Direction} direction
 * @param {readonly Map<string, Float32Array>[]} instead @param {Pause} pause @returns {Promise<Split>}
 */
export async function path(layers, states, direction, instead, pause) {
  const [last] = layerOf(layers, direction.kind), { step, weight, constant } = direction;
  /** @type {(Float64Array | undefined)[]} */ const at = [];
  at[step] = weight;
  const slopes = new Map([[direction.kind, at]]); // what a unit of each state counts for
  for (const layer of layers.slice(0, layers.indexOf(last) + 1).reverse()) await heldSlopes(layer, states, slopes, pause);
  const outputs = new Set(layers.map((layer) => layer.json.ids[layer.json.output])), below = new Set(layers.flatMap((layer) => layer.json.below));
  const parts = (states.get(direction.kind) ?? []).map(() => 0);
  for (const kind of below) {
    if (outputs.has(kind)) continue;
    slopes.get(kind)?.forEach((slope, t) => {
      const real = states.get(kind)?.[t], other = instead[t]?.get(kind);
      if (slope && real) parts[t] += slope.reduce((sum, x, u) => sum + x * (real[u] - (other?.[u] ?? 0)), 0);
    });
  }
  // With gates held and a line for each tanh, the number is a sum over the inputs, and equals the real one for these.
  const real = dot(weight, (states.get(direction.kind) ?? [])[step]) + constant;
  return { parts, rest: real - parts.reduce((sum, part) => sum + part, 0) };
}

/** The layer whose memory, what is read of it, or output a kind is, and its letter. @param {readonly Layer[]} layers @param {string} kind @returns {[Layer, string]} */
function layerOf(layers, kind) {
  for (const layer of layers) {
    const [letter] = Object.entries(layer.json.ids).find(([, id]) => id === kind) ?? [];
    if (letter === undefined) continue;
    const { memories, output, read, ids } = layer.json, known = Object.entries(memories).flatMap(([memory, { kept }]) => [kept, memory]);
    if (known.length && read) known.push(read);
    if ([...known, output].includes(letter)) return [layer, letter];
    const named = known.length ? [...new Set([...known, output])].map((one) => ids[one]) : [];
    throw new UnknownWay(message("no_memory", { kind, known: named.join(", ") || message("no_memories") }));
  }
  throw new UnknownWay(message("no_recurrence", { kind }));
}

/** In a layer's own order of reading, or back. @template T @param {Layer} layer @param {T[]} values */
function inOrder(layer, values) {
  return layer.json.reverse ? [...values].reverse() : values;
}

/** @param {ArrayLike<number>} a @param {ArrayLike<number>} b */
function dot(a, b) {
  let sum = 0;
  for (let u = 0; u < a.length; u++) sum += a[u] * b[u];
  return sum;
}
