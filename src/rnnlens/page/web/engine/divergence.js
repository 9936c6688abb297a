// How far apart two states are: the Jensen-Shannon divergence of what they predict.

import { pooled, softmax } from "./answers.js";
import { Refusal } from "../base/refusal.js";
import { LONGEST } from "./source.js";
import { thousands } from "../base/format.js";

/** @typedef {import("./network.js").Pause} Pause */
/** @typedef {import("./source.js").Request} Request */
/** @typedef {import("./source.js").GridSource} GridSource */
/** @typedef {import("../base/schema.d.ts").Posts} Posts */

const MOST = 2 * LONGEST; // words of all texts together

/**
 * The divergence of each pair of states in bits, exact: over all labels.
 * @param {GridSource} source @param {Posts["api/divergence"]["asked"]} question @param {Pause} pause
 * @returns {Promise<Posts["api/divergence"]["answer"]>}
 */
export async function divergences(source, { text = "", semantic = null, pairs }, pause) {
  /** @type {Map<string, Request>} */ const texts = new Map();
  const ends = pairs.map(({ a, b }) => [a, b].map(({ column, row, ...end }) => {
    const given = /** @type {const} */ ([end.text ?? text, end.semantic || semantic, null, end.edits ?? []]);
    const key = JSON.stringify(given), asked = texts.get(key) ?? source.request(...given);
    texts.set(key, asked);
    return { column, row, asked, key: JSON.stringify([column, row, key]) };
  }));
  const words = [...texts.values()].reduce((sum, { ids }) => sum + ids.length, 0);
  if (words > MOST) {
    throw new Refusal(`the states to compare are of texts with ${thousands(words)} words together; compare fewer, `
      + `at most ${thousands(MOST)} words`);
  }
  if (new Set([...texts.values()].map(({ answers }) => answers.names)).size > 1) {
    throw new Refusal("states that are asked about different labels cannot be compared");
  }
  /** @type {Map<string, Float64Array>} */ const found = new Map();
  for (const { column, row, asked, key } of ends.flat()) {
    if (!found.has(key)) found.set(key, softmax(pooled(asked.answers, await source.logits(asked, column, row, pause))));
  }
  const p = (/** @type {string} */ key) => found.get(key) ?? new Float64Array();
  return { bits: ends.map(([a, b]) => jensenShannon(p(a.key), p(b.key))) };
}

/** Between 0 (the same) and 1 (nothing in common) bits. @param {Float64Array} p @param {Float64Array} q */
export function jensenShannon(p, q) {
  const nats = entropy(p.map((x, v) => (x + q[v]) / 2)) - (entropy(p) + entropy(q)) / 2;
  return Math.min(1, Math.max(0, nats / Math.LN2));
}

/** @param {Float64Array} p */
function entropy(p) {
  return p.reduce((sum, x) => (x > 0 ? sum - x * Math.log(x) : sum), 0);
}
