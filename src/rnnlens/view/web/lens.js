// A grid with its panel: hover, pins and their divergence. The page, the exported file and a
// notebook use it alike; it knows nothing of servers and keeps nothing global.

import { drawDetail, drawHint } from "./detail.js";
import { flow, neighbours } from "./flow.js";
import { GridView } from "./gridview.js";
import { shownColumns } from "./layout.js";
import { html } from "./markup.js";
import { carried, drawPins, keep, lives, pinKey, pinOf, toggled } from "./pins.js";

/** @typedef {import("./types.js").Divergence} Divergence */
/** @typedef {import("./types.js").Held} Held */
/** @typedef {import("./types.js").Kept} Kept */
/** @typedef {import("./types.js").Pin} Pin */
/** @typedef {import("./types.js").Place} Place */
/** @typedef {import("./types.js").View} View */
/**
 * @typedef {{onView: (change: Partial<View>) => void,
 *   divergence: (pairs: [Pin, Pin][]) => Promise<(Divergence | null)[]>,
 *   lookUp: (pin: Pin) => Promise<Kept | null>}} LensCallbacks
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
    this.asking = 0;
    this.wide = 0; // of the panel, kept for the same reason as the grid's
    this.hinted = ""; // the run whose hint is shown
    this.bright = false; // whether the flow stands out and the rest steps back
    const place = html("div", { class: "gridplace" });
    this.detail = html("div", { class: "detail" }, ...drawHint(null)); // to be read while the grid is on its way
    this.pinned = html("div", { class: "pinned" });
    this.panel = html("aside", { class: "panel", "aria-label": "the state in view" }, this.detail, this.pinned);
    root.append(place, this.panel);
    this.gridView = new GridView(place, {
      onFocus: (at, how) => this.focus(at, how !== "key" || this.bright),
      onLeave: () => { this.bright = false; },
      onPin: (at) => this.pin(at),
    });
    new ResizeObserver(() => {
      if (this.wide === this.panel.clientWidth) return;
      this.wide = this.panel.clientWidth;
      this.hinted = "";
      this.refresh();
    }).observe(this.panel);
    keys.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.clear();
    });
  }

  /** Show a grid as a view asks for it. @param {Held} grid @param {View} view */
  show(grid, view) {
    const pins = carried(view.pins, this.grid, grid);
    if (this.grid && this.grid.run !== grid.run) this.forget();
    const same = this.grid && this.grid.columns === grid.columns;
    this.grid = grid;
    this.view = { ...view, pins };
    if (!same || !this.joined) this.joined = neighbours(grid);
    const kept = new Map();
    for (const pin of pins) {
      const shown = (lives(pin, grid) && keep(pin, grid)) || this.kept.get(pinKey(pin))
        || this.carriedFrom(pin, view, pins);
      if (shown) kept.set(pinKey(pin), shown);
    }
    this.kept = kept;
    this.gridView.show(grid, this.view);
    if (JSON.stringify(pins) !== JSON.stringify(view.pins)) this.callbacks.onView({ pins });
    this.refresh();
    this.lookUp(pins);
  }

  /** What a pin showed under the text before. @param {Pin} pin @param {View} view @param {Pin[]} pins */
  carriedFrom(pin, view, pins) {
    const before = view.pins[pins.indexOf(pin)];
    return before && this.kept.get(pinKey(before));
  }

  forget() {
    this.kept.clear();
    this.between.clear();
  }

  /** Fetch what pins of other texts show. @param {Pin[]} pins */
  async lookUp(pins) {
    const { grid } = this;
    for (const pin of pins) {
      if (!grid || this.kept.has(pinKey(pin)) || lives(pin, grid)) continue;
      const found = await this.callbacks.lookUp(pin).catch(() => null);
      if (found && this.grid?.run === grid.run) this.kept.set(pinKey(pin), found);
    }
    if (pins.length) this.refreshPins();
  }

  /** @param {Place} place @param {boolean} bright */
  focus(place, bright) {
    this.bright = bright;
    this.change({ focus: place });
  }

  /** @param {Place} place */
  pin(place) {
    if (!this.grid || !this.view) return;
    this.change({ focus: place, pins: toggled(this.view.pins, pinOf(this.grid, place)) });
  }

  clear() {
    this.bright = false;
    this.change({ focus: null, pins: [] });
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
    return grid && focus && grid.rows[focus.row] ? pinOf(grid, focus) : null;
  }

  /** Draw what depends on focus and pins. */
  refresh() {
    const { grid, view, joined } = this;
    if (!grid || !view || !joined) return;
    const shown = new Set(shownColumns(grid, view.kinds).map((column) => column.id));
    const focus = view.focus && shown.has(view.focus.column) && grid.rows[view.focus.row] ? view.focus : null;
    const around = focus ? flow(joined, shown, grid.rows.length, focus) : { feeds: [], fed: [] };
    const pins = view.pins.filter((pin) => lives(pin, grid));
    this.gridView.setMarks({ focus, ...around, pins }, this.bright);
    const width = this.width(), { measure } = this.gridView;
    if (focus) this.detail.replaceChildren(...drawDetail(grid, focus, width, measure));
    else if (this.hinted !== grid.run) this.detail.replaceChildren(...drawHint(grid));
    this.hinted = focus ? "" : grid.run;
    this.refreshPins();
    this.ask();
  }

  width() {
    this.wide ||= this.panel.clientWidth;
    return Math.min(340, Math.max(180, this.wide - 34));
  }

  refreshPins() {
    const { grid, view } = this;
    if (!grid || !view) return;
    const cards = drawPins(grid, view.pins, (pin) => this.kept.get(pinKey(pin)) ?? null,
      (a, b) => this.between.get(pairKey(a, b)) ?? null, this.inView(), {
        width: Math.floor(this.width() / 2) - 18, measure: this.gridView.measure,
        onRemove: (pin) => this.change({ pins: toggled(this.view?.pins ?? [], pin) }),
        onClear: () => this.change({ pins: [] }),
      });
    this.pinned.replaceChildren(...cards);
  }

  /** Ask for the divergences that are not known yet, once the view has settled. */
  ask() {
    clearTimeout(this.asking);
    const pins = this.view?.pins ?? [], focus = this.inView();
    if (!pins.length) return;
    /** @type {[Pin, Pin][]} */ const wanted = [];
    pins.forEach((pin, k) => {
      if (focus && pinKey(focus) !== pinKey(pin)) wanted.push([pin, focus]);
      if (k > 0) wanted.push([pins[0], pin]);
    });
    const open = wanted.filter(([a, b]) => !this.between.has(pairKey(a, b)));
    if (!open.length) return;
    this.asking = setTimeout(() => this.answer(open), SETTLED);
  }

  /** @param {[Pin, Pin][]} pairs */
  async answer(pairs) {
    this.learn(pairs, await this.callbacks.divergence(pairs).catch(() => []));
  }

  /** Take in divergences, which may also come later or better. @param {[Pin, Pin][]} pairs @param {(Divergence | null)[]} found */
  learn(pairs, found) {
    found.forEach((divergence, k) => {
      if (divergence) this.between.set(pairKey(...pairs[k]), divergence);
    });
    if (found.length) this.refreshPins();
  }

  /**
   * The divergences known between states that are drawn, as a file holds them.
   * @returns {[string, number, string, number, number][]}
   */
  knownBits() {
    const { grid, between } = this;
    /** @type {[string, number, string, number, number][]} */ const found = [];
    const pins = grid ? (this.view?.pins ?? []).filter((pin) => lives(pin, grid)) : [];
    pins.forEach((a, k) => pins.slice(k + 1).forEach((b) => {
      const known = between.get(pairKey(a, b));
      if (known?.exact) found.push([a.column, a.row, b.column, b.row, known.bits]);
    }));
    return found;
  }
}

/** The same for both orders: the divergence is. @param {Pin} a @param {Pin} b */
function pairKey(a, b) {
  return [pinKey(a), pinKey(b)].sort().join("|");
}
