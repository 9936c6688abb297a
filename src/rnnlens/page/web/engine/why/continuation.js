// The model's own likeliest words, fed back to it: how it goes on, with edits and without.

import { general } from "../python.js";
import { COUNTS } from "../../base/rules.js";
import { Lines } from "../lines.js";
import { refusal } from "../refusals.js";

/**
 * @param {Subject} subject @param {Posts["api/continue"]["asked"]} question @param {Pause} pause
 * @returns {Promise<Posts["api/continue"]["answer"]>}
 */
export async function continued(subject, question, pause) {
  const reading = Lines.ofOne(subject, question), { words: count = 10 } = question, most = COUNTS.continuation_words;
  if (count < 1 || count > most) throw refusal("continuation_words", { count, most });
  const { follows, features, json } = subject.text;
  if (!follows || !(json.inputs === null || features === 1)) throw refusal("no_continuation", { run: subject.name });
  if (!reading.ids.length) throw refusal("empty_continuation");
  const before = await likeliest(reading.edited([]), count, pause);
  return { before, after: reading.edits ? await likeliest(reading, count, pause) : before };
}

/** The model's likeliest next word, read in its turn, so many times. @param {Reading} reading @param {number} count @param {Pause} pause */
async function likeliest(reading, count, pause) {
  const { text } = reading.subject;
  /** @type {number[]} */ const found = [];
  while (found.length < count) {
    // A model that reads a mark first leaves the last word unread, whichever it is.
    const ids = [...reading.ids, ...found, ...(text.mark === null ? [] : [0])], last = ids.length - 1;
    const y = await reading.goingOn(ids).prediction(last, pause);
    const isNumber = text.features > 0; // which is read as it is
    if (!isNumber) reading.edits?.checkSize(y);
    found.push(...(isNumber ? text.encode([[...y].map((value) => general(value, 4)).join()]) : [largest(y)]));
  }
  return found.map((number) => text.name(number));
}

/** @param {Float32Array} logits */
function largest(logits) {
  return logits.reduce((best, x, v) => (x > logits[best] ? v : best), 0);
}
