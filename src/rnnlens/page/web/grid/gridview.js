// The grid on the screen: draws the rows in view, follows pointer and keyboard, lights up the flow.

import { columnName, lastLayer, rowSentence } from "../base/format.js";
import { isUnfinished } from "../base/held.js";
import { sideName } from "../base/pairs.js";
import { html, redraw, shape, toDom } from "../base/markup.js";
import { measurer } from "../base/text.js";
import { turn } from "../base/turn.js";
import { drawHeader, drawing, drawRow, drawRowHead } from "./draw.js";
import { seriesAt } from "./scale.js";
import { layOut, overhang, placeAt, rowsBetween, rowsFrom, slotsAt, topOf } from "./layout.js";
import { drawLinks } from "./links.js";
import { mark, noMarks, unmark } from "./marks.js";
import { moved, reveal, revealRow } from "./movement.js";

/** @typedef {import("./marks.js").Marks} Marks */
/**
 * Pointing at states is a preview; a click, a tap or a key selects.
 * @typedef {{onHover: (place: Place | null) => void, onSelect: (place: Place) => void, onRange?: () => void}} Callbacks
 * @typedef {{element: HTMLElement, word: Element, states: Element, shape: Shape, drawn: unknown, text: string, over: number}} Row
 */

const SLICE = 38; // ms of drawing after which others get their turn: most keys are drawn in one, and none is 50

export class GridView {
  /** @param {HTMLElement} root @param {Callbacks} callbacks */
  constructor(root, callbacks) {
    this.callbacks = callbacks;
    this.frame = root.parentElement ?? root;
    this.measure = measurer();
    this.uid = `g${Math.random().toString(36).slice(2, 8)}`;
    /** @type {Held | null} */ this.grid = null;
    /** @type {View | null} */ this.view = null;
    /** @type {Layout | null} */ this.layout = null;
    /** @type {Map<number, Row>} */ this.rows = new Map();
    /** @type {{version: number, of: (row: number) => Over | null}} */ this.over = { version: 0, of: () => null };
    /** @type {Map<number, import("./draw.js").Part>} */ this.parts = new Map(); // of words, in what a state says
    this.marks = noMarks();
    /** @type {Place | null} */ this.hovered = null;
    /** @type {Element[]} */ this.marked = [];
    this.waiting = 0;
    this.drawings = 0; // how often drawing has begun, so that what is left of an earlier time is let be
    this.left = false; // whether rows in view are still to be drawn
    this.asking = false; // whether rows are still asked for
    /** @type {number | null} */ this.sought = null; // the row to be in view once another grid is shown
    /** Called once everything has another place. @type {() => void} */ this.onLayout = () => {};
    this.picking = false; // whether pointer and keys choose a part, rather than states to look at
    // Sizes are kept: to ask for them in the midst of drawing would lay the page out twice.
    this.room = { width: 0, height: 0 };
    this.top = this.height = this.overhang = 0;
    this.head = html("div", { class: "head", role: "row" });
    this.second = html("div", { class: "head second", role: "row" }); // of the target, below its source
    this.links = html("div", { class: "links", "aria-hidden": "true" });
    this.body = html("div", { class: "body", role: "rowgroup" }, this.links);
    this.scroller = html("div", { class: "scroller", role: "grid", tabindex: 0, "aria-label": "states" },
      this.head, this.body);
    root.append(this.scroller);
    this.listen();
  }

  listen() {
    const { scroller, body } = this;
    scroller.addEventListener("scroll", () => {
      this.top = scroller.scrollTop;
      this.keepInSight();
      this.later();
    }, { passive: true });
    body.addEventListener("pointermove", (event) => {
      if (event.pointerType !== "touch" && !this.picking) this.hover(this.at(event));
    });
    body.addEventListener("pointerleave", () => this.hover(null));
    body.addEventListener("click", (event) => {
      const place = this.picking ? null : this.at(event);
      if (place) this.callbacks.onSelect(place);
    });
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(scroller);
  }

  /**
   * Show a grid; rows that are drawn already and have not changed stay as they are.
   * @param {Held} grid @param {View} view
   */
  show(grid, view) {
    this.grid = grid;
    this.view = view;
    this.relay();
    // To scroll lays the page out: before rows are drawn that is little, and none is drawn that is not in view then.
    if (this.sought !== null) revealRow(this, this.sought);
    this.sought = null;
    this.draw();
  }

  /** Lay out anew; where that changes sizes, everything is drawn again. */
  relay() {
    const { grid, view, scroller } = this;
    if (!grid || !view) return;
    if (!this.room.width) this.room = this.space();
    const layout = layOut(grid, view, { ...this.room, words: this.layout?.words ?? 0 }, this.measure);
    const before = this.laidOut;
    this.laidOut = JSON.stringify([layout, grid.run, grid.semantic, grid.palette, grid.pairs?.map(({ generated }) => generated)]);
    this.layout = layout;
    if (before !== this.laidOut) {
      for (const row of this.rows.values()) row.drawn = undefined;
      this.head.replaceChildren(...headCells(layout, grid, layout.below > 0));
      this.head.style.height = this.second.style.height = `${layout.header}px`;
      if (!layout.below) this.second.remove();
      else {
        if (!this.second.parentNode) this.links.after(this.second);
        this.second.replaceChildren(...headCells(layout, grid, false));
        this.second.style.marginTop = `${topOf(layout, layout.below) - layout.header}px`;
      }
      const wide = `${layout.words + layout.width}px`;
      this.head.style.minWidth = this.second.style.minWidth = this.body.style.minWidth = wide;
      scroller.dataset.density = layout.density;
      this.onLayout();
    }
    this.body.style.height = `${topOf(layout, grid.words.length) + 6}px`;
    this.keepInSight();
    scroller.setAttribute("aria-rowcount", String(grid.words.length + 1));
    scroller.setAttribute("aria-colcount", String(layout.slots.length + 1));
  }

  /** Keep the prediction's column in sight where there are more columns than fit. */
  keepInSight() {
    this.overhang = this.layout && !this.picking ? overhang(this.layout, this.room.width, this.scroller.scrollLeft) : 0;
    this.scroller.style.setProperty("--over", `${-this.overhang}px`);
    this.scroller.classList.toggle("over", this.overhang > 0);
    this.scroller.classList.toggle("aside", this.scroller.scrollLeft > 0);
    if (this.layout?.below) this.second.classList.toggle("stuck", this.top >= topOf(this.layout, this.layout.below) - this.layout.header);
    for (const head of [this.head, this.second]) head.style.setProperty("--left", `${this.scroller.scrollLeft}px`);
  }

  later() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      this.draw();
      this.callbacks.onRange?.();
    });
  }

  resize() {
    this.room = this.space();
    this.height = this.scroller.clientHeight;
    this.relay();
    this.draw();
  }

  /** The room there is, also where something else has some of it just now: sizes are not to change with that. */
  space() {
    return { width: this.scroller.clientWidth, height: this.frame.clientHeight - 4 };
  }

  /** The rows in view, first and one after the last. */
  range() {
    return this.layout && this.grid ? rowsBetween(this.layout, this.grid.words.length, this.top, this.room.height) : [0, 0];
  }

  /** Draw the rows in view: as many at once as take no longer than a slice, then the others. @param {number} slice ms */
  draw(slice = SLICE) {
    const { grid, layout } = this, [first, end] = this.range();
    if (!grid || !layout) return;
    for (const [row, held] of this.rows) {
      if (row >= first && row < end) continue;
      held.element.remove();
      this.rows.delete(row);
    }
    this.drawFrom(first, grid, layout, slice, ++this.drawings);
  }

  /** @param {number} first @param {Held} grid @param {Layout} layout @param {number} slice @param {number} drawing once another has begun, this one is over */
  drawFrom(first, grid, layout, slice, drawing) {
    if (drawing !== this.drawings) return;
    const end = this.range()[1], until = performance.now() + slice;
    unmark(this.marked); // rows are redrawn as they were drawn
    this.marked = [];
    let row = first;
    for (; row < end && (row === first || performance.now() < until); row++) this.drawRow(grid, row, layout);
    this.mark();
    this.left = row < end;
    for (let k = row; k < end; k++) { // they keep what they show meanwhile, unless it would stand in the place of another
      const held = this.rows.get(k);
      held?.element.classList.toggle("unplaced", held.drawn === undefined);
    }
    this.tellBusy();
    if (this.left) turn().then(() => this.drawFrom(row, grid, layout, slice, drawing));
  }

  /** Whether rows are still asked for. @param {boolean} asking */
  setBusy(asking) {
    this.asking = asking;
    this.tellBusy();
  }

  tellBusy() {
    this.scroller.setAttribute("aria-busy", String(this.asking || this.left));
    this.body.toggleAttribute("data-left", this.left);
  }

  /** @param {Held} grid @param {number} row @param {Layout} layout */
  drawRow(grid, row, layout) {
    let held = this.rows.get(row);
    if (!held) {
      held = this.emptyRow(row);
      this.rows.set(row, held);
    }
    const word = grid.words[row];
    const half = isUnfinished(grid, row);
    const part = this.parts.get(row) ?? null, text = JSON.stringify([word, half, part, grid.lines[row], seriesAt(grid, row, layout)]);
    const states = grid.rows[row], fresh = held.drawn === undefined;
    if (fresh || held.text !== text) {
      held.text = text;
      const nearer = grid.lines[row]?.side === "second" ? (layout.row - layout.state) / 3 : 0; // to the line beside
      held.element.style.top = `${Math.round(topOf(layout, row) + 3 - nearer)}px`;
      held.element.classList.toggle("unfinished", half);
      const drawn = toDom(drawRowHead(grid, row, layout, part));
      held.word.replaceWith(drawn);
      held.word = drawn;
    }
    // Rows still on their way keep what they showed, marked as stale, so that nothing flickers.
    held.element.classList.toggle("stale", !states);
    held.element.classList.remove("unplaced");
    if (fresh || (states && (held.drawn !== states || held.over !== this.over.version))) {
      held.drawn = states ?? null;
      held.over = this.over.version;
      held.element.setAttribute("aria-label", rowSentence(grid, row));
      const drawn = drawing(layout.width, layout.row, { class: "states", role: "none" },
        drawRow(grid, row, layout, (k) => this.id(row, k), this.over.of(row)));
      held.states = redraw(held.states, held.shape, drawn);
      held.shape = drawn;
    }
  }

  /** @param {number} row @returns {Row} */
  emptyRow(row) {
    const empty = shape("svg"), word = toDom(empty), states = toDom(empty);
    const element = html("div", { class: "row", role: "row", "aria-rowindex": row + 2 }, word, states);
    // In the order they are read, however they came into view.
    const after = [...this.rows.keys()].filter((other) => other > row).sort((a, b) => a - b)[0];
    this.body.insertBefore(element, after === undefined ? null : this.rows.get(after)?.element ?? null);
    return { element, word, states, shape: empty, drawn: undefined, text: "", over: 0 };
  }

  /** Shade words by their parts in what a state says. @param {Map<number, import("./draw.js").Part>} parts */
  setParts(parts) {
    this.parts = parts;
    this.draw();
  }

  /** @param {number} row @param {number} slot */
  id(row, slot) {
    return `${this.uid}-${row}-${slot}`;
  }

  /** Make states stand out; while one is pointed at, the others step back. @param {Marks} marks */
  setMarks(marks) {
    this.marks = marks;
    this.mark();
    this.body.classList.toggle("dim", marks.hover !== null);
  }

  mark() {
    const { layout, marks, scroller } = this;
    unmark(this.marked);
    if (!layout) return;
    const rowOf = (/** @type {number} */ row) => {
      const held = this.rows.get(row);
      return held?.drawn ? held.states : null;
    };
    this.marked = mark(marks, layout, rowOf);
    const at = marks.hover ?? marks.focus;
    this.links.replaceChildren(...(this.grid && at ? drawLinks(this.grid, at.row, layout).map(toDom) : []));
    const { focus } = marks, slot = layout.slots.findIndex((one) => one.column.id === focus?.column);
    const seen = focus && slot >= 0 && rowOf(focus.row);
    if (seen) scroller.setAttribute("aria-activedescendant", this.id(focus.row, slot));
    else scroller.removeAttribute("aria-activedescendant");
  }

  /** The state under the pointer; gaps belong to the nearest. @param {MouseEvent} event @returns {Place | null} */
  at(event) {
    const { grid, layout } = this;
    if (!grid || !layout) return null;
    const box = this.body.getBoundingClientRect();
    const hidden = event.clientX - this.scroller.getBoundingClientRect().left <= layout.words; // by the words
    return hidden ? null : placeAt(layout, event.clientX - box.left, event.clientY - box.top - 3, grid.rows.length, this.overhang);
  }

  /** @param {Place | null} place under the pointer */
  hover(place) {
    const { hovered } = this;
    if (place?.column === hovered?.column && place?.row === hovered?.row) return;
    this.hovered = place;
    this.callbacks.onHover(place);
  }

  /** Where a state stands on the screen, in view or not. @param {Place} place */
  boxOf(place) {
    if (this.left) this.draw(Infinity);
    const slot = this.layout?.slots.findIndex((one) => one.column.id === place.column) ?? -1;
    return this.body.querySelector(`[id="${this.id(place.row, slot)}"]`)?.getBoundingClientRect() ?? null;
  }

  /** Select another state by a key that moves. @param {KeyboardEvent} event @returns {boolean} whether it is one */
  move(event) {
    const { grid, layout, marks: { focus } } = this;
    if (!grid || !layout || !layout.slots.length || !grid.rows.length || event.altKey || event.metaKey) return false;
    const page = Math.max(1, Math.floor((this.scroller.clientHeight - layout.header) / layout.row) - 1);
    const slot = focus ? layout.slots.findIndex((one) => one.column.id === focus.column) : -1;
    const from = focus && slot >= 0 ? { slot, row: focus.row } : null;
    const to = moved(event.key, event.ctrlKey, from, layout.slots.length, grid.rows.length, page);
    if (!to) return false;
    const place = { column: this.onSide(layout, to.slot, to.row).column.id, row: to.row };
    this.reveal(place);
    this.callbacks.onSelect(place);
    return true;
  }

  /** The column that a key leads to: of a pair, the nearest one of the row's side. @param {Layout} layout @param {number} slot @param {number} row */
  onSide(layout, slot, row) {
    const there = slotsAt(layout, row), wanted = layout.slots[slot];
    if (there.includes(wanted)) return wanted;
    const before = this.marks.focus, same = before && layout.slots.find((one) => one.column.id === before.column);
    if (same && there.includes(same)) return same; // beyond the last column of its side
    return there.reduce((near, one) => (Math.abs(one.x - wanted.x) < Math.abs(near.x - wanted.x) ? one : near), there[0]);
  }

  /** Scroll so that a state can be seen. @param {Place} place */
  reveal(place) {
    reveal(this, place);
  }

  /** How many rows are in view from one on. @param {number} from */
  rowsInView(from) {
    return this.layout ? rowsFrom(this.layout, from, this.top, this.room.height) : 20;
  }
}

/** @param {Layout} layout @param {Held} grid @param {boolean} source of a pair, which side @returns {Element[]} */
function headCells(layout, grid, source) {
  const last = lastLayer(grid.columns);
  const drawn = drawHeader(layout, (k) => ({ role: "columnheader", "aria-colindex": k + 2,
    "aria-label": columnName(layout.slots[k].column, last), "data-column": layout.slots[k].column.id }), source);
  const side = layout.below ? sideName(grid, source) : "";
  const corner = html("div", { class: "corner", role: "columnheader", "aria-label": side ? `${side}: word` : "word" }, side);
  corner.style.width = `${layout.words}px`;
  const heads = toDom(drawing(layout.width, layout.header, { role: "none" }, drawn));
  heads.querySelectorAll("[data-column]").forEach((head) => {
    const slot = layout.slots.find(({ column }) => column.id === head.getAttribute("data-column"));
    if (!slot) return;
    const { x, width } = slot; // so that the whole head is clicked, not its letters alone
    head.prepend(toDom(shape("rect", { class: "reach", x, y: 22, width: width - 4, height: layout.header - 22, rx: 4 })));
  });
  for (const head of heads.querySelectorAll("[data-layer]")) {
    const group = layout.groups.find((one) => String(one.layer) === head.getAttribute("data-layer") && (!layout.below || one.source === source));
    if (group) head.prepend(toDom(shape("rect", { class: "reach", x: group.x - 4, y: 1, width: group.width, height: 18, rx: 4 })));
  }
  return [corner, heads];
}
