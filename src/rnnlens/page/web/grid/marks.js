// Which states stand out: the selected one, the one pointed at, what feeds it, what it feeds, and the pinned ones.

import { toDom } from "../base/markup.js";
import { drawArrow, drawRing } from "./draw.js";
import { thenHeight } from "./lanes.js";
import { topOf } from "./layout.js";

/** What feeds and is fed belongs to the state pointed at, or else to the selected one. @typedef {{focus: Place | null, hover: Place | null, feeds: Place[], fed: Place[], pins: Place[]}} Marks */

/** @returns {Marks} */
export function noMarks() {
  return { focus: null, hover: null, feeds: [], fed: [], pins: [] };
}

/** Take rings away and let their states be like the others again. @param {Element[]} marked */
export function unmark(marked) {
  for (const element of marked) {
    if (element.classList.contains("ring")) element.remove();
    else element.classList.remove("lit");
  }
}

/**
 * Draw a ring around each state that stands out and is in view.
 * @param {Marks} marks
 * @param {Layout} layout
 * @param {(row: number) => Element | null} rowOf the element of a row's states, where it is drawn
 * @returns {Element[]} what was drawn or lit
 */
export function mark(marks, layout, rowOf) {
  const slots = new Map(layout.slots.map((slot, k) => [slot.column.id, k]));
  /** @type {Element[]} */ const marked = [];
  /** @param {Place[]} places @param {string} kind */
  const ring = (places, kind) => {
    for (const place of places) {
      const k = slots.get(place.column), row = rowOf(place.row);
      // By its own place: states that are still on their way are not drawn, so that they cannot be counted.
      const state = k === undefined ? null : row?.querySelector(`.state[aria-colindex="${k + 2}"]`);
      if (k === undefined || !row || !state) continue;
      const made = toDom(drawRing(layout.slots[k], layout, kind));
      const own = row.querySelector(".insight"); // which covers the others where it is moved over them
      if (!own || k === slots.size - 1) (own ?? row).append(made);
      else own.before(made);
      state.classList.add("lit");
      marked.push(made, state);
    }
  };
  ring(marks.feeds, "feeds");
  ring(marks.fed, "fed");
  ring(marks.pins, "pin");
  if (marks.hover) ring([marks.hover], "hover");
  if (marks.focus) ring([marks.focus], "focus");
  const to = marks.hover ?? marks.focus, target = to && layout.slots.find((one) => one.column.id === to.column), into = to && rowOf(to.row);
  for (const place of target && into && layout.density !== "compact" ? marks.feeds : []) {
    const from = layout.slots[slots.get(place.column) ?? -1], own = into?.querySelector(".insight");
    // What it reads of the step before: drawn as an arrow from there, rather than as a column of its own.
    if (!from || !to || !target || !target.column.sources.some(([kind, back]) => back > 0 && kind === from.column.id)) continue;
    const made = toDom(drawArrow(from, target, topOf(layout, to.row) - topOf(layout, place.row), layout, thenHeight(layout, place.row)));
    if (own) own.before(made);
    else into?.append(made);
    marked.push(made);
  }
  return marked;
}
