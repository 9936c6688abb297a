// The model's own likeliest words, fed back to it: how it goes on, with edits and without.

import { Refusal } from "../../base/refusal.js";
import { general } from "../../base/python.js";

/** @typedef {import("../network.js").Pause} Pause */
/** @typedef {import("../source.js").GridSource} GridSource */
/** @typedef {import("../source.js").Request} Request */
/** @typedef {import("../../base/schema.d.ts").Posts} Posts */

const MOST = 200; // words to go on with

/**
 * @param {GridSource} source @param {Posts["api/continue"]["asked"]} question @param {Pause} pause
 * @returns {Promise<Posts["api/continue"]["answer"]>}
 */
export async function continued(source, { text, edits, words: count = 10 }, pause) {
  const asked = source.request(text, null, null, edits ?? []);
  if (count < 1 || count > MOST) {
    throw new Refusal(`${count} words to go on with: give a number from 1 to ${MOST}`);
  }
  const { follows, features, json } = source.text;
  if (!follows || !(json.inputs === null || features === 1)) {
    throw new Refusal(`${source.name} does not predict the words that it reads, so that it cannot go on with its own`);
  }
  if (!asked.ids.length) throw new Refusal("the text is empty; give words to go on from");
  const before = await likeliest(source, { ...asked, edits: null }, count, pause);
  return { before, after: asked.edits ? await likeliest(source, asked, count, pause) : before };
}

/** The model's likeliest next word, read in its turn, so many times. @param {GridSource} source @param {Request} asked @param {number} count @param {Pause} pause */
async function likeliest(source, asked, count, pause) {
  const { text } = source;
  /** @type {number[]} */ const found = [];
  while (found.length < count) {
    // A model that reads a mark first leaves the last word unread, whichever it is.
    const ids = [...asked.ids, ...found, ...(text.mark === null ? [] : [0])], last = ids.length - 1;
    const y = await source.prediction({ ...asked, ids }, last, pause);
    const isNumber = text.features > 0; // which is read as it is
    if (!isNumber) asked.edits?.checkSize(y);
    found.push(...(isNumber ? text.encode([[...y].map((value) => general(value, 4)).join()]) : [largest(y)]));
  }
  return found.map((number) => text.name(number));
}

/** @param {Float32Array} logits */
function largest(logits) {
  return logits.reduce((best, x, v) => (x > logits[best] ? v : best), 0);
}
