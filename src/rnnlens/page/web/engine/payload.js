// The grid of a sentence as the page is given it, as rnnlens/reading/payload.py writes it.

import { DIGITS, significant } from "./encoding.js";

/** @typedef {import("../base/schema.d.ts").State} State */
/** @typedef {import("../base/schema.d.ts").Word} Word */
/** @typedef {import("./encoding.js").Encoding} Encoding */
/** @typedef {import("./encoding.js").Outcome} Outcome */
/** @typedef {import("./palette.js").Palette} Palette */
/** @typedef {import("./text.js").Text} Text */

export const OTHER = "OTHER"; // the group of every label that is not listed

/**
 * The words of the text and what the model takes them for; `own`: the palette is for the labels of the model.
 * @param {string[]} words @param {number[]} ids @param {Text} text @param {Palette} palette @param {boolean} own
 * @returns {Word[]}
 */
export function wordsJson(words, ids, text, palette, own) {
  const labels = own ? text.labelsOf(ids) : ids.map(() => -1);
  return words.map((word, k) => ({
    text: word,
    label: text.name(ids[k]),
    unknown: text.isUnknown(ids[k]),
    group: labels[k] >= 0 ? palette.groups[palette.groupOf[labels[k]]] : OTHER,
    value: text.values(ids[k])[0] ?? null,
  }));
}

/**
 * What is drawn for a state.
 * @param {Encoding} encoding @param {Outcome} outcome @param {number} wanted @param {readonly string[]} labels
 * @param {Palette} palette @returns {State}
 */
export function stateJson(encoding, outcome, wanted, labels, palette) {
  const { group, share, entropy, numbers, probabilities } = encoding;
  return {
    colour: palette.faded(group, share),
    group: palette.groups[group],
    share: significant(share),
    entropy: significant(entropy),
    top: encoding.labels.map((label, k) => [labels[label], significant(probabilities[k])]),
    wanted: wanted < 0 ? null : [labels[wanted], significant(outcome.came), outcome.rank],
    unread: false,
    number: numbers && /** @type {[number, number, number]} */ (numbers.map((value) => Number(value.toPrecision(DIGITS)))),
  };
}

/**
 * The group of every label that states name, in the order of the labels' numbers.
 * @param {Iterable<number>} named @param {readonly string[]} labels @param {Palette} palette
 * @returns {Record<string, string>}
 */
export function labelsJson(named, labels, palette) {
  const numbers = [...new Set(named)].sort((a, b) => a - b);
  return Object.fromEntries(numbers.map((label) => [labels[label], palette.groups[palette.groupOf[label]]]));
}
