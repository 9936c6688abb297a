// A grid with its panel: hover, pins and their divergence. The page, the exported file and a
// notebook use it alike; it knows nobody who answers.

import { isGap } from "../base/lines.js";
import { html, write } from "../base/markup.js";
import { flow, neighbours } from "../grid/flow.js";
import { GridView } from "../grid/gridview.js";
import { shownColumns } from "../grid/layout.js";
import { drawComparison } from "../panel/compare.js";
import { drawDetail, drawHint } from "../panel/detail.js";
import { carried, drawPin, grouped, keep, knownBits, lives, pairKey, pinKey, pinOf, placeOf, toggled } from "../panel/pins.js";
import { KindSheet } from "./kindsheet.js";
import { Likeness } from "./likeness.js";
import { Overlay } from "./overlay.js";
import { Sides } from "./sides.js";
import { WhatIf } from "./whatif.js";
import { WrittenBy } from "./writtenby.js";

/**
 * `lookUp` gives null for a state that there is not; its pin is dropped. `onProblem` is given what
 * went wrong with comparing pins, or null once nothing does. `strip` is where the marks are explained and labels are
 * chosen to be followed; `read` answers for these and for turns, where there is somebody who can; `onText` takes another
 * text or run, where there is somebody to read it; `similar` knows states of a corpus.
 * @typedef {{onView: (change: Partial<View>) => void,
 *   divergence: (pairs: [Pin, Pin][]) => Promise<(Divergence | null)[]>,
 *   lookUp: (pin: Pin) => Promise<Kept | null>,
 *   onProblem?: (error: unknown) => void, strip?: HTMLElement,
 *   onText?: (change: Partial<View>) => void,
 *   read?: import("../net/readings.js").Reader, similar?: import("./likeness.js").SimilarReader, onUnread?: (error: unknown) => void}} LensCallbacks
 */

const SETTLED = 70; // ms a state is in view before its divergence is asked for

export class Lens {
  /** @param {HTMLElement} root @param {LensCallbacks} callbacks @param {HTMLElement} keys where Escape is heard */
  constructor(root, callbacks, keys = root) {
    this.callbacks = callbacks;
    /** @type {Held | null} */ this.grid = null;
    /** @type {View | null} */ this.view = null;
    /** @type {Map<string, Kept>} */ this.kept = new Map();
    /** @type {Map<string, Divergence | null>} */ this.between = new Map();
    /** @type {Set<string>} */ this.fetching = new Set(); // pins that are looked up
    this.asking = 0;
    this.asked = 0; // how often divergences were asked for
    this.wide = 0; // of the panel, kept for the same reason as the grid's
    this.hinted = ""; // the run whose hint is shown
    this.bright = false; // whether the flow stands out and the rest steps back
    const place = html("div", { class: "gridplace" });
    this.detail = html("div", { class: "detail", tabindex: 0, role: "region", "aria-label": "what it says" }, ...drawHint(null)); // to be read while the grid is on its way
    this.pinned = html("div", { class: "pinned" });
    this.panel = html("aside", { class: "panel", "aria-label": "the state in view" }, foldButton(root), this.detail, this.pinned);
    this.shown = html("p", { class: "shown", role: "status", hidden: true });
    this.comparison = html("div", { class: "comparison", tabindex: 0, role: "region", hidden: true,
      "aria-label": "comparison" });
    const drawn = html("div", { class: "drawn" }, this.shown, place, this.comparison);
    root.append(drawn, this.panel);
    this.gridView = new GridView(place, {
      onFocus: (at, how) => this.focus(at, how !== "key" || this.bright),
      onLeave: () => { this.bright = false; },
      onPin: (at) => this.pin(at),
      ...(callbacks.read ? { onLabel: (name) => this.overlay.follow(name), onRange: () => this.overlay.moved() } : {}),
    });
    this.overlay = new Overlay(this.gridView, callbacks, { set: (change) => this.set(change),
      focus: (at) => this.focus(at, true) });
    this.kindSheet = new KindSheet(place, this.gridView.head, (change) => this.set(change));
    this.whatIf = new WhatIf(place, this.gridView, callbacks.read ? { edits: (edits) => this.change({ edits }),
      focus: (at) => this.focus(at, false), read: callbacks.read } : null);
    this.sides = new Sides(callbacks.onText ?? null);
    drawn.insertBefore(this.sides.root, place);
    drawn.insertBefore(this.whatIf.line, place);
    this.asks = new Asks(this.gridView, callbacks, this.whatIf.button);
    this.pinned.before(...this.asks.places);
    for (const part of [this.overlay.list, this.overlay.decision]) this.panel.insertBefore(part, this.pinned);
    for (const beside of [this.panel, this.comparison]) beside.addEventListener("click", (event) => this.overlay.click(event));
    new ResizeObserver(() => {
      if (this.wide === this.panel.clientWidth) return;
      this.wide = this.panel.clientWidth;
      this.hinted = "";
      this.refresh();
    }).observe(this.panel);
    keys.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.clear();
      else this.overlay.key(event);
    });
  }

  /** Show a grid as a view asks for it. @param {Held} grid @param {View} view */
  show(grid, view) {
    const pins = carried(view.pins, this.grid, grid);
    const same = this.grid && this.grid.columns === grid.columns, before = this.grid;
    if (before?.edits.join() !== grid.edits.join()) this.between.clear();
    this.grid = grid;
    this.view = { ...view, pins };
    if (!same || !this.joined) this.joined = neighbours(grid);
    const kept = new Map();
    for (const pin of pins) {
      // What edits have made of a state is not what it is elsewhere.
      const edited = [before, grid].some((one) => one?.edits.length && lives(pin, one));
      const shown = (lives(pin, grid) && keep(pin, grid)) || (edited ? null : this.kept.get(pinKey(pin))
        || this.carriedFrom(pin, view, pins));
      if (shown) kept.set(pinKey(pin), shown);
    }
    this.kept = kept;
    this.kindSheet.show(grid, this.view);
    this.sides.show(grid);
    this.whatIf.show(grid, this.view);
    this.overlay.show(grid, this.view);
    this.gridView.show(grid, this.view);
    this.overlay.refresh();
    if (JSON.stringify(pins) !== JSON.stringify(view.pins)) this.callbacks.onView({ pins });
    this.refresh();
    this.lookUp(pins);
  }

  /** Say what is shown where it is not what is asked for, and let it step back. @param {string} told "": it is */
  differ(told) {
    write(this.shown, told);
    this.shown.hidden = !told;
    this.panel.parentElement?.classList.toggle("differs", told !== "");
  }

  /** What a pin showed under the text before. @param {Pin} pin @param {View} view @param {Pin[]} pins */
  carriedFrom(pin, view, pins) {
    const before = view.pins[pins.indexOf(pin)];
    return before && this.kept.get(pinKey(before));
  }

  /** Whether a pin's state is known to be there. @param {Pin} pin */
  there(pin) {
    return this.kept.has(pinKey(pin)) || (this.grid !== null && lives(pin, this.grid));
  }

  /** Fetch what pins of other texts show, and drop those of states that there are not. @param {Pin[]} pins */
  async lookUp(pins) {
    const open = pins.filter((pin) => !this.there(pin) && !this.fetching.has(pinKey(pin)));
    if (!open.length) return;
    for (const pin of open) this.fetching.add(pinKey(pin));
    /** @type {Set<string>} */ const absent = new Set();
    for (const pin of open) {
      const key = pinKey(pin);
      const found = await this.callbacks.lookUp(pin).catch((error) => this.failed(error));
      this.fetching.delete(key);
      if (found) this.kept.set(key, found);
      else if (found === null) absent.add(key);
    }
    const left = (this.view?.pins ?? []).filter((pin) => !absent.has(pinKey(pin)));
    if (absent.size) this.change({ pins: left });
    else this.refresh();
  }

  /** @param {unknown} error @returns {undefined} */
  failed(error) {
    this.callbacks.onProblem?.(error);
  }

  succeeded() {
    if (this.view?.pins.every((pin) => this.there(pin))) this.callbacks.onProblem?.(null);
  }

  /** @param {Place} place @param {boolean} bright */
  focus(place, bright) {
    this.bright = bright;
    this.change({ focus: place });
  }

  /** @param {Place} place */
  pin(place) {
    if (!this.grid || !this.view || isGap(this.grid, place.row)) return;
    this.change({ focus: place, pins: toggled(this.view.pins, pinOf(this.grid, place)) });
  }

  clear() {
    if (this.view?.follow) {
      this.set({ follow: null });
      return;
    }
    this.bright = false;
    this.change({ focus: null, pins: [] });
  }

  /** Change what is drawn over the states. @param {Partial<View>} change */
  set(change) {
    this.change(change);
    if (this.grid && this.view) this.show(this.grid, this.view);
  }

  /** @param {Partial<View>} change */
  change(change) {
    if (!this.view || !this.grid) return;
    this.view = { ...this.view, ...change };
    for (const pin of this.view.pins) {
      const shown = lives(pin, this.grid) && keep(pin, this.grid);
      if (shown) this.kept.set(pinKey(pin), shown);
    }
    this.callbacks.onView(change);
    this.refresh();
  }

  /** The pin that the state in view would be. @returns {Pin | null} */
  inView() {
    const { grid, view } = this;
    const focus = view?.focus;
    return grid && focus && grid.rows[focus.row] && !isGap(grid, focus.row) ? pinOf(grid, focus) : null;
  }

  /** Draw what depends on focus and pins. */
  refresh() {
    const { grid, view, joined } = this;
    if (!grid || !view || !joined) return;
    const shown = new Set(shownColumns(grid, view.kinds).map((column) => column.id));
    const focus = view.focus && shown.has(view.focus.column) && grid.rows[view.focus.row] ? view.focus : null;
    const around = focus ? flow(joined, shown, grid, focus) : { feeds: [], fed: [] };
    const pins = view.pins.flatMap((pin) => placeOf(pin, grid) ?? []);
    this.gridView.setMarks({ focus, ...around, pins }, this.bright);
    const width = this.width(), { measure } = this.gridView;
    if (focus) this.detail.replaceChildren(...drawDetail(grid, focus, width, measure));
    else if (this.hinted !== grid.run + grid.semantic) this.detail.replaceChildren(...drawHint(grid));
    this.hinted = focus ? "" : grid.run + grid.semantic;
    this.whatIf.offer(grid, view);
    this.asks.show(grid, view);
    this.refreshPins();
    this.ask();
  }

  width() {
    this.wide ||= this.panel.clientWidth;
    return Math.min(340, Math.max(180, this.wide - 34));
  }

  /** One pin stands in the panel, several are compared under the grid. */
  refreshPins() {
    const { grid, view } = this;
    if (!grid || !view) return;
    const { pins } = view, focus = this.inView(), { measure } = this.gridView;
    const kept = (/** @type {Pin} */ pin) => this.kept.get(pinKey(pin)) ?? null;
    const how = { width: this.width(), room: this.gridView.room.width, measure,
      onRemove: (/** @type {Pin} */ pin) => this.change({ pins: toggled(this.view?.pins ?? [], pin) }),
      onClear: () => this.change({ pins: [] }) };
    const single = pins.length === 1 ? drawPin(grid, pins[0], kept(pins[0]), focus ? this.distance(pins[0], focus) : undefined, how) : [];
    const table = pins.length < 2 ? [] : drawComparison(grid, pins.map((pin) => ({ pin, kept: kept(pin) })),
      (a, b) => this.distance(a, b), focus, how);
    this.pinned.replaceChildren(...single);
    const opened = this.comparison.hidden && table.length > 0;
    this.comparison.hidden = !table.length;
    this.comparison.replaceChildren(...table);
    if (opened && view.focus) this.gridView.reveal(view.focus); // what was pinned last is not to be covered
  }

  /** Undefined where they are the same or have other labels, null while it is not known. @param {Pin} a @param {Pin} b */
  distance(a, b) {
    if (a.run !== b.run || pinKey(a) === pinKey(b)) return undefined;
    return this.between.get(pairKey(a, b)) ?? null;
  }

  /** Ask for the divergences that are not known yet, once the view has settled. */
  ask() {
    clearTimeout(this.asking);
    const pins = (this.view?.pins ?? []).filter((pin) => this.there(pin)), focus = this.inView();
    /** @type {[Pin, Pin][]} */ const wanted = [];
    pins.forEach((pin, k) => {
      if (focus && this.distance(pin, focus) === null) wanted.push([pin, focus]);
      if (k > 0 && this.distance(pins[0], pin) === null) wanted.push([pins[0], pin]);
    });
    if (!wanted.length) this.succeeded();
    else this.asking = setTimeout(() => this.answer(wanted), SETTLED);
  }

  /** @param {[Pin, Pin][]} pairs */
  async answer(pairs) {
    const turn = ++this.asked;
    let failed = false;
    for (const group of grouped(pairs)) {
      if (turn !== this.asked) return; // asked again meanwhile, for what is still open
      const found = await this.callbacks.divergence(group).catch((error) => this.failed(error));
      failed ||= !found;
      if (found) this.learn(group, found);
    }
    if (!failed) this.succeeded();
  }

  /** Take in divergences, which may also come later or better. @param {[Pin, Pin][]} pairs @param {(Divergence | null)[]} found */
  learn(pairs, found) {
    found.forEach((divergence, k) => {
      if (divergence) this.between.set(pairKey(...pairs[k]), divergence);
    });
    if (found.length) this.refreshPins();
  }

  /** The divergences known between states that are drawn, as a file holds them. */
  knownBits() {
    return this.grid ? knownBits(this.grid, this.view?.pins ?? [], this.between) : [];
  }
}

/** @param {HTMLElement} root what is folded */
function foldButton(root) {
  const button = html("button", { type: "button", class: "plain fold", "aria-expanded": "true",
    "aria-label": "fold the panel", title: "fold the panel", click: () => {
      const folded = root.classList.toggle("folded");
      button.setAttribute("aria-expanded", String(!folded));
      button.title = folded ? "unfold the panel" : "fold the panel";
      button.setAttribute("aria-label", button.title);
      button.textContent = folded ? "‹" : "›";
    } }, "›");
  return button;
}

/** What can be asked about the state in view. */
class Asks {
  /** @param {GridView} gridView @param {LensCallbacks} callbacks @param {HTMLElement} whatIf its button */
  constructor(gridView, { read, similar }, whatIf) {
    const asked = [...(read ? [new WrittenBy(gridView, read)] : []), ...(similar ? [new Likeness(similar)] : [])];
    this.asked = asked;
    this.places = [html("div", { class: "asks" }, whatIf, ...asked.map(({ button }) => button)), ...asked.map(({ root }) => root)];
  }

  /** @param {Held} grid @param {View} view */
  show(grid, view) {
    for (const one of this.asked) one.show(grid, view);
  }
}
