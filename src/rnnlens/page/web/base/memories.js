// Memories that are matrices: the numbers that need no probe, and what stands in their cells in the place of what a probe says.

import { shownColumns } from "./columns.js";
import { visible } from "./format.js";

/** @typedef {import("./schema.d.ts").MemoryTold} MemoryTold */
/** @typedef {NonNullable<View["memories"]>} Which */

const MATRIX = "S"; // the letter of a memory that is a matrix

/** What each number is called; heads or units have a half-life each. @type {Record<Which, string>} */
export const NUMBERS = { norm: "norm", rank: "effective rank", half_life: "median half-life" };

/** @param {Pick<Column, "letter">} column */
export const isMatrix = ({ letter }) => letter === MATRIX;

/** What the cells of memories show, in words; "": what a probe says. @param {Pick<View, "memories" | "asked">} view */
export function cellsName({ memories, asked }) {
  return asked ? `asked by ${visible(asked)}` : memories ? NUMBERS[memories] + (memories === "half_life" ? " in words" : "") : "";
}

/** The memories whose cells show something else than what a probe says. @param {Held} grid @param {View} view */
export function toldColumns(grid, view) {
  return cellsName(view) ? shownColumns(grid, view.kinds).filter(isMatrix).map(({ id }) => id) : [];
}

/** @param {number[]} values */
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** One number of all heads of a memory; null: it is not known. @param {MemoryTold} told @param {Which} which */
export function numberOf({ norm, rank, half_life: lives }, which) {
  if (which === "norm") return Math.hypot(...norm);
  if (which === "rank") return rank.length ? mean(rank) : null;
  return lives ? lives[1] ?? Infinity : null; // the median; null within: nothing decays
}

/** A number with three digits, or that it has no end. @param {number} value */
export function short(value) {
  return value === Infinity ? "∞" : Number(value.toPrecision(3)).toLocaleString("en");
}

/** The same where there is little room: 284K. @param {number} value */
export function brief(value) {
  return value === Infinity ? "∞" : value.toLocaleString("en", { notation: "compact", maximumSignificantDigits: 3 });
}
