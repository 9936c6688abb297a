// The panel beside the grid: which state is selected, what can be done with it, what it says, and tabs that say more.

import { visible } from "../base/format.js";
import { columnsAt, hasNetwork, isGap } from "../base/lines.js";
import { html } from "../base/markup.js";
import { isMatrix } from "../base/memories.js";
import { drawBefore, besideKept, isCompared } from "../panel/before.js";
import { drawDetail, drawGap, drawHint, drawSays } from "../panel/detail.js";
import { pinKey, pinOf } from "../panel/pins.js";
import { momentName, partName, subjectOf, whyNot } from "../panel/subject.js";
import { Likeness } from "./likeness.js";
import { MemoryView } from "./memory.js";
import { WrittenBy } from "./writtenby.js";

/** @typedef {import("../panel/subject.js").Act} Act */
/** @typedef {import("../panel/subject.js").Subject} Subject */
/**
 * Who does what is asked for here: `act` with the selected state, `set` what is shown; `before` gives what a state was
 * without edits, where somebody knows, `unigram` the perplexity of guessing by frequency.
 * @typedef {{act: (act: Act) => void, set: (change: Partial<View>) => void, before: (pin: Pin) => Promise<Kept | null>,
 *   unigram: (grid: Held) => number | null, read?: import("../net/readings.js").Reader, memory?: import("../net/readings.js").Reader, similar?: import("./likeness.js").SimilarReader}} PanelCallbacks
 */

const ACTS = /** @type {[Act, string, string][]} */ ([["change", "Change", "e"], ["explain", "Explain", "w"], ["alike", "Find alike", "a"], ["follow", "Follow", "f"], ["pin", "Pin", "p"]]);
const TABS = /** @type {[View["tab"], string][]} */ ([["says", "says"], ["changed", "changed"], ["written", "written by"], ["alike", "alike"]]);

const LEAST = 260; // pixels of a tab that are to be in sight when it is opened

export class Panel {
  /** @param {GridView} gridView @param {PanelCallbacks} callbacks */
  constructor(gridView, callbacks) {
    this.gridView = gridView;
    this.callbacks = callbacks;
    const { read, memory, similar, set } = callbacks, uid = gridView.uid;
    this.wide = 0; // kept, so that drawing does not lay the page out twice
    this.drawn = ""; // the hint that is shown
    /** @type {{key: string, kept: Kept | null | undefined}} */ this.before = { key: "", kept: null };
    this.can = (/** @type {Act} */ act, /** @type {Held | null} */ grid = null) => act === "pin" || (act === "alike" ? similar !== undefined
      : read !== undefined && (act === "follow" || hasNetwork(grid)));
    this.fold = html("button", { type: "button", class: "plain fold", click: () => set({ folded: !this.root.parentElement?.classList.contains("folded") }) });
    this.heading = html("h2", {});
    this.equation = html("p", { class: "equation" });
    this.acts = new Map(ACTS.filter(([act]) => this.can(act)).map(([act, name]) => [act, html("button", { type: "button", class: "act", "data-act": act, click: () => callbacks.act(act),
      ...(act === "change" ? { "aria-haspopup": "dialog" } : {}) }, name)]));
    this.top = html("div", { class: "subject" }, this.heading, this.equation, html("div", { class: "acts", role: "group", "aria-label": "what to do with it" }, ...this.acts.values()));
    this.said = html("div", { class: "saying" });
    this.written = read ? new WrittenBy(gridView, read, set) : null;
    this.memory = memory ? new MemoryView(memory) : null;
    this.likeness = similar ? new Likeness(similar, set) : null;
    this.tabs = new Map(TABS.filter(([tab]) => tab === "says" || tab === "changed" || (tab === "alike" ? similar : read)).map(([tab, name]) => [tab,
      html("button", { type: "button", role: "tab", id: `${uid}-tab-${tab}`, "aria-controls": `${uid}-tab`, click: () => set({ tab }) }, name)]));
    this.list = html("div", { class: "tabs", role: "tablist", "aria-label": "about the selected state", keydown: (/** @type {KeyboardEvent} */ event) => this.key(event) }, ...this.tabs.values());
    this.sheet = html("div", { class: "tabsheet", role: "tabpanel", id: `${uid}-tab` });
    this.detail = html("div", { class: "detail", tabindex: 0, role: "region", "aria-label": "what it says" }, ...drawHint(null)); // to be read while the grid is on its way
    this.pinned = html("div", { class: "pinned" });
    this.root = html("aside", { class: "panel", "aria-label": "the selected state" }, this.fold, this.top, this.detail);
    this.top.hidden = true;
  }

  width() {
    this.wide ||= this.root.clientWidth;
    return Math.min(340, Math.max(180, this.wide - 34));
  }

  /** Whether the panel has another width than it was drawn for. */
  hasOtherWidth() {
    const other = this.wide !== this.root.clientWidth;
    this.wide = this.root.clientWidth;
    if (other) this.drawn = "";
    return other;
  }

  /** @param {Held} grid @param {View} view @param {Node[]} more what stands below */
  show(grid, view, more) {
    this.showFold(view.folded);
    const subject = subjectOf(grid, view), { focus } = view;
    this.top.hidden = !subject;
    const hint = subject ? "" : focus && isGap(grid, focus.row) ? "gap" : `${grid.run} ${grid.semantic}`;
    if (subject) this.showSubject(grid, view, subject);
    else if (hint !== this.drawn) this.said.replaceChildren(...(hint === "gap" ? drawGap() : drawHint(grid)));
    this.drawn = hint;
    this.list.hidden = this.sheet.hidden = !subject;
    this.showTab(grid, view, subject);
    const parts = [this.said, this.list, this.sheet, ...more, this.pinned];
    if (parts.some((part, k) => this.detail.childNodes[k] !== part)) this.detail.replaceChildren(...parts);
  }

  /** @param {Held} grid @param {View} view @param {Subject} subject */
  showSubject(grid, view, subject) {
    const { place, column, name } = subject, columns = columnsAt(grid, place.row);
    this.heading.textContent = `${partName(column, columns)}, ${momentName(grid, place, column)}`;
    this.equation.textContent = visible(column.equation);
    const indexed = this.callbacks.similar?.has(grid.run) ?? false, key = pinKey(pinOf(grid, place));
    const isPinned = view.pins.some((pin) => pinKey(pin) === key);
    for (const [act, word, letter] of ACTS) {
      const button = this.acts.get(act), why = whyNot(act, grid, subject, indexed);
      if (!button) continue;
      button.hidden = !this.can(act, grid);
      const said = act === "pin" && isPinned ? "Unpin" : word;
      button.textContent = said;
      button.disabled = why !== "";
      button.title = why || `${said} ${name} (${letter})`;
      button.setAttribute("aria-label", `${said} ${name}`);
      if (act === "pin") button.setAttribute("aria-pressed", String(isPinned));
    }
    this.said.replaceChildren(...drawDetail(grid, subject, this.look(grid)));
  }

  /** @param {Held} grid */
  look(grid) {
    return { width: this.width(), measure: this.gridView.measure, unigram: this.callbacks.unigram(grid) };
  }

  /** @param {Held} grid @param {View} view @param {Subject | null} subject */
  showTab(grid, view, subject) {
    const tab = this.tabs.has(view.tab) && (view.tab !== "written" || hasNetwork(grid)) ? view.tab : "says";
    for (const [name, button] of this.tabs) {
      button.hidden = name === "written" && !hasNetwork(grid);
      button.setAttribute("aria-selected", String(name === tab));
      button.tabIndex = name === tab ? 0 : -1;
    }
    this.sheet.setAttribute("aria-labelledby", `${this.gridView.uid}-tab-${tab}`);
    this.written?.show(grid, view, tab === "written" ? subject : null);
    this.likeness?.show(grid, view, tab === "alike" ? subject : null);
    const asks = tab === "says" && subject && isMatrix(subject.column) && hasNetwork(grid);
    this.memory?.show(grid, asks ? subject : null);
    if (!subject) return;
    const inside = tab === "written" && this.written ? [this.written.root] : tab === "alike" && this.likeness ? [this.likeness.root]
      : tab === "changed" ? drawBefore(grid, subject, this.beforeOf(grid, subject), this.width()) : [...(asks && this.memory ? [this.memory.root] : []), ...drawSays(grid, subject, this.look(grid))];
    if (inside.length !== 1 || this.sheet.firstChild !== inside[0]) this.sheet.replaceChildren(...inside);
  }

  /** Scroll to the tab, where little of it is in sight. */
  revealTab() {
    const { detail, list, sheet } = this, top = list.offsetTop - detail.offsetTop;
    if (sheet.offsetTop - detail.offsetTop + LEAST > detail.scrollTop + detail.clientHeight) detail.scrollTop = top - 4;
  }

  /** What the state is compared with: asked for where it is not at hand. @param {Held} grid @param {Subject} subject */
  beforeOf(grid, subject) {
    if (grid.lines.length || !isCompared(grid, subject)) return besideKept(grid, subject);
    const pin = pinOf(grid, subject.place), key = pinKey(pin);
    if (this.before.key === key) return this.before.kept;
    const asked = this.before = { key, kept: /** @type {Kept | null | undefined} */ (null) };
    this.callbacks.before(pin).catch(() => null).then((kept) => {
      asked.kept = kept ?? undefined;
      if (asked === this.before) this.callbacks.set({});
    });
    return null;
  }

  /** @param {boolean} folded */
  showFold(folded) {
    this.root.parentElement?.classList.toggle("folded", folded);
    const name = folded ? "unfold the panel" : "fold the panel";
    if (this.fold.title === name) return;
    this.fold.title = name;
    this.fold.setAttribute("aria-label", name);
    this.fold.setAttribute("aria-expanded", String(!folded));
    this.fold.textContent = folded ? "‹" : "›";
  }

  /** Arrows go from tab to tab. @param {KeyboardEvent} event */
  key(event) {
    const step = new Map([["ArrowLeft", -1], ["ArrowRight", 1]]).get(event.key), all = [...this.tabs.keys()].filter((tab) => !this.tabs.get(tab)?.hidden);
    const at = all.findIndex((tab) => this.tabs.get(tab) === event.target);
    if (step === undefined || at < 0) return;
    event.preventDefault();
    event.stopPropagation();
    const tab = all[(at + step + all.length) % all.length];
    this.tabs.get(tab)?.focus();
    this.callbacks.set({ tab });
  }
}
