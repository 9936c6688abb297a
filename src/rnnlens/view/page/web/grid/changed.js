// Where edits were made, and how far what they changed lies from what it was.

import { editedKinds } from "../base/edits.js";
import { percent, visible } from "../base/format.js";
import { shape } from "../base/markup.js";
import { INK, round } from "./bars.js";

/** @typedef {import("../base/held.js").Held} Held */
/** @typedef {import("../base/schema.d.ts").Change} Change */
/** @typedef {import("../base/markup.js").Shape} Shape */
/** @typedef {import("./layout.js").Layout} Layout */
/** @typedef {import("./layout.js").Slot} Slot */
/** What edits did to a state. @typedef {{change: Change | null, edited: boolean}} Edited */

export const LEAST = 0.0005; // bits: less is no change that anybody could see
const CORNER = 0.55; // of the rectangle's width

/** What edits did to a state. @param {Held} grid @param {number} row @param {Pick<Slot, "column" | "index">} slot @returns {Edited} */
export function editedOf(grid, row, { column, index }) {
  const change = grid.changes[row]?.[index] ?? null;
  return { change: change && change.bits >= LEAST ? change : null,
    edited: grid.edits.length > 0 && editedKinds(grid.edits, row - column.back).has(column.kind) };
}

/** How much a state has changed, in words; empty: not at all. @param {Edited} edited */
export function changeWords({ change, edited }) {
  if (!change) return edited ? "edited, which changes nothing" : "";
  const [label, p] = change.before;
  return `${edited ? "edited, " : ""}${change.bits.toFixed(2)} bits from before; ${visible(label)} was ${percent(p)}, is ${percent(change.now)}`;
}

/**
 * An edited state has a heavy edge and a filled corner; beside the rectangle stands how far the state lies from what
 * it was, from the bottom up: the whole height is 1 bit.
 * @param {Edited} edited @param {Layout} layout
 * @returns {Shape[]}
 */
export function drawEdited(edited, layout) {
  const compact = layout.density === "compact", width = layout.mark, height = layout.state;
  /** @type {Shape[]} */ const parts = [];
  if (edited.change) {
    const tall = round(Math.max(1.5, edited.change.bits * height));
    const place = compact ? { x: round(width - 2.6), width: 2.6 } : { x: round(width + 1.2), width: round(2.4 * layout.scale) };
    parts.push(shape("rect", { class: "changed", ...place, y: round(height - tall), height: tall, fill: INK }));
  }
  if (edited.edited) {
    const side = round(Math.min(width * CORNER, height * CORNER));
    parts.push(shape("rect", { class: "edited", x: 1, y: 1, width: width - 2, height: height - 2, rx: 2, fill: "none",
      stroke: INK, "stroke-width": compact ? 1.6 : 2 }),
    shape("path", { class: "edited corner", d: `M0 0h${side}l${-side} ${side}z`, fill: INK }));
  }
  const said = changeWords(edited);
  return parts.length ? [shape("g", { class: "editing" }, shape("title", {}, said), ...parts)] : [];
}
