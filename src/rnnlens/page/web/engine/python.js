// What Python's own functions do with texts and numbers where JavaScript's do otherwise. Refusals quote what was typed,
// and edits are written, as Python quotes and writes.

import { plainDigits } from "../base/edits.js";

const BLANK = "\\t-\\r\\x1c- \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const BLANKS = new RegExp(`[${BLANK}]+`, "u"), NUMBERS_BETWEEN = new RegExp(`[${BLANK},;]+`, "u");
const LEFT = new RegExp(`^[${BLANK}]+`), RIGHT = new RegExp(`[${BLANK}]+$`);
const HIDDEN = /[\p{C}\p{Z}]/u; // but for the space
const DIGIT = /^\p{Nd}$/u;
const DIGITS = "[0-9]+(?:_[0-9]+)*";
const NUMBER = new RegExp(`^[+-]?(?:${DIGITS}\\.?(?:${DIGITS})?|\\.${DIGITS})(?:[eE][+-]?${DIGITS})?$`);
const ESCAPES = /** @type {Record<string, string>} */ ({ "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" });

/** Whether there is a character, and all are spaces. @param {string} text */
export function isSpace(text) {
  return text !== "" && strip(text) === "";
}

/** @param {string} text */
export function strip(text) {
  return text.replace(LEFT, "").replace(RIGHT, "");
}

/** The pieces of a text between blanks. @param {string} text */
export function split(text) {
  return text.split(BLANKS).filter(Boolean);
}

/** The same where commas and semicolons stand between, too. @param {string} text */
export function splitNumbers(text) {
  return text.split(NUMBERS_BETWEEN).filter(Boolean);
}

/** The first characters of a text, none of them cut in half. @param {string} text @param {number} count */
export function first(text, count) {
  return text.length <= count ? text : [...text].slice(0, count).join("");
}

/** The last characters of a text. @param {string} text @param {number} count */
export function last(text, count) {
  return text.length <= count ? text : [...text].slice(-count).join("");
}

/** A text as it is quoted: 'the', or "it's". @param {string} text */
export function repr(text) {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  return quote + [...text].map((character) => escaped(character, quote)).join("") + quote;
}

/** @param {string} character @param {string} quote */
function escaped(character, quote) {
  if (character === quote) return `\\${quote}`;
  if (ESCAPES[character]) return ESCAPES[character];
  if (character === " " || !HIDDEN.test(character)) return character;
  const code = character.codePointAt(0) ?? 0, hex = code.toString(16);
  if (code <= 0xff) return `\\x${hex.padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}

/** Whether all characters are decimal digits, of whatever script. @param {string} text */
export function isDecimal(text) {
  return text !== "" && [...text].every((character) => DIGIT.test(character));
}

/** The number that a text is; null: it is none. @param {string} text */
export function float(text) {
  const plain = plainDigits(/[\x1c-\x1f]/.test(text) ? text : strip(text)); // which are no spaces around numbers
  const [, sign, name] = /^([+-]?)(inf|infinity|nan)$/i.exec(plain) ?? [];
  if (name) return name.toLowerCase() === "nan" ? NaN : sign === "-" ? -Infinity : Infinity;
  return NUMBER.test(plain) ? Number(plain.replaceAll("_", "")) : null;
}

/** A number with as few digits as tell it from all others, and a point: 1.0. @param {number} value */
export function floatRepr(value) {
  if (!Number.isFinite(value)) return special(value);
  const [digits, exponent] = scientific(value.toExponential());
  const written = placed(digits, exponent, 16);
  return minus(value) + (/[.e]/.test(written) ? written : `${written}.0`);
}

/** A number with at most so many digits, as f"{value:.9g}" has it. @param {number} value @param {number} count */
export function general(value, count) {
  if (!Number.isFinite(value)) return special(value);
  const [exact, place] = scientific(value.toExponential(100));
  const half = /^50*$/.test(exact.slice(count)) && Number(exact[count - 1]) % 2 === 0; // half way: to the even digit
  const [digits, exponent] = half ? [exact.slice(0, count), place] : scientific(value.toExponential(count - 1));
  return minus(value) + placed(digits.replace(/0+$/, "") || "0", exponent, count);
}

/** @param {number} value */
function special(value) {
  return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

/** @param {number} value */
function minus(value) {
  return value < 0 || Object.is(value, -0) ? "-" : "";
}

/** @param {string} written such as -1.25e-7 @returns {[string, number]} its digits, and the place of the first */
function scientific(written) {
  const [digits, exponent] = written.split("e");
  return [digits.replace(/[-.]/g, ""), Number(exponent)];
}

/** Digits with the point at its place, or with an exponent. @param {string} digits @param {number} exponent @param {number} most */
function placed(digits, exponent, most) {
  if (exponent < -4 || exponent >= most) {
    const rest = digits.slice(1), power = String(Math.abs(exponent)).padStart(2, "0");
    return `${digits[0]}${rest && `.${rest}`}e${exponent < 0 ? "-" : "+"}${power}`;
  }
  if (exponent < 0) return `0.${"0".repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0"), rest = digits.slice(exponent + 1);
  return rest ? `${whole}.${rest}` : whole;
}

/** Equal for words that differ in nothing but capital letters. @param {string} word */
export function folded(word) {
  return [...word].map((letter) => (letter === "ı" ? letter : letter.toLowerCase().toUpperCase().toLowerCase())).join("");
}

/** Rounded to so many decimals. @param {number} value @param {number} decimals */
export function rounded(value, decimals) {
  return Number(value.toFixed(decimals));
}

/** Which of two texts comes first, by their characters' numbers. @param {string} a @param {string} b */
export function compared(a, b) {
  const ours = [...a], theirs = [...b];
  const at = ours.findIndex((character, k) => character !== theirs[k]);
  if (at < 0) return ours.length - theirs.length;
  return (ours[at].codePointAt(0) ?? 0) - (theirs[at]?.codePointAt(0) ?? -1);
}

/** A pattern that a whole text has to match. @param {string} source as rules.json has it */
export function whole(source) {
  return new RegExp(`^(?:${source})$`, "su");
}
