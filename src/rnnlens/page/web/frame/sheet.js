// The panel in a small place: a sheet from below that comes up with what is selected, is drawn up and down, and goes away again.

import { html } from "../base/markup.js";

/** @typedef {{set: (change: Partial<View>) => void}} SheetCallbacks */

const LEAST = 120; // pixels; drawn lower than that it is folded
const MOST = 0.8; // of the room that it shares with the grid

export class Sheet {
  /** @param {HTMLElement} panel @param {HTMLElement} stage where it stands with the grid @param {GridView} gridView @param {SheetCallbacks} callbacks */
  constructor(panel, stage, gridView, callbacks) {
    this.panel = panel;
    this.stage = stage;
    this.gridView = gridView;
    this.callbacks = callbacks;
    /** @type {View | null} */ this.view = null;
    this.close = html("button", { type: "button", class: "plain close", title: "close", "aria-label": "close the panel", click: () => this.leave() }, "×");
    stage.classList.add("idle");
    panel.prepend(this.close);
    panel.addEventListener("pointerdown", (event) => this.down(event));
  }

  /** Whether it lies below the grid rather than beside it. */
  isBelow() {
    return getComputedStyle(this.panel).getPropertyValue("--below").trim() === "1"; // as the style decides
  }

  /** Where nothing is selected and no list is asked for there is nothing in it; a small place then has none. @param {View} view */
  show(view) {
    this.view = view;
    const idle = !view.focus && !view.turns, { classList } = this.stage;
    if (idle === classList.contains("idle") && view.folded === this.folded) return;
    classList.toggle("idle", idle);
    this.folded = view.folded;
    requestAnimationFrame(() => this.keepInSight());
  }

  /** What is selected is not to be covered by what comes up because of it. */
  keepInSight() {
    const { gridView, view } = this, { scroller, room, height } = gridView;
    if (!view?.focus || (scroller.clientWidth === room.width && scroller.clientHeight === height)) return;
    gridView.resize();
    gridView.reveal(view.focus);
  }

  /** Nothing is selected any more; a list that was asked for stays, folded. */
  leave() {
    this.callbacks.set({ focus: null, ...(this.view?.turns ? { folded: true } : {}) });
    this.gridView.scroller.focus({ preventScroll: true });
  }

  /** Take hold of its top. @param {PointerEvent} event */
  down(event) {
    const { panel, stage } = this, target = /** @type {Element} */ (event.target);
    if (event.button || target.closest("button, input, a, .detail") || !this.isBelow()) return;
    const from = panel.offsetHeight, room = stage.clientHeight, { pointerId, clientY } = event;
    let height = from;
    const move = (/** @type {PointerEvent} */ { clientY: y }) => {
      height = Math.max(40, Math.min(MOST * room, from + clientY - y));
      panel.style.height = `${height}px`;
    };
    const up = () => {
      panel.removeEventListener("pointermove", move);
      panel.style.height = "";
      const low = height < LEAST, folded = low && height < from; // a tap on a folded one unfolds it
      if (low) stage.style.removeProperty("--sheet"); // it comes up as high as it does by itself
      else if (height !== from) stage.style.setProperty("--sheet", `${Math.round(height)}px`);
      if (folded !== this.view?.folded) this.callbacks.set({ folded });
      else this.keepInSight();
    };
    panel.setPointerCapture(pointerId);
    panel.addEventListener("pointermove", move);
    panel.addEventListener("lostpointercapture", up, { once: true });
  }
}
