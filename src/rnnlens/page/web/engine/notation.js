// Two texts in one: `the keys {is|are} here` is each of them with one alternative of the braces. A brace behind a
// backslash is one of the text: `\{is|are\}` stands in a single text.

import { first, isSpace, last, repr, strip } from "./python.js";
import { COUNTS, PATTERNS } from "../base/rules.js";
import { message, refusal } from "./refusals.js";

/** @typedef {{has(word: string): boolean}} Words those that a model knows */

// Patterns only once they are used: a browser that knows no lookbehind must still draw what is there without an engine.
const braces = () => new RegExp(PATTERNS.braces, "gu"), brace = () => new RegExp(PATTERNS.brace, "gu");

/**
 * The two texts that a text with braces stands for; null: it is one text. Of a model that reads braces and bars, only those
 * with one bar and no blank beside them are alternatives; where it knows braces alone, those that stand by themselves are words.
 * @param {string} text @param {Words} known @returns {[string, string] | null}
 */
export function twoTexts(text, known) {
  if (text.search(brace()) < 0) return null;
  const sides = ["", ""], reads = readsBraces(known);
  let end = 0;
  for (const match of text.matchAll(reads ? new RegExp(PATTERNS.tight_braces, "gu") : braces())) {
    if (!reads && isWords(match[0], known)) continue;
    const between = text.slice(end, match.index);
    if (!reads) refuseStrays(between, known);
    alternatives(match[0]).forEach((alternative, k) => {
      sides[k] = joined(joined(sides[k], between), alternative);
    });
    end = match.index + match[0].length;
  }
  if (!reads) refuseStrays(text.slice(end), known);
  return end ? [joined(sides[0], text.slice(end)), joined(sides[1], text.slice(end))] : null;
}

/** Whether braces and bars are words of a model, so that most of them are its own. @param {Words} known */
function readsBraces(known) {
  return known.has("{") && known.has("|");
}

/** What a single text says: its braces without the backslashes before them. @param {string} text @param {Words} known */
export function plain(text, known) {
  if (readsBraces(known)) return text.replace(new RegExp(PATTERNS.escaped_tight_braces, "gu"), "$1$2$3");
  return text.replace(new RegExp(PATTERNS.escaped_brace, "gu"), "$1");
}

/** Whether braces are words of the model, which stand by themselves and have no bar between. @param {string} inside @param {Words} known */
function isWords(inside, known) {
  const characters = [...inside], apart = isSpace(characters[1]) && isSpace(characters[characters.length - 2]);
  return apart && !inside.includes("|") && known.has("{") && known.has("}");
}

/** What stands in braces on both sides of the bar. @param {string} text */
function alternatives(text) {
  const inside = text.slice(1, -1).split("|").map(strip), told = { braces: quoted(text), how: message("braces") };
  if (inside.length === 1) throw refusal("no_bar", told);
  if (inside.length > 2) throw refusal("many_alternatives", { ...told, count: inside.length, more: inside.length - 2 });
  if (!inside.some(Boolean)) throw refusal("empty_alternatives", told);
  return inside;
}

/** One after the other, with one space where an empty alternative leaves two. @param {string} text @param {string} more */
function joined(text, more) {
  return text + (!text || text.endsWith(" ") ? more.replace(/^ +/, "") : more);
}

/** @param {string} text @param {Words} known */
function refuseStrays(text, known) {
  for (const { 0: one, index } of text.matchAll(brace())) {
    const around = text.slice(Math.max(0, index - 1), index) + text.slice(index + 1, index + 2);
    if (known.has(one) && !strip(around)) continue;
    const opens = one === "{", part = opens ? text.slice(index) : text.slice(0, index + 1);
    throw refusal(opens ? "open_brace" : "closing_brace", { text: quoted(part, opens), how: message("braces") });
  }
}

/** @param {string} text @param {boolean} begin whether its begin is what matters, not its end */
function quoted(text, begin = true) {
  const short = begin ? first(text, COUNTS.quoted_braces) : last(text, COUNTS.quoted_braces);
  if (short === text) return repr(text);
  return repr(begin ? `${short}…` : `…${short}`);
}
