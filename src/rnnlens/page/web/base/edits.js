// Edits: what if a state were another? Each is a short text such as l2@4=0, whose row counts from 1, as Python reads it.

import { visible } from "./format.js";

/** @typedef {import("./held.js").Held} Held */
/** @typedef {import("./schema.d.ts").Column} Column */
/** @typedef {import("./schema.d.ts").Pin} Pin */
/** @typedef {import("./schema.d.ts").Place} Place */
/**
 * An edit taken apart: `row` counts from 0, `units` is as it is written, `what` begins with =, *, + or -.
 * @typedef {{kind: string, units: string, row: number, what: string}} Edit
 * @typedef {{name: string, what: string}} Way what a state can become
 */

const FORM = /^([^@[]+)(\[[^\]]*\])?@(\d{1,7})([=*+-].+)$/s;
const AT = /^=@(\d{1,7})(?::(.*))?$/s;
const PUSH = /^([+-])(?:(\d{1,17}(?:\.\d{1,17})?(?:e[+-]?\d{1,3})?):)?(.+)$/s;

/** @param {string} text @returns {Edit | null} null: it is none */
export function parseEdit(text) {
  const [, kind, units = "", row, what] = FORM.exec(text) ?? [];
  return kind && Number(row) > 0 ? { kind, units, row: Number(row) - 1, what } : null;
}

/** @param {Edit} edit */
export function editText({ kind, units, row, what }) {
  return `${kind}${units}@${row + 1}${what}`;
}

/** Whether a state of a column can be changed: nothing goes on from the prediction. @param {Column} column */
export function isEditable(column) {
  return column.letter !== "" && column.letter !== "y";
}

/**
 * The kind and the row of a state as edits name it; null where it cannot be changed.
 * @param {Pick<Held, "columns" | "words" | "lines">} grid @param {Place} place
 */
export function targetOf(grid, place) {
  if (grid.lines.length) return null; // edits are of one text
  const column = grid.columns.find((one) => one.id === place.column), row = place.row - (column?.back ?? 0);
  return column && isEditable(column) && row >= 0 && row < grid.words.length ? { column, kind: column.kind, row } : null;
}

/** Edits with another, which takes the place of what was done to the same units. @param {string[]} edits @param {Edit} edit */
export function withEdit(edits, edit) {
  const same = (/** @type {string} */ text) => {
    const other = parseEdit(text);
    return other?.kind === edit.kind && other.row === edit.row && other.units === edit.units;
  };
  return [...edits.filter((text) => !same(text)), editText(edit)];
}

/** The edits that a state was changed by. @param {string[]} edits @param {{kind: string, row: number}} target */
export function editsAt(edits, { kind, row }) {
  return edits.filter((text) => {
    const edit = parseEdit(text);
    return edit?.kind === kind && edit.row === row;
  });
}

/** Which kinds are changed in a row. @param {string[]} edits @param {number} row */
export function editedKinds(edits, row) {
  return new Set(edits.flatMap((text) => {
    const edit = parseEdit(text);
    return edit?.row === row ? [edit.kind] : [];
  }));
}

/**
 * What a state can become, but for a push, which wants a label.
 * @param {Held} grid @param {Place} place @param {Pin[]} pins those of the same kind can stand in its place
 * @returns {Way[]}
 */
export function ways(grid, place, pins) {
  const target = targetOf(grid, place);
  if (!target) return [];
  const { column, kind, row } = target, before = row + (column.reverse ? 1 : -1);
  /** @type {Way[]} */ const freeze = grid.words[before] ? [{ name: "freeze", what: "=freeze" }] : [];
  const swaps = pins.flatMap((pin) => {
    const other = grid.columns.find((one) => one.id === pin.column), from = pin.row - (other?.back ?? 0);
    const here = pin.text === null || pin.text === grid.text;
    if (other?.kind !== kind || from < 0 || (pin.run ?? grid.run) !== grid.run || (here && from === row)) return [];
    const what = here ? `=@${from + 1}` : `=@${from + 1}:${pin.text}`;
    return [{ name: `swap with ${wayWords(grid, what)}`, what }];
  });
  return [{ name: "zero", what: "=0" }, { name: "half", what: "*0.5" }, ...freeze, ...swaps];
}

/** A push by one of the kind's own deviations. @param {boolean} towards @param {string} label */
export function push(towards, label) {
  return `${towards ? "+" : "-"}1:${label}`;
}

/** What an edit does, in words. @param {Pick<Held, "words">} grid @param {string} what */
export function wayWords(grid, what) {
  if (/^=0(\.0*)?$/.test(what)) return "zero";
  if (what === "=freeze") return "as one word before";
  const [, row, text] = AT.exec(what) ?? [];
  if (text !== undefined) return `that of word ${row} of “${visible(text)}”`;
  if (row) return `that after ${visible(grid.words[Number(row) - 1]?.text ?? `word ${row}`)}`;
  const [, sign, strength, label] = PUSH.exec(what) ?? [];
  if (sign) return `${sign === "+" ? "towards" : "away from"} ${visible(label)}${Number(strength ?? 1) === 1 ? "" : `, ${strength}`}`;
  if (/^\*0\.50*$/.test(what)) return "half";
  const value = what.slice(1), short = value.length > 24 ? `${value.slice(0, 24)}…` : value;
  return what[0] === "*" ? `times ${short}` : short;
}

/** An edit in words: l2 after dogs: zero. @param {Pick<Held, "words">} grid @param {string} text */
export function editWords(grid, text) {
  const edit = parseEdit(text);
  if (!edit) return visible(text);
  const after = visible(grid.words[edit.row]?.text ?? `word ${edit.row + 1}`);
  return `${visible(edit.kind + edit.units)} after ${after}: ${wayWords(grid, edit.what)}`;
}
