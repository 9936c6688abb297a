// An edit as it is made: the parts that base/edits.js takes its text apart into, read as numbers, units and labels.

import { editParts, editText, plainDigits, wayParts } from "../../base/edits.js";
import { COUNTS } from "../../base/rules.js";
import { first, float, floatRepr, general, isDecimal, repr, strip } from "../python.js";
import { message, refusal } from "../refusals.js";

/** @typedef {import("../../base/edits.js").Side} Side */
/** @typedef {{step: number, text: string | null}} Address where a state of some kind stands; no text: in the edited one */
/**
 * What a state becomes: one of these is given.
 * @typedef {{set?: number | number[], zero?: boolean, scale?: number, freeze?: boolean, swap?: Address, push?: string,
 *   away?: string, strength?: number}} Way
 */

/** A change of one kind after one word, counted from 0, from which the recurrence goes on. */
export class Edit {
  /** @param {string} kind @param {number} step @param {Way} way @param {number[] | null} units null: all of them @param {Side} side */
  constructor(kind, step, way, units = null, side = "both") {
    this.kind = kind;
    this.step = step;
    this.units = units;
    this.side = side;
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
      if (!numbers.every(Number.isFinite)) throw refusal("edit_finite", { name, value: briefly(value) });
    }
    if (this.strength <= 0) throw refusal("edit_strength", { kind, strength: general(this.strength, 6) });
  }

  /** The edit that a text such as l2@4=0 stands for. @param {string} text */
  static parse(text) {
    const parts = editParts(text);
    if (!parts) throw refusal("no_edit", { text: quoted(text), how: message("edit") });
    const { kind, row, side, what } = parts, units = parts.units ? spans(parts.units.slice(1, -1), text) : null;
    return new Edit(kind, row, wayOf(what, text), units, side);
  }

  /** The label that it is pushed towards or away from. */
  get label() {
    return this.push ?? this.away;
  }

  /** Equal for edits that do the same. */
  toString() {
    return this.on(this.side);
  }

  /** The text of what does the same, made in this reading or in both. @param {Side} side */
  on(side) {
    const { kind, step: row } = this, units = this.units ? `[${this.units.join(",")}]` : "";
    return editText({ kind, units, side, row, what: this.what() });
  }

  what() {
    if (this.label !== null) return `${this.push !== null ? "+" : "-"}${exact(this.strength)}:${this.label}`;
    if (this.scale !== null) return `*${floatRepr(this.scale)}`;
    if (this.freeze) return "=freeze";
    if (this.swap) return `=@${this.swap.step + 1}${this.swap.text === null ? "" : `:${this.swap.text}`}`;
    const values = this.zero ? [0] : Array.isArray(this.set) ? this.set : [this.set ?? 0];
    return `=${values.map(short).join(",")}`;
  }
}

/** @param {string} digits */
function wholeNumber(digits) {
  return Number(plainDigits(digits));
}

/** @param {number} value */
function short(value) {
  return general(value, 9);
}

/** A number that is read again as the same. @param {number} value */
function exact(value) {
  return Number(short(value)) === value ? short(value) : floatRepr(value);
}

/** @param {string} text */
function quoted(text) {
  return repr(first(text, COUNTS.quoted_edit));
}

/** @param {number | number[] | null} value */
function briefly(value) {
  const shown = Array.isArray(value) ? `[${value.map(floatRepr).join(", ")}]` : floatRepr(value ?? NaN);
  return shown.length <= COUNTS.quoted_numbers ? shown : `${shown.slice(0, COUNTS.quoted_numbers)}…`;
}

/** The numbers of units that are written as 0,5-9. @param {string} units @param {string} text */
function spans(units, text) {
  /** @type {number[]} */ const numbers = [];
  for (const part of units.split(",")) {
    const trimmed = strip(part), dash = trimmed.indexOf("-");
    const begin = dash < 0 ? trimmed : trimmed.slice(0, dash), end = dash < 0 ? "" : trimmed.slice(dash + 1);
    const isSpan = isDecimal(begin) && (dash < 0 || isDecimal(end)) && [...begin, ...end].length <= COUNTS.unit_digits;
    const from = wholeNumber(begin), to = wholeNumber(end || begin);
    if (!isSpan || to < from) throw refusal("edit_units", { text: quoted(text), units: repr(units) });
    for (let unit = from; unit <= Math.min(to, from + COUNTS.unit_span); unit++) numbers.push(unit);
  }
  return numbers;
}

/** What an edit does, from the rest of its text. @param {string} what @param {string} text @returns {Way} */
function wayOf(what, text) {
  const { sign, value, push, swap } = wayParts(what);
  if (push) return { [sign === "+" ? "push" : "away"]: push.label, strength: wholeNumber(push.strength ?? "1") };
  if (what === "=freeze") return { freeze: true };
  if (swap && wholeNumber(swap.row) < 1) throw refusal("edit_swap_row", { text: quoted(text), row: swap.row });
  if (swap) return { swap: { step: wholeNumber(swap.row) - 1, text: swap.text } };
  const numbers = value.split(",").map((part) => float(part));
  if (numbers.includes(null)) {
    throw refusal("edit_number", { text: quoted(text), value: repr(first(value, COUNTS.quoted_number)), how: message("edit") });
  }
  const values = /** @type {number[]} */ (numbers);
  if (sign === "*") return { scale: values.length === 1 ? values[0] : NaN };
  if (values.length === 1) return values[0] === 0 ? { zero: true } : { set: values[0] };
  return { set: values };
}
