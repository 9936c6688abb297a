// A grid with its panel: a state is selected, others are pointed at, some are pinned and compared. The page, the
// exported file and a notebook use it alike; it knows nobody who answers.

import { hasNetwork } from "../base/lines.js";
import { html, write } from "../base/markup.js";
import { flow, neighbours } from "../grid/flow.js";
import { GridView } from "../grid/gridview.js";
import { shownColumns } from "../base/columns.js";
import { drawComparison } from "../panel/compare.js";
import { carried, drawPin, grouped, keep, knownBits, lives, pairKey, pinKey, pinOf, placeOf, toggled } from "../panel/pins.js";
import { subjectOf, whyNot } from "../panel/subject.js";
import { HoverCard } from "./hovercard.js";
import { GoesOn } from "./goeson.js";
import { KindSheet } from "./kindsheet.js";
import { Overlay } from "./overlay.js";
import { Panel } from "./panel.js";
import { Sheet } from "./sheet.js";
import { Sides } from "./sides.js";
import { WhatIf } from "./whatif.js";

/**
 * `lookUp` gives null for a state that there is not; its pin is dropped. `onProblem` is given what
 * went wrong with comparing pins, or null once nothing does. `strip` is where the marks are explained and labels are
 * chosen to be followed; `read` answers for these and for turns, where there is somebody who can; `onText` takes another
 * text or run, where there is somebody to read it; `memory` answers what a memory holds; `similar` knows states of a corpus; `unigram` the perplexity of
 * guessing by frequency alone, where that is known; `accuracy` turns to the page that compares all parts; `unfolds`: the first state that is selected unfolds the panel.
 * `onView` is told of changes; `quiet`: nobody made it.
 * @typedef {{onView: (change: Partial<View>, quiet: boolean) => void,
 *   divergence: (pairs: [Pin, Pin][]) => Promise<(Divergence | null)[]>,
 *   lookUp: (pin: Pin) => Promise<Kept | null>,
 *   onProblem?: (error: unknown) => void, strip?: HTMLElement, unfolds?: boolean,
 *   onText?: (change: Partial<View>) => void,
 *   read?: import("../net/readings.js").Reader, memory?: import("../net/readings.js").Reader, similar?: import("./likeness.js").SimilarReader, unigram?: (grid: Held) => number | null, accuracy?: () => void, onUnread?: (error: unknown) => void}} LensCallbacks
 */

const SETTLED = 70; // ms a state is selected before its divergence is asked for

export class Lens {
  /** @param {HTMLElement} root @param {LensCallbacks} callbacks */
  constructor(root, callbacks) {
    this.callbacks = callbacks;
    /** @type {Held | null} */ this.grid = null;
    /** @type {View | null} */ this.view = null;
    /** @type {Map<string, Kept>} */ this.kept = new Map();
    /** @type {Map<string, Divergence | null>} */ this.between = new Map();
    /** @type {Set<string>} */ this.fetching = new Set(); // pins that are looked up
    this.asking = 0;
    this.asked = 0; // how often divergences were asked for
    this.unfolds = callbacks.unfolds ?? false; // once: whoever folds the panel again wants it so
    /** @type {("tab" | "follow")[]} */ this.opened = []; // what Escape closes, the last one first
    const place = html("div", { class: "gridplace" });
    this.shown = html("p", { class: "shown", role: "status", hidden: true });
    this.comparison = html("div", { class: "comparison", tabindex: 0, role: "region", hidden: true,
      "aria-label": "comparison" });
    const drawn = html("div", { class: "drawn" }, this.shown, place, this.comparison);
    root.append(drawn);
    this.gridView = new GridView(place, {
      onHover: () => this.mark(),
      onSelect: (at) => this.select(at),
      ...(callbacks.read ? { onRange: () => this.overlay.moved() } : {}),
    });
    const { read, memory, similar } = callbacks, set = (/** @type {Partial<View>} */ change) => this.set(change);
    this.panel = new Panel(this.gridView, { act: (act) => this.act(act), set: (change) => this.change(change), before: (pin) => callbacks.lookUp(pin),
      unigram: callbacks.unigram ?? (() => null), ...(read ? { read } : {}), ...(memory ? { memory } : {}), ...(similar ? { similar } : {}) });
    root.append(this.panel.root);
    this.sheet = new Sheet(this.panel.root, root, this.gridView, { set: (change) => this.change(change) });
    this.card = new HoverCard(place, this.gridView);
    this.overlay = new Overlay(this.gridView, callbacks, { set, focus: (at) => this.select(at) });
    this.kindSheet = new KindSheet(place, this.gridView.head, set, callbacks.accuracy ?? null, memory !== undefined);
    this.whatIf = new WhatIf(place, this.gridView, read ? { edits: (edits) => this.change({ edits }), focus: (at) => this.select(at) } : null);
    this.goesOn = read ? new GoesOn(this.gridView, read, (change) => this.change(change)) : null;
    this.sides = new Sides(callbacks.onText ?? null);
    place.after(this.sides.root); // below, so that the grid does not move when a second text is typed
    drawn.insertBefore(this.whatIf.line, place);
    for (const beside of [this.panel.root, this.comparison]) beside.addEventListener("click", (event) => this.overlay.click(event));
    new ResizeObserver(() => {
      if (this.panel.hasOtherWidth()) this.refresh();
    }).observe(this.panel.root);
  }

  /** Show a grid as a view asks for it. @param {Held} grid @param {View} view */
  show(grid, view) {
    const pins = carried(view.pins, this.grid, grid);
    const same = this.grid && this.grid.columns === grid.columns, before = this.grid;
    if (before?.edits.join() !== grid.edits.join()) this.between.clear();
    this.grid = grid;
    this.view = { ...view, pins, ...(this.callbacks.memory && hasNetwork(grid) ? {} : { memories: null, asked: null }) }; // where somebody can tell of them
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
    this.goesOn?.show(grid, this.view);
    this.overlay.refresh();
    if (JSON.stringify(pins) !== JSON.stringify(view.pins)) this.callbacks.onView({ pins }, true);
    this.refresh();
    this.lookUp(pins);
  }

  /** Say what is shown where it is not what is asked for, and let it step back. @param {string} told "": it is */
  differ(told) {
    write(this.shown, told);
    this.shown.hidden = !told;
    this.panel.root.parentElement?.classList.toggle("differs", told !== "");
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
    if (absent.size) this.change({ pins: left }, true);
    else this.refresh();
  }

  /** @param {unknown} error @returns {undefined} */
  failed(error) {
    this.callbacks.onProblem?.(error);
  }

  succeeded() {
    if (this.view?.pins.every((pin) => this.there(pin))) this.callbacks.onProblem?.(null);
  }

  /** @param {Place} place */
  select(place) {
    const unfold = this.unfolds && this.view?.folded;
    this.unfolds = false;
    this.change(unfold ? { focus: place, folded: false } : { focus: place });
  }

  /** The state that every key and button is about. */
  subject() {
    return this.grid && this.view ? subjectOf(this.grid, this.view) : null;
  }

  /** Do something with the selected state. @param {import("../panel/subject.js").Act} act */
  act(act) {
    this.overlay.afterJump(() => this.actNow(act));
  }

  /** @param {import("../panel/subject.js").Act} act */
  actNow(act) {
    const { grid, view } = this, subject = this.subject(), indexed = this.callbacks.similar?.has(grid?.run ?? "") ?? false;
    if (!grid || !view || !subject || !this.panel.can(act, grid) || whyNot(act, grid, subject, indexed)) return;
    if (act === "change") this.whatIf.open(subject.place, this.panel.acts.get("change") ?? this.gridView.scroller);
    else if (act === "follow") this.overlay.followAndType(subject.state.top[0][0]);
    else if (act === "pin") this.change({ pins: toggled(view.pins, pinOf(grid, subject.place)) });
    else {
      this.change({ tab: act === "explain" ? "written" : "alike", folded: false });
      this.panel.revealTab();
    }
  }

  /** Close one thing, the last that was opened; pins stay. */
  escape() {
    if (this.whatIf.close() || this.kindSheet.close() || !this.view) return;
    const last = this.opened[this.opened.length - 1];
    if (last === "tab") this.change({ tab: "says" });
    else if (last === "follow") {
      this.set({ follow: null });
      if (this.overlay.strip?.field.matches(":focus")) this.gridView.scroller.focus({ preventScroll: true }); // its field is done with
    }
    else if (this.view.focus) this.change({ focus: null });
  }

  /** Change what is drawn over the states. @param {Partial<View>} change */
  set(change) {
    this.change(change);
    if (this.grid && this.view) this.show(this.grid, this.view);
  }

  /** @param {Partial<View>} change @param {boolean} quiet whether nobody did it, so that nobody need undo it */
  change(change, quiet = false) {
    if (!this.view || !this.grid) return;
    this.view = { ...this.view, ...change };
    for (const pin of this.view.pins) {
      const shown = lives(pin, this.grid) && keep(pin, this.grid);
      if (shown) this.kept.set(pinKey(pin), shown);
    }
    this.callbacks.onView(change, quiet);
    this.refresh();
  }

  /** The pin that the selected state would be. @returns {Pin | null} */
  selected() {
    const subject = this.subject();
    return this.grid && subject ? pinOf(this.grid, subject.place) : null;
  }

  /** Draw what depends on what is selected, pinned and opened. */
  refresh() {
    const { grid, view, overlay } = this;
    if (!grid || !view) return;
    const open = /** @type {("tab" | "follow")[]} */ ([...(view.focus && view.tab !== "says" ? ["tab"] : []), ...(view.follow ? ["follow"] : [])]);
    this.opened = [...this.opened.filter((one) => open.includes(one)), ...open.filter((one) => !this.opened.includes(one))];
    this.mark();
    this.panel.show(grid, view, [overlay.list, overlay.decision]);
    this.sheet.show(view);
    this.refreshPins();
    this.ask();
  }

  /** What a click on the name of its layer does, for the selected state. */
  openLayer() {
    const { grid, view } = this, column = grid?.columns.find((one) => one.id === view?.focus?.column);
    if (column) this.kindSheet.turn(column.layer);
  }

  /** Ring the selected state and the pinned ones, and light up the flow of the one that is pointed at, or else of the selected one. */
  mark() {
    const { grid, view, joined, gridView } = this;
    if (!grid || !view || !joined) return;
    const shown = new Set(shownColumns(grid, view.kinds).map((column) => column.id));
    const drawn = (/** @type {Place | null} */ place) => (place && shown.has(place.column) && grid.rows[place.row] ? place : null);
    const focus = drawn(view.focus), hover = drawn(gridView.hovered), at = hover ?? focus;
    const around = at ? flow(joined, shown, grid, at) : { feeds: [], fed: [] };
    gridView.setMarks({ focus, hover, ...around, pins: view.pins.flatMap((pin) => placeOf(pin, grid) ?? []) });
    this.card.show(grid, isSame(hover, focus) ? null : hover); // of the selected one the panel says more
  }

  /** One pin stands in the panel, several are compared under the grid. */
  refreshPins() {
    const { grid, view } = this;
    if (!grid || !view) return;
    const { pins } = view, focus = this.selected(), { measure } = this.gridView;
    const kept = (/** @type {Pin} */ pin) => this.kept.get(pinKey(pin)) ?? null;
    const how = { width: this.panel.width(), room: this.gridView.room.width, measure,
      onRemove: (/** @type {Pin} */ pin) => this.change({ pins: toggled(this.view?.pins ?? [], pin) }),
      onClear: () => this.change({ pins: [] }) };
    const single = pins.length === 1 ? drawPin(grid, pins[0], kept(pins[0]), focus ? this.distance(pins[0], focus) : undefined, how) : [];
    const table = pins.length < 2 ? [] : drawComparison(grid, pins.map((pin) => ({ pin, kept: kept(pin) })),
      (a, b) => this.distance(a, b), focus, how);
    this.panel.pinned.replaceChildren(...single);
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
    const pins = (this.view?.pins ?? []).filter((pin) => this.there(pin)), focus = this.selected();
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
    const turn = ++this.asked, edits = this.grid?.edits.join();
    let failed = false;
    for (const group of grouped(pairs)) {
      if (turn !== this.asked) return; // asked again meanwhile, for what is still open
      const found = await this.callbacks.divergence(group).catch((error) => this.failed(error));
      if (this.grid?.edits.join() !== edits) return; // it is of states that are others now
      failed ||= !found;
      if (found) this.learn(group, found);
    }
    if (!failed) this.succeeded();
  }

  /** Take in divergences, which may also come later or better. @param {[Pin, Pin][]} pairs @param {(Divergence | null)[]} found */
  learn(pairs, found) {
    found.forEach((divergence, k) => {
      const key = pairKey(...pairs[k]);
      if (divergence && (divergence.exact || !this.between.get(key)?.exact)) this.between.set(key, divergence); // no bound for what is known
    });
    if (found.length) this.refreshPins();
  }

  /** The divergences known between states that are drawn, as a file holds them. */
  knownBits() {
    return this.grid ? knownBits(this.grid, this.view?.pins ?? [], this.between) : [];
  }
}

/** @param {Place | null} a @param {Place | null} b */
function isSame(a, b) {
  return a !== null && a.column === b?.column && a.row === b.row;
}
