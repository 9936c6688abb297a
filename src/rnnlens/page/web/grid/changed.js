// Where edits were made, and how far states lie from what they were, or from those of the other of two readings.

import { editsAt, targetOf } from "../base/edits.js";
import { percent, visible } from "../base/format.js";
import { otherName, rowBeside } from "../base/lines.js";
import { shape } from "../base/markup.js";
import { INK, round } from "./bars.js";

/**
 * What edits did to a state, or how it differs from the one beside it: `said` in words, `mark` whether it is drawn.
 * @typedef {{change: Change | null, edited: boolean, mark: boolean, said: string}} Changed
 */

export const LEAST = 0.0005; // bits: less is no change that anybody could see
const CORNER = 0.55; // of the rectangle's width

/** How a state has changed. @param {Held} grid @param {number} row @param {Pick<Slot, "column" | "index">} slot @returns {Changed} */
export function changeOf(grid, row, { column, index }) {
  const target = grid.edits.length ? targetOf(grid, { column: column.id, row }) : null;
  const edited = target !== null && editsAt(grid.edits, target).length > 0;
  if (grid.lines.length) return besideChange(grid, row, index, edited);
  const found = grid.changes[row]?.[index] ?? null, change = found && found.bits >= LEAST ? found : null;
  return { change, edited, mark: change !== null, said: changeWords(change, edited) };
}

/** @param {Change | null} change @param {boolean} edited */
function changeWords(change, edited) {
  if (!change) return edited ? "changed by you, without effect" : "";
  const [label, p] = change.before;
  return `${edited ? "changed by you, " : ""}${change.bits.toFixed(2)} bits from before: \u201c${visible(label)}\u201d ${percent(p)} before, ${percent(change.now)} now`;
}

/**
 * How far a state lies from the one beside it; drawn once, on the second's line.
 * @param {Held} grid @param {number} row @param {number} index @param {boolean} edited @returns {Changed}
 */
function besideChange(grid, row, index, edited) {
  const beside = rowBeside(grid, row), isFirst = grid.lines[row]?.side === "first", begin = edited ? "changed by you, " : "";
  const change = beside === null ? null : grid.changes[isFirst ? beside : row]?.[index] ?? null;
  const other = beside === null ? null : grid.rows[beside]?.[index] ?? null;
  if (!change || !other?.top.length) return { change: null, edited, mark: false, said: edited ? "changed by you" : "" };
  const name = visible(otherName(grid, row)), [label, p] = other.top[0];
  const far = change.bits >= LEAST ? `${change.bits.toFixed(2)} bits from ${name}, where it says` : `the same as in ${name}:`;
  return { change, edited, mark: !isFirst && change.bits >= LEAST, said: `${begin}${far} \u201c${visible(label)}\u201d ${percent(p)}` };
}

/**
 * An edited state has a heavy edge and a filled corner; beside the rectangle stands how far the state lies from what
 * it was, or from the one beside it, from the bottom up: the whole height is 1 bit.
 * @param {Changed} changed @param {Layout} layout
 * @returns {Shape[]}
 */
export function drawChanged(changed, layout) {
  const compact = layout.density === "compact", width = layout.mark, height = layout.state;
  /** @type {Shape[]} */ const parts = [];
  if (changed.change && changed.mark) {
    const tall = round(Math.max(1.5, changed.change.bits * height));
    const place = compact ? { x: round(width - 2.6), width: 2.6 } : { x: round(width + 1.2), width: round(2.4 * layout.scale) };
    parts.push(shape("rect", { class: "changed", ...place, y: round(height - tall), height: tall, fill: INK }));
  }
  if (changed.edited) {
    const side = round(Math.min(width * CORNER, height * CORNER));
    parts.push(shape("rect", { class: "edited", x: 1, y: 1, width: width - 2, height: height - 2, rx: 2, fill: "none",
      stroke: INK, "stroke-width": compact ? 1.6 : 2 }),
    shape("path", { class: "edited corner", d: `M0 0h${side}l${-side} ${side}z`, fill: INK }));
  }
  return parts.length ? [shape("g", { class: "editing" }, shape("title", {}, changed.said), ...parts)] : [];
}
