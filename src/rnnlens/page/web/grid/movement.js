// Where a key leads in a grid of slots and rows, and scrolling so that something in it can be seen.

import { topOf } from "./layout.js";

/**
 * @typedef {{slot: number, row: number}} Spot
 * @param {string} key
 * @param {boolean} far with Ctrl: the first or last row
 * @param {Spot | null} from
 * @param {number} slots
 * @param {number} rows
 * @param {number} page rows in a window
 * @returns {Spot | null} null: not a key that moves
 */
export function moved(key, far, from, slots, rows, page) {
  const steps = new Map([
    ["ArrowLeft", [-1, 0]], ["ArrowRight", [1, 0]], ["ArrowUp", [0, -1]], ["ArrowDown", [0, 1]],
    ["PageUp", [0, -page]], ["PageDown", [0, page]],
    ["Home", [-slots, far ? -rows : 0]], ["End", [slots, far ? rows : 0]],
  ]);
  const step = steps.get(key);
  if (!step) return null;
  if (!from) return { slot: key === "End" ? slots - 1 : 0, row: far && key === "End" ? rows - 1 : 0 };
  return { slot: limited(from.slot + step[0], slots), row: limited(from.row + step[1], rows) };
}

/** @param {number} value @param {number} count */
function limited(value, count) {
  return Math.max(0, Math.min(count - 1, value));
}

/**
 * Up or down, as far as it takes for a row.
 * @param {GridView} view @param {number} row
 * @param {number} height of what can be seen; the one that is known, since to ask for it lays the page out
 */
export function revealRow(view, row, height = view.height) {
  const { layout, scroller } = view;
  if (!layout) return;
  const top = topOf(layout, row), bottom = topOf(layout, row + 1) + layout.header + 6; // as far as the last row can be scrolled
  if (view.top > top) view.top = scroller.scrollTop = top;
  else if (view.top + height < bottom) {
    scroller.scrollTop = bottom - height;
    view.top = scroller.scrollTop;
  }
}

/** To all sides, as far as it takes for a state. @param {GridView} view @param {Place} place */
export function reveal(view, place) {
  const { layout, scroller } = view;
  const slot = layout?.slots.find((one) => one.column.id === place.column);
  if (!layout || !slot) return;
  revealRow(view, place.row, scroller.clientHeight);
  if (slot !== layout.own) {
    const kept = view.overhang && layout.own ? layout.width - layout.own.x + 6 : 0; // by the column that stays in sight
    const right = slot.x + slot.width + layout.words + 6 + kept;
    if (scroller.scrollLeft > slot.x - 6) scroller.scrollLeft = slot.x - 6;
    else if (scroller.scrollLeft + scroller.clientWidth < right) scroller.scrollLeft = right - scroller.clientWidth;
    view.keepInSight();
  }
  view.draw();
}
