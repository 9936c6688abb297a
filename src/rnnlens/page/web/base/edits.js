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
//   l2@2:4=0        in the second of two readings alone

import { visible } from "./format.js";
import { first, float, floatRepr, general, isDecimal, plainDigits, repr, strip, whole } from "./python.js";
import { message, Refusal, refusal } from "./refusal.js";
import { COUNTS, PATTERNS } from "./rules.js";

/** @typedef {import("./held.js").Held} Held */
/** @typedef {import("./schema.d.ts").Column} Column */
/** @typedef {import("./schema.d.ts").Pin} Pin */
/** @typedef {import("./schema.d.ts").Place} Place */
/** @typedef {import("./schema.d.ts").Line["side"]} Side of two readings; both: of each that has the kind and the row */
/** @typedef {{step: number, text: string | null}} Address where a state of some kind stands; no text: in the edited one */
/**
 * The parts of an edit as they are written: `row` counts from 0, `what` begins with =, *, + or -.
 * @typedef {{kind: string, units: string, side: Side, row: number, what: string}} Parts
 * What a state becomes: one of these is given.
 * @typedef {{set?: number | number[], zero?: boolean, scale?: number, freeze?: boolean, swap?: Address, push?: string,
 *   away?: string, strength?: number}} Way
 */

const FORM = whole(PATTERNS.edit), PUSH = whole(PATTERNS.edit_push), SWAP = whole(PATTERNS.edit_swap);
const SIDES = /** @type {Record<string, Side>} */ ({ "": "both", 1: "first", 2: "second" });
const NUMBERS = { both: "", first: "1:", second: "2:" };

/** @param {string} text @returns {Parts | null} null: it is no edit */
export function editParts(text) {
  const [, kind, units, side = "", row, what] = FORM.exec(text) ?? [];
  const at = wholeNumber(row ?? "0");
  return at > 0 ? { kind, units: units === undefined ? "" : `[${units}]`, side: SIDES[side], row: at - 1, what } : null;
}

/** @param {Parts} parts */
export function editText({ kind, units, side, row, what }) {
  return `${kind}${units}@${NUMBERS[side]}${row + 1}${what}`;
}

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
    const { kind, side, step: row } = this, units = this.units ? `[${this.units.join(",")}]` : "";
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
  const sign = what[0], rest = what.slice(1);
  if (sign === "+" || sign === "-") {
    const [, strength = "1", label] = PUSH.exec(rest) ?? [];
    return { [sign === "+" ? "push" : "away"]: label, strength: wholeNumber(strength) };
  }
  if (sign === "=" && rest === "freeze") return { freeze: true };
  const [, row, other] = (sign === "=" && SWAP.exec(rest)) || [];
  if (row) {
    if (wholeNumber(row) < 1) throw refusal("edit_swap_row", { text: quoted(text), row });
    return { swap: { step: wholeNumber(row) - 1, text: other ?? null } };
  }
  const numbers = rest.split(",").map((part) => float(part));
  if (numbers.includes(null)) {
    throw refusal("edit_number", { text: quoted(text), value: repr(first(rest, COUNTS.quoted_number)), how: message("edit") });
  }
  const values = /** @type {number[]} */ (numbers);
  if (sign === "*") return { scale: values.length === 1 ? values[0] : NaN };
  if (values.length === 1) return values[0] === 0 ? { zero: true } : { set: values[0] };
  return { set: values };
}

/** Whether a state of a column can be changed: nothing goes on from the prediction. @param {Column} column */
export function isEditable(column) {
  return column.letter !== "" && column.letter !== "y";
}

/**
 * The kind, the row and the reading of a state as edits name it; null where it cannot be changed.
 * @param {Pick<Held, "columns" | "words" | "lines">} grid @param {Place} place
 */
export function targetOf(grid, place) {
  const column = grid.columns.find((one) => one.id === place.column), line = grid.lines[place.row];
  const read = line ? line.row : place.row, row = (read ?? -1) - (column?.back ?? 0);
  const isThere = row >= 0 && place.row < grid.words.length;
  return column && isEditable(column) && isThere ? { column, kind: column.kind, row, side: line?.side ?? "both" } : null;
}

/** Whether an edit is made in a reading. @param {Side} side of the edit @param {Side} reading */
export function isOfSide(side, reading) {
  return side === "both" || reading === "both" || side === reading;
}

/** Edits with another, which takes the place of what was done to the same units. @param {string[]} edits @param {Parts} edit */
export function withEdit(edits, edit) {
  const same = (/** @type {string} */ text) => {
    const other = editParts(text);
    return other?.kind === edit.kind && other.row === edit.row && other.units === edit.units && other.side === edit.side;
  };
  return [...edits.filter((text) => !same(text)), editText(edit)];
}

/** The edits that a state was changed by. @param {string[]} edits @param {{kind: string, row: number, side: Side}} target */
export function editsAt(edits, { kind, row, side }) {
  return edits.filter((text) => {
    const edit = editParts(text);
    return edit?.kind === kind && edit.row === row && isOfSide(edit.side, side);
  });
}

/**
 * What a state can become, but for a push, which wants a label.
 * @param {Held} grid @param {Place} place @param {Pin[]} pins those of the same kind can stand in its place
 * @returns {{name: string, what: string}[]}
 */
export function ways(grid, place, pins) {
  const target = targetOf(grid, place);
  if (!target) return [];
  const { column, kind, row, side } = target, before = row + (column.reverse ? 1 : -1);
  const here = readingOf(grid, side), known = wordsOf(grid, side);
  const freeze = known[before] === undefined ? [] : [{ name: "freeze", what: "=freeze" }];
  const swaps = pins.flatMap((pin) => {
    const other = grid.columns.find((one) => one.id === pin.column), step = pin.row - (other?.back ?? 0);
    const text = pin.text === null || pin.text === here.text ? null : pin.text;
    if (other?.kind !== kind || step < 0 || (pin.run ?? here.run) !== here.run || (text === null && step === row)) return [];
    const swap = new Edit(kind, row, { swap: { step, text } });
    return [{ name: `swap with ${wayWords(swap, known)}`, what: swap.what() }];
  });
  return [{ name: "zero", what: "=0" }, { name: "half", what: "*0.5" }, ...freeze, ...swaps];
}

/** The text of a reading and the run that reads it. @param {Pick<Held, "run" | "text" | "sides">} grid @param {Side} side */
function readingOf(grid, side) {
  return grid.sides.length ? grid.sides[side === "second" ? 1 : 0] : grid;
}

/** The words of a reading. @param {Pick<Held, "words" | "lines">} grid @param {Side} side */
function wordsOf({ words, lines }, side) {
  const every = words.map(({ text }) => text);
  return lines.length ? every.filter((_, k) => lines[k].row !== null && isOfSide(lines[k].side, side === "both" ? "first" : side)) : every;
}

/** Edits that were made in one of the readings, of both in the first, as they are made in its text alone. @param {Held} grid @param {Side} side */
export function editsOf(grid, side) {
  const { length } = wordsOf(grid, side), reading = side === "both" ? "first" : side;
  return !grid.lines.length ? grid.edits : grid.edits.flatMap((text) => {
    const edit = editParts(text);
    return edit && edit.row < length && isOfSide(edit.side, reading) ? [editText({ ...edit, side: "both" })] : [];
  });
}

/** An edit of the other of two readings; one of both is of both. @param {string} text */
export function withOtherSide(text) {
  const edit = editParts(text), other = /** @type {const} */ ({ both: "both", first: "second", second: "first" });
  return edit ? editText({ ...edit, side: other[edit.side] }) : text;
}

/** A push by one of the kind's own deviations. @param {boolean} towards @param {string} label */
export function push(towards, label) {
  return `${towards ? "+" : "-"}1:${label}`;
}

/** What an edit does, in words. @param {Edit} edit @param {string[]} words of the text */
function wayWords({ zero, freeze, swap, scale, label, push: towards, strength, set }, words) {
  if (zero) return "zero";
  if (freeze) return "as one word before";
  if (swap?.text) return `that of word ${swap.step + 1} of “${visible(swap.text)}”`;
  if (swap) return `that after ${visible(words[swap.step] ?? `word ${swap.step + 1}`)}`;
  if (label !== null) return `${towards !== null ? "towards" : "away from"} ${visible(label)}${strength === 1 ? "" : `, ${exact(strength)}`}`;
  if (scale !== null) return scale === 0.5 ? "half" : `times ${short(scale)}`;
  const values = (Array.isArray(set) ? set : [set ?? 0]).map(short).join(",");
  return values.length > 24 ? `${values.slice(0, 24)}…` : values;
}

/** An edit in words: l2 after dogs: zero. @param {Pick<Held, "words" | "lines">} grid @param {string} text */
export function editWords(grid, text) {
  const parts = editParts(text);
  if (!parts) return visible(text);
  const { kind, units, side, row, what } = parts, words = wordsOf(grid, side), after = visible(words[row] ?? `word ${row + 1}`);
  const where = side === "both" ? "" : ` of the ${side}`;
  return `${visible(kind + units)} after ${after}${where}: ${told(text, words) ?? visible(what)}`;
}

/** @param {string} text @param {string[]} words null: it cannot be read */
function told(text, words) {
  try {
    return wayWords(Edit.parse(text), words);
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}
