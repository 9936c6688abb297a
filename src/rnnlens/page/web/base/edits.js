// Edits: what if a state were another? Each is a short text such as l2@4=0, whose row counts from 1, or l2@2:4=0 in the
// second of two readings alone. The notation is that of rnnlens/reading/edits.py.

import { visible } from "./format.js";
import { PATTERNS } from "./rules.js";

/** @typedef {import("./schema.d.ts").Line["side"]} Side of two readings; both: of each that has the kind and the row */
/**
 * The parts of an edit as they are written: `row` counts from 0, `what` begins with =, *, + or -.
 * @typedef {{kind: string, units: string, side: Side, row: number, what: string}} Parts
 * @typedef {{sign: string, value: string, push: {strength: string | undefined, label: string} | null,
 *   swap: {row: string, text: string | null} | null}} WayParts
 */

const [FORM, PUSH, SWAP] = [PATTERNS.edit, PATTERNS.edit_push, PATTERNS.edit_swap].map((source) => new RegExp(`^(?:${source})$`, "su"));
const SIDES = /** @type {Record<string, Side>} */ ({ "": "both", 1: "first", 2: "second" });
const NUMBERS = { both: "", first: "1:", second: "2:" };

/** @param {string} text @returns {Parts | null} null: it is no edit */
export function editParts(text) {
  const [, kind, units, side = "", row, what] = FORM.exec(text) ?? [], at = Number(plainDigits(row ?? "0"));
  return at > 0 ? { kind, units: units === undefined || (!units && kind.endsWith("]")) ? "" : `[${units}]`, side: SIDES[side], row: at - 1, what } : null;
}

/** The same text with the digits of every script as 0 to 9. @param {string} text */
export function plainDigits(text) {
  return text.replace(/(?![0-9])\p{Nd}/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    let before = 0; // the digits of a script stand in a row, and rows of digits one after the other
    while (/^\p{Nd}$/u.test(String.fromCodePoint(code - before - 1))) before++;
    return String(before % 10);
  });
}

/** @param {Parts} parts */
export function editText({ kind, units, side, row, what }) {
  return `${kind}${units || (kind.endsWith("]") ? "[]" : "")}@${NUMBERS[side]}${row + 1}${what}`;
}

/** What an edit does, taken apart: a push, a swap or a value. @param {string} what @returns {WayParts} */
export function wayParts(what) {
  const sign = what[0], value = what.slice(1), [, strength, label] = (/[+-]/.test(sign) && PUSH.exec(value)) || [];
  const [, row, text = null] = (sign === "=" && SWAP.exec(value)) || [];
  return { sign, value, push: label === undefined ? null : { strength, label }, swap: row === undefined ? null : { row, text } };
}

/** Whether a state of a column can be changed: nothing goes on from the prediction. @param {Column} column */
export function isEditable(column) {
  return column.letter !== "y";
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
    const what = `=@${step + 1}${text === null ? "" : `:${text}`}`;
    return [{ name: `swap with ${wayWords(what, known)}`, what }];
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

/** The edits of one of the readings, of both the first's, as in its text alone. @param {Held} grid @param {Side} side */
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

/** What an edit does, in words. @param {string} what @param {string[]} words of the text */
function wayWords(what, words) {
  const { sign, value, push: pushed, swap } = wayParts(what), number = Number(plainDigits(value));
  if (what === "=freeze") return "as one word before";
  if (swap?.text) return `that of word ${swap.row} of “${visible(swap.text)}”`;
  if (swap) return `that after ${visible(words[Number(swap.row) - 1] ?? `word ${swap.row}`)}`;
  if (pushed) {
    const far = Number(pushed.strength ?? 1) === 1 ? "" : `, ${pushed.strength}`;
    return `${sign === "+" ? "towards" : "away from"} ${visible(pushed.label)}${far}`;
  }
  if (sign === "=" && number === 0) return "zero";
  const shown = value.length > 24 ? `${value.slice(0, 24)}…` : value;
  return sign === "=" ? visible(shown) : number === 0.5 ? "half" : `times ${visible(shown)}`;
}

/** An edit in words: l2 after dogs: zero. @param {Pick<Held, "words" | "lines">} grid @param {string} text */
export function editWords(grid, text) {
  const parts = editParts(text);
  if (!parts) return visible(text);
  const { kind, units, side, row, what } = parts, words = wordsOf(grid, side), after = visible(words[row] ?? `word ${row + 1}`);
  return `${visible(kind + units)} after ${after}${side === "both" ? "" : ` of the ${side}`}: ${wayWords(what, words)}`;
}
