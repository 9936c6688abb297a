// How the model goes on by itself: its words fed back to it, the likeliest ones and samples, with edits and without. A
// sample takes the label whose logit plus Gumbel's noise is largest; the noise is that of rnnlens/ask/continuation.py.

import { general } from "../python.js";
import { COUNTS } from "../../base/rules.js";
import { Lines } from "../lines.js";
import { uniform } from "../draws.js";
import { of, PREDICTION } from "../network.js";
import { isWithin, refusal } from "../refusals.js";

const SEEDS = 2 ** 32;

/**
 * @param {Subject} subject @param {Posts["api/continue"]["asked"]} question @param {Pause} pause
 * @returns {Promise<Posts["api/continue"]["answer"]>}
 */
export async function continued(subject, question, pause) {
  const reading = Lines.ofOne(subject, question), { words: count = 10, samples = 0, seed = 0 } = question;
  const { continuation_words: words, continuation_samples: most } = COUNTS, { follows, features, json, unknown } = subject.text;
  if (!isWithin(count, 1, words)) throw refusal("continuation_words", { count, most: words });
  if (!isWithin(samples, 0, most)) throw refusal("continuation_samples", { count: samples, most });
  if (!isWithin(seed, 0, SEEDS - 1)) throw refusal("continuation_seed", { count: seed, most: "4,294,967,295" });
  if (!follows || !(json.inputs === null || features === 1)) throw refusal("no_continuation", { run: subject.name });
  if (!reading.ids.length) throw refusal("empty_continuation");
  const choice = new Choice(features ? 0 : samples, seed, features ? null : unknown);
  const [before, ...without] = await goingOn(reading.edited([]), count, choice, pause);
  const [after, ...drawn] = reading.edits ? await goingOn(reading, count, choice, pause) : [before, ...without];
  return { before, after, samples: drawn, samples_before: without, left_out: features || unknown === null ? null : subject.text.name(unknown) };
}

/** Which label comes next: of the likeliest words, or of a sample. */
class Choice {
  /** @param {number} samples @param {number} seed @param {number | null} unknown the label that is left out */
  constructor(samples, seed, unknown) {
    this.samples = samples;
    this.seed = seed;
    this.unknown = unknown;
    /** @type {Map<string, Float64Array>} */ this.held = new Map();
  }

  /** @param {Float32Array} logits @param {number} which 0: the likeliest, 1: the first sample @param {number} step */
  of(logits, which, step) {
    const noise = which ? this.noise(which - 1, step, logits.length) : null;
    let best = -1, most = -Infinity;
    for (let label = 0; label < logits.length; label++) {
      const value = noise ? logits[label] + noise[label] : logits[label];
      if (value > most && label !== this.unknown) [best, most] = [label, value];
    }
    return best;
  }

  /** The noise for a word of a sample: the same with edits and without. @param {number} sample @param {number} step @param {number} labels */
  noise(sample, step, labels) {
    const key = `${sample} ${step}`, known = this.held.get(key);
    if (known) return known;
    const made = gumbel(this.seed, sample, step, labels);
    this.held.set(key, made);
    return made;
  }
}

/** Gumbel's noise for every label. @param {number} seed @param {number} sample @param {number} step @param {number} labels */
export function gumbel(seed, sample, step, labels) {
  return uniform(seed, sample, step, labels).map((share) => -Math.log(-Math.log(share)));
}

/** The words that follow a text: the likeliest, then those of each sample. @param {Reading} reading @param {number} count @param {Choice} choice @param {Pause} pause */
async function goingOn(reading, count, choice, pause) {
  const { text, network } = reading.subject, carries = network.forwards && text.mark === null && !text.features;
  const begin = carries ? await afterText(reading, pause) : null;
  /** @type {string[][]} */ const found = [];
  for (let which = 0; which <= choice.samples; which++) {
    const next = begin ? carriedOn(reading, begin, choice, which) : readAgain(reading, choice, which);
    /** @type {number[]} */ const words = [];
    while (words.length < count) words.push(...await next(words, pause));
    found.push(words.map((number) => text.name(number)));
  }
  return found;
}

/** What is carried out of a text, and the logits after it. @param {Reading} reading @param {Pause} pause */
async function afterText(reading, pause) {
  const { network } = reading.subject, { states } = await reading.states(reading.ids.length - 1, reading.ids.length, pause);
  const logits = network.prediction(of(states, PREDICTION)[0]);
  reading.edits?.checkSize(logits);
  return { carried: new Map(network.carried.map((kind) => [kind, of(states, kind)[0]])), logits };
}

/** @typedef {(words: number[], pause: Pause) => Promise<number[]>} Next the word after those that were found */

/**
 * Going on from what is carried.
 * @param {Reading} reading @param {{carried: import("../network.js").Carried, logits: Float32Array}} begin @param {Choice} choice @param {number} which
 * @returns {Next}
 */
function carriedOn({ ids, edits, subject: { network } }, begin, choice, which) {
  let { carried, logits } = begin;
  return async (words, pause) => {
    const read = ids.length + words.length, step = words.length;
    if (step) {
      const states = await network.states([...ids, ...words], read - 1, read, carried, null, pause);
      carried = new Map(network.carried.map((kind) => [kind, of(states, kind)[0]]));
      logits = network.prediction(of(states, PREDICTION)[0]);
      edits?.checkSize(logits);
      await pause();
    }
    return [choice.of(logits, which, step)];
  };
}

/** Reading all from its beginning for each word, where nothing is carried. @param {Reading} reading @param {Choice} choice @param {number} which @returns {Next} */
function readAgain(reading, choice, which) {
  const { text } = reading.subject;
  return async (words, pause) => {
    // A model that reads a mark first leaves the last word unread, whichever it is.
    const ids = [...reading.ids, ...words, ...(text.mark === null ? [] : [0])];
    const y = await reading.goingOn(ids).prediction(ids.length - 1, pause);
    if (text.features) return text.encode([[...y].map((value) => general(value, 4)).join()]); // a number, which is read as it is
    reading.edits?.checkSize(y);
    return [choice.of(y, which, words.length)];
  };
}
