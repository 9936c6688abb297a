// A part of a grid: rows and kinds as they are typed, as the command line takes them, and where they lie.

import { columnNames, shownColumns } from "../base/columns.js";
import { topOf } from "./layout.js";

/** Rows from 0 as people count and type them: 7-8. @param {number} first @param {number} last */
export function spanText(first, last) {
  return first === last ? `${first + 1}` : `${first + 1}-${last + 1}`;
}

/** The first and last of each run of numbers that follow each other. @param {number[]} numbers in order */
function runs(numbers) {
  /** @type {[number, number][]} */ const found = [];
  for (const number of numbers) {
    const last = found[found.length - 1];
    if (last && last[1] === number - 1) last[1] = number;
    else found.push([number, number]);
  }
  return found;
}

/**
 * Rows from 0 of what is typed, such as 7-8 or 1,4-; null where it means none of them.
 * @param {string} typed @param {number} count
 */
export function parseRows(typed, count) {
  if (!typed.trim()) return Array.from({ length: count }, (_, row) => row);
  /** @type {Set<number>} */ const rows = new Set();
  for (const part of typed.split(",")) {
    const span = /^(\d{1,6})(-(\d{1,6})?)?$/.exec(part.trim());
    const first = Number(span?.[1] ?? 0), last = !span ? 0 : !span[2] ? first : Number(span[3] ?? count);
    if (first < 1 || last < first || last > count) return null;
    for (let row = first - 1; row < last; row++) rows.add(row);
  }
  return [...rows].sort((a, b) => a - b);
}

/**
 * The columns of what is typed, by their names with commas between; null where one names none.
 * @param {string} typed @param {Column[]} columns @param {Column[]} usual where nothing is typed
 */
export function parseKinds(typed, columns, usual) {
  const words = typed.split(",").map((word) => word.trim()).filter(Boolean), names = columnNames(columns);
  if (!words.length) return usual;
  return words.every((word) => names.has(word)) ? shownColumns({ columns }, words) : null;
}

/**
 * Boxes around what is chosen, one for each run of rows and of columns that stand side by side.
 * @param {Layout} layout @param {number[]} rows @param {Set<string>} ids
 */
export function boxes(layout, rows, ids) {
  const slots = layout.slots.flatMap((slot, k) => (ids.has(slot.column.id) ? [k] : []));
  // Of a pair, either side has its own columns.
  const sides = layout.below ? [rows.filter((row) => row < layout.below), rows.filter((row) => row >= layout.below)] : [rows];
  return sides.flatMap((some) => runs(some)).flatMap(([top, bottom]) => runs(slots.filter((k) => !layout.below || layout.slots[k].source === top < layout.below)).map(([first, last]) => {
    const left = layout.words + layout.slots[first].x - 5, end = layout.slots[last];
    return { left, top: topOf(layout, top) - 1, width: layout.words + end.x + end.width - 5 - left,
      height: topOf(layout, bottom + 1) - topOf(layout, top) - 1 };
  }));
}
