// How far apart pairs of states are: the Jensen-Shannon divergence of what they predict, exact, over all labels.

import { jensenShannon } from "../base/divergence.js";
import { thousands } from "../base/format.js";
import { COUNTS } from "../base/rules.js";
import { pooled, softmax } from "./answers.js";
import { Lines } from "./lines.js";
import { refusal } from "./refusals.js";

/**
 * @param {Subject} subject @param {Posts["api/divergence"]["asked"]} question @param {Pause} pause
 * @returns {Promise<Posts["api/divergence"]["answer"]>}
 */
export async function divergences(subject, { text = "", semantic = null, pairs }, pause) {
  /** @type {Map<string, Reading>} */ const texts = new Map();
  const ends = pairs.map(({ a, b }) => [a, b].map(({ column, row, ...end }) => {
    const asked = { text: end.text ?? text, semantic: end.semantic || semantic, edits: end.edits ?? [] }, key = JSON.stringify(asked);
    const reading = texts.get(key) ?? Lines.ofOne(subject, asked);
    texts.set(key, reading);
    return { column, row, reading, key: JSON.stringify([column, row, key]) };
  }));
  const count = [...texts.values()].reduce((sum, { ids }) => sum + ids.length, 0), most = COUNTS.compared_words;
  if (count > most) throw refusal("compared_words", { count: thousands(count), most: thousands(most) });
  if (new Set([...texts.values()].map(({ answers }) => answers.names)).size > 1) throw refusal("compared_labels");
  /** @type {Map<string, Float64Array>} */ const found = new Map();
  for (const { column, row, reading, key } of ends.flat()) {
    if (!found.has(key)) found.set(key, softmax(pooled(reading.answers, await reading.logits(column, row, pause))));
  }
  const p = (/** @type {string} */ key) => found.get(key) ?? new Float64Array();
  return { bits: ends.map(([a, b]) => jensenShannon(p(a.key), p(b.key))) };
}
