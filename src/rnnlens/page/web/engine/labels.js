// Labels by their names; one that is not there is refused with those most like it.

import { compared, repr } from "./python.js";
import { COUNTS, TEXTS } from "../base/rules.js";
import { message, refusal } from "./refusals.js";

const LIKE = 0.6; // the least share of letters in common of words that are alike
const LONG = 200; // letters, of which the frequent ones begin no match

/**
 * Labels that begin as somebody has typed, and which of the names are no labels.
 * @param {Subject} subject @param {Posts["api/labels"]["asked"]} asked @returns {Posts["api/labels"]["answer"]}
 */
export function labels(subject, { semantic = null, begins = "", names = [] }) {
  const known = subject.answers(subject.checkedSemantic(semantic)).names;
  const starts = [begins, TEXTS.piece_blank + begins], equal = (/** @type {string} */ label) => starts.includes(label);
  const begun = begins ? known.filter((label) => starts.some((start) => label.startsWith(start))) : [];
  begun.sort((a, b) => Number(equal(b)) - Number(equal(a)));
  return { begins: begun.slice(0, COUNTS.completions), nearest: begun.length || !begins ? [] : closeMatches(begins, known),
    absent: [...new Set(names)].filter((name) => place(name, known) < 0) };
}

/** A label's place: that of a piece of words, or else of the one that begins a word so; -1: none. @param {string} label @param {readonly string[]} known */
function place(label, known) {
  const number = known.indexOf(label);
  return number < 0 ? known.indexOf(TEXTS.piece_blank + label) : number;
}

/** A label's place among all. @param {string} label @param {readonly string[]} known @returns {number} */
export function numberOf(label, known) {
  const number = place(label, known);
  if (number >= 0) return number;
  const begun = beginning(label, known), near = begun.length ? [] : closeMatches(label, known);
  const like = begun.length ? message("several_pieces", { pieces: begun.map(repr).join(", ") }) : near.length ? message("alike_labels", { labels: near.map(repr).join(", ") }) : message("no_alike_label");
  throw refusal("no_label", { label: repr(label), like });
}

/** The longest pieces that a word of several may begin with. @param {string} word @param {readonly string[]} known */
function beginning(word, known) {
  const blank = TEXTS.piece_blank, typed = [...(word.startsWith(blank) ? word.slice(blank.length) : word)];
  const starts = typed.slice(1).map((_, k) => blank + typed.slice(0, typed.length - 1 - k).join(""));
  return starts.filter((start) => known.includes(start)).slice(0, COUNTS.alike_labels);
}

/** The words most like one, as Python's difflib finds them. @param {string} word @param {readonly string[]} known */
export function closeMatches(word, known) {
  const b = [...word], places = placesOf(b), counts = countsOf(b);
  /** @type {[number, string][]} */ const found = [];
  for (const name of known) {
    const a = [...name], both = a.length + b.length;
    const share = (/** @type {number} */ common) => (both ? (2 * common) / both : 1);
    if (share(Math.min(a.length, b.length)) < LIKE || share(inCommon(a, counts)) < LIKE) continue;
    const ratio = share(matching(a, b, places));
    if (ratio >= LIKE) found.push([ratio, name]);
  }
  found.sort((one, other) => other[0] - one[0] || compared(other[1], one[1]));
  return found.slice(0, COUNTS.alike_labels).map(([, name]) => name);
}

/** @param {string[]} letters */
function countsOf(letters) {
  /** @type {Map<string, number>} */ const counts = new Map();
  for (const letter of letters) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  return counts;
}

/** Where each letter stands. @param {string[]} letters */
function placesOf(letters) {
  /** @type {Map<string, number[]>} */ const places = new Map();
  letters.forEach((letter, k) => places.set(letter, [...(places.get(letter) ?? []), k]));
  const most = letters.length >= LONG ? Math.floor(letters.length / 100) + 1 : Infinity;
  for (const [letter, at] of places) if (at.length > most) places.delete(letter);
  return places;
}

/** How many letters two words have in common, wherever. @param {string[]} a @param {Map<string, number>} counts of the other */
function inCommon(a, counts) {
  const left = new Map(counts);
  let common = 0;
  for (const letter of a) {
    const there = left.get(letter) ?? 0;
    if (there > 0) common++;
    left.set(letter, there - 1);
  }
  return common;
}

/** How many letters are in the longest pieces in common, and in those before and after them. @param {string[]} a @param {string[]} b @param {Map<string, number[]>} places */
function matching(a, b, places) {
  const open = [[0, a.length, 0, b.length]];
  let common = 0;
  for (let next = open.pop(); next; next = open.pop()) {
    const [i, j, size] = longest(a, b, places, next), [low, high, begin, end] = next;
    if (!size) continue;
    common += size;
    if (low < i && begin < j) open.push([low, i, begin, j]);
    if (i + size < high && j + size < end) open.push([i + size, high, j + size, end]);
  }
  return common;
}

/** The longest piece in common, the first of them. @param {string[]} a @param {string[]} b @param {Map<string, number[]>} places @param {number[]} within */
function longest(a, b, places, [low, high, begin, end]) {
  let [at, beside, size] = [low, begin, 0];
  /** @type {Map<number, number>} */ let lengths = new Map();
  for (let i = low; i < high; i++) {
    /** @type {Map<number, number>} */ const next = new Map();
    for (const j of places.get(a[i]) ?? []) {
      if (j < begin || j >= end) continue;
      const length = (lengths.get(j - 1) ?? 0) + 1;
      next.set(j, length);
      if (length > size) [at, beside, size] = [i - length + 1, j - length + 1, length];
    }
    lengths = next;
  }
  while (at > low && beside > begin && a[at - 1] === b[beside - 1]) [at, beside, size] = [at - 1, beside - 1, size + 1];
  while (at + size < high && beside + size < end && a[at + size] === b[beside + size]) size++;
  return [at, beside, size];
}
