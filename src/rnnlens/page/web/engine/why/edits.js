// Edits: what if a state were another? Each changes one kind at one word, and all goes on from there.
//
// An edit is a short text, whose row is the number that is drawn, from 1:
//
//   l2@4=0          every unit is 0             l2@4=0.5        is 0.5
//   l2@4*0.5        is half of what it is       l2@4=freeze     stays what it was one word before
//   l2@4+said       is pushed towards a label   l2@4-said       away from it
//   l2@4+0.5:said   by half of the kind's deviation, instead of one
//   l2@4=@2         is that of row 2            l2@4=@2:we ran  that of row 2 of another text
//   l2[0,5-9]@4=0   some of its units alone, from 0

import { RnnlensError } from "../errors.js";
import { first, float, floatRepr, general, isDecimal, plainDigits, repr, strip } from "../python.js";

/** @typedef {{step: number, text: string | null}} Address where a state of some kind stands; no text: in the edited one */
/**
 * What a state becomes: one of these is given.
 * @typedef {{set?: number | number[], zero?: boolean, scale?: number, freeze?: boolean, swap?: Address, push?: string,
 *   away?: string, strength?: number}} Way
 */

const FORM = /^([^@[]+)(?:\[([^\]]*)\])?@(\p{Nd}{1,7})([=*+-].+)$/su;
const PUSH = /^(?:(\p{Nd}{1,6}(?:\.\p{Nd}{1,6})?):)?(.+)$/su;
const ROW = /^@(\p{Nd}{1,7})(?::(.*))?$/su;
const HELP = "write it like l2@4=0, l2@4*0.5, l2@4=freeze, l2@4+said, l2@4-said or l2@4=@2";
const QUOTED = 80; // characters of an edit that a refusal repeats
const MOST_DIGITS = 12; // of both ends of a span of units
const SPAN = 65536; // units of one span at most
const BRIEF = 60; // characters of numbers that a refusal repeats

/** A change of one kind after one word, counted from 0, from which the recurrence goes on. */
export class Edit {
  /** @param {string} kind @param {number} step @param {Way} way @param {number[] | null} units null: all of them */
  constructor(kind, step, way, units = null) {
    this.kind = kind;
    this.step = step;
    this.units = units;
    this.zero = way.zero ?? false;
    this.set = way.set ?? null;
    this.scale = way.scale ?? null;
    this.freeze = way.freeze ?? false;
    this.swap = way.swap ?? null;
    this.push = way.push ?? null;
    this.away = way.away ?? null;
    this.strength = way.strength ?? 1;
    for (const name of /** @type {const} */ (["set", "scale", "strength"])) {
      const value = this[name], numbers = value === null ? [] : Array.isArray(value) ? value : [value];
      if (!numbers.every(Number.isFinite)) {
        throw new RnnlensError(`${name}= of an edit is ${briefly(value)}; give a finite number`);
      }
    }
    if (this.strength <= 0) {
      throw new RnnlensError(`the strength of an edit of ${kind} is ${general(this.strength, 6)}; give one above 0, `
        + "and away= for the other way");
    }
  }

  /** The edit that a text such as l2@4=0 stands for. @param {string} text */
  static parse(text) {
    const [, kind, units, row, what] = FORM.exec(text) ?? [];
    if (!kind || wholeNumber(row) < 1) throw new RnnlensError(`${repr(first(text, QUOTED))} is no edit; ${HELP}`);
    const numbers = units === undefined ? null : spans(units, text);
    return new Edit(kind, wholeNumber(row) - 1, wayOf(what, text), numbers);
  }

  /** The label that it is pushed towards or away from. */
  get label() {
    return this.push ?? this.away;
  }

  /** Equal for edits that do the same. */
  toString() {
    const units = this.units ? `[${this.units.join(",")}]` : "";
    return `${this.kind}${units}@${this.step + 1}${this.what()}`;
  }

  what() {
    if (this.label !== null) return `${this.push !== null ? "+" : "-"}${short(this.strength)}:${this.label}`;
    if (this.scale !== null) return `*${floatRepr(this.scale)}`;
    if (this.freeze) return "=freeze";
    if (this.swap) return `=@${this.swap.step + 1}${this.swap.text === null ? "" : `:${this.swap.text}`}`;
    const values = this.zero ? [0] : Array.isArray(this.set) ? this.set : [this.set ?? 0];
    return `=${values.map(short).join(",")}`;
  }
}

/** @param {readonly string[]} edits */
export function parsed(edits) {
  return edits.map((edit) => Edit.parse(edit));
}

/** @param {string} digits */
function wholeNumber(digits) {
  return Number(plainDigits(digits));
}

/** @param {number} value */
function short(value) {
  return general(value, 9);
}

/** @param {number | number[] | null} value */
function briefly(value) {
  const shown = Array.isArray(value) ? `[${value.map(floatRepr).join(", ")}]` : floatRepr(value ?? NaN);
  return shown.length <= BRIEF ? shown : `${shown.slice(0, BRIEF)}…`;
}

/** The numbers of units that are written as 0,5-9. @param {string} units @param {string} text */
function spans(units, text) {
  /** @type {number[]} */ const numbers = [];
  for (const part of units.split(",")) {
    const trimmed = strip(part), dash = trimmed.indexOf("-");
    const begin = dash < 0 ? trimmed : trimmed.slice(0, dash), end = dash < 0 ? "" : trimmed.slice(dash + 1);
    const isSpan = isDecimal(begin) && (dash < 0 || isDecimal(end)) && [...begin, ...end].length <= MOST_DIGITS;
    const from = wholeNumber(begin), to = wholeNumber(end || begin);
    if (!isSpan || to < from) {
      throw new RnnlensError(`${repr(first(text, QUOTED))} names units ${repr(units)}; give numbers and spans, such as 0,5-9`);
    }
    for (let unit = from; unit <= Math.min(to, from + SPAN); unit++) numbers.push(unit);
  }
  return numbers;
}

/** What an edit does, from the rest of its text. @param {string} what @param {string} text @returns {Way} */
function wayOf(what, text) {
  const sign = what[0], rest = what.slice(1);
  if (sign === "+" || sign === "-") {
    const [, strength, label] = PUSH.exec(rest) ?? [];
    const size = strength === undefined ? 1 : wholeNumber(strength);
    return sign === "+" ? { push: label, strength: size } : { away: label, strength: size };
  }
  if (sign === "=" && rest === "freeze") return { freeze: true };
  const [, row, other] = (sign === "=" && ROW.exec(rest)) || [];
  if (row) {
    if (wholeNumber(row) < 1) {
      throw new RnnlensError(`${repr(first(text, QUOTED))} swaps with row ${row}; rows count from 1`);
    }
    return { swap: { step: wholeNumber(row) - 1, text: other ?? null } };
  }
  const numbers = rest.split(",").map((part) => float(part));
  if (numbers.includes(null)) {
    throw new RnnlensError(`${repr(first(text, QUOTED))} is no edit: ${repr(first(rest, 40))} is no number; ${HELP}`);
  }
  const values = /** @type {number[]} */ (numbers);
  if (sign === "*") return { scale: values.length === 1 ? values[0] : NaN };
  if (values.length === 1) return values[0] === 0 ? { zero: true } : { set: values[0] };
  return { set: values };
}
