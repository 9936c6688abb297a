// Choosing a part of the grid: dragging over states, words or heads, or Shift with the keys that move.

import { html } from "../base/markup.js";
import { rowAt, slotsAt } from "./layout.js";
import { moved, revealRow } from "./movement.js";
import { boxes } from "./part.js";

/** A row and a column, or all of either. @typedef {{row: number | null, slot: number | null}} Corner */

export class Picker {
  /**
   * @param {GridView} view
   * @param {(rows: [number, number] | null, columns: string[] | null) => void} onPick null: all of them
   */
  constructor(view, onPick) {
    this.view = view;
    this.onPick = onPick;
    /** @type {Corner | null} */ this.from = null;
    /** @type {Corner | null} */ this.to = null;
    this.dragging = false;
    this.marks = html("div", { class: "picked", "aria-hidden": "true", hidden: true });
    view.body.append(this.marks);
    const { scroller } = view;
    scroller.addEventListener("pointerdown", (event) => this.down(event));
    scroller.addEventListener("pointermove", (event) => this.move(event));
    for (const end of ["pointerup", "pointercancel"]) scroller.addEventListener(end, () => { this.dragging = false; });
    scroller.addEventListener("keydown", (event) => this.key(event), true);
  }

  /** @param {boolean} on */
  turn(on) {
    this.view.picking = on;
    this.view.scroller.classList.toggle("picking", on);
    this.marks.hidden = !on;
    this.view.keepInSight();
    this.from = this.to = null;
  }

  /** Draw what is chosen. @param {number[]} rows @param {Set<string>} ids */
  show(rows, ids) {
    const { layout } = this.view;
    this.marks.replaceChildren(...(layout ? boxes(layout, rows, ids) : []).map((box) => {
      const drawn = html("div", {});
      for (const [side, value] of Object.entries(box)) drawn.style.setProperty(side, `${value}px`);
      return drawn;
    }));
  }

  /** What is under the pointer: a state, a word, which stands for its row, or a head. @param {PointerEvent} event @returns {Corner | null} */
  corner(event) {
    const { layout, grid, scroller, body } = this.view;
    if (!layout || !grid?.rows.length || !layout.slots.length) return null;
    const outer = scroller.getBoundingClientRect(), box = body.getBoundingClientRect();
    const x = event.clientX - box.left - layout.words, y = event.clientY - box.top;
    const inHead = event.clientY - outer.top < layout.header, inWords = event.clientX - outer.left < layout.words;
    const at = Math.max(0, Math.min(grid.rows.length - 1, rowAt(layout, y))), there = slotsAt(layout, at);
    const slot = layout.slots.indexOf(there.find((one) => x < one.x + one.width) ?? there[there.length - 1]);
    const row = Math.max(0, Math.min(grid.rows.length - 1, rowAt(layout, y)));
    if (!this.dragging || !this.from) return { row: inHead ? null : row, slot: inWords ? null : slot };
    return { row: this.from.row === null ? null : row, slot: this.from.slot === null ? null : slot };
  }

  /** @param {PointerEvent} event */
  down(event) {
    const { scroller } = this.view;
    if (!this.view.picking || event.button !== 0 || event.offsetX > scroller.clientWidth && event.target === scroller) return;
    const corner = this.corner(event);
    if (!corner) return;
    event.preventDefault();
    scroller.focus({ preventScroll: true });
    scroller.setPointerCapture(event.pointerId);
    if (event.shiftKey && this.from) this.to = corner;
    else this.from = this.to = corner;
    this.dragging = true;
    this.pick();
  }

  /** @param {PointerEvent} event */
  move(event) {
    if (!this.dragging) return;
    const corner = this.corner(event);
    if (!corner || (corner.row === this.to?.row && corner.slot === this.to?.slot)) return;
    this.to = corner;
    if (corner.row !== null) revealRow(this.view, corner.row);
    this.pick();
  }

  /** Enter takes the state that the keys are at, Shift with a key that moves takes more. @param {KeyboardEvent} event */
  key(event) {
    const { view } = this, { layout, grid, marks: { focus } } = view;
    if (!view.picking || !layout || !grid || !layout.slots.length) return;
    const slot = layout.slots.findIndex((one) => one.column.id === focus?.column);
    const here = focus && slot >= 0 ? { row: focus.row, slot } : null;
    if ((event.key === "Enter" || event.key === " ") && here) this.from = this.to = here;
    else if (event.shiftKey) {
      const page = Math.max(1, Math.floor(view.room.height / layout.row) - 1), at = this.to ?? here;
      const from = at && { row: at.row ?? 0, slot: at.slot ?? 0 };
      const to = moved(event.key, event.ctrlKey, from, layout.slots.length, grid.rows.length, page);
      if (!to) return;
      this.from ??= from ?? to;
      this.to = to;
      revealRow(view, to.row);
      view.later();
    } else {
      if (event.key.startsWith("Arrow")) this.from = this.to = null; // the next choice begins where these lead
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    this.pick();
  }

  pick() {
    const { from, to, view: { layout } } = this;
    if (!from || !to || !layout) return;
    /** @param {number | null} a @param {number | null} b @returns {[number, number] | null} */
    const between = (a, b) => (a === null || b === null ? null : [Math.min(a, b), Math.max(a, b)]);
    const rows = between(from.row, to.row), slots = between(from.slot, to.slot);
    this.onPick(rows, slots && layout.slots.slice(slots[0], slots[1] + 1).map((slot) => slot.column.id));
  }
}
