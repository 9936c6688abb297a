// States like this: the nearest of the same kind in the corpus that a run has an index of.

import { editsOf } from "../base/edits.js";
import { visible } from "../base/format.js";
import { readingAt } from "../base/lines.js";
import { bdi, html } from "../base/markup.js";
import { segments, take } from "./menus.js";
import { subjectOf } from "./whatif.js";

/**
 * Who knows a corpus: whether a run has one, its nearest states, and who opens them.
 * @typedef {{has: (run: string) => boolean, open: (change: Partial<View>) => void,
 *   find: (asked: SimilarQuestion, signal: AbortSignal) => Promise<import("../base/schema.d.ts").Similar>}} SimilarReader
 */

const SETTLED = 250; // ms a state is in view before it is asked about
const COUNT = 12;
const AROUND = 5; // words before the one that is meant
const EDITED = "States are looked for as the text has them without edits: undo them to ask.";

export class Likeness {
  /** @param {SimilarReader} similar */
  constructor(similar) {
    this.similar = similar;
    this.isOpen = false;
    /** @type {"cosine" | "divergence"} */ this.by = "cosine";
    /** @type {Held | null} */ this.grid = null;
    /** @type {Place | null} */ this.place = null;
    /** @type {AbortController | null} */ this.flight = null;
    this.question = ""; // that was asked last
    this.timer = 0;
    this.button = html("button", { type: "button", class: "plain", "aria-expanded": "false", hidden: true,
      title: "states like this one, in the corpus", click: () => this.toggle() }, "alike \u2026");
    this.choice = segments("compared by", [{ value: "cosine", text: "state", title: "by the cosine of standardised states" },
      { value: "divergence", text: "prediction", title: "by the divergence of what they say, in bits" }], this.by, (by) => {
      this.by = /** @type {"cosine" | "divergence"} */ (by);
      take(this.choice, by);
      this.ask();
    });
    this.told = html("div", { class: "told", role: "status" });
    this.root = html("section", { class: "likeness", "aria-label": "states like this", hidden: true }, this.choice, this.told);
    this.root.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.isOpen) return;
      event.stopPropagation();
      this.toggle();
      this.button.focus();
    });
  }

  toggle() {
    this.isOpen = !this.isOpen;
    this.button.setAttribute("aria-expanded", String(this.isOpen));
    this.root.hidden = !this.isOpen;
    if (this.isOpen) this.ask();
    else this.forget();
  }

  /** Ask about another state, where it is another. @param {Held} grid @param {View} view */
  show(grid, view) {
    const place = subjectOf(grid, view, ({ column, row }) => {
      const found = grid.columns.find((one) => one.id === column);
      return found !== undefined && found.letter !== "y" && (readingAt(grid, row).row ?? -1) >= found.back;
    });
    this.grid = grid;
    this.place = place;
    this.button.hidden = !place || !this.similar.has(grid.run);
    this.root.hidden = this.button.hidden || !this.isOpen;
    if (this.root.hidden || JSON.stringify(this.asked()) === this.question) return;
    this.forget();
    this.timer = setTimeout(() => this.ask(), SETTLED);
  }

  /** @returns {SimilarQuestion | null} */
  asked() {
    const { grid, place } = this;
    if (!grid || !place) return null;
    const { run, text, row } = readingAt(grid, place.row);
    return { run, text, semantic: grid.semantic, column: place.column, row: row ?? 0, count: COUNT, by: this.by };
  }

  /** Whether the text of the state is edited. */
  isEdited() {
    const { grid, place } = this;
    return grid !== null && place !== null && editsOf(grid, grid.lines[place.row]?.side ?? "first").length > 0;
  }

  forget() {
    clearTimeout(this.timer);
    this.flight?.abort();
    this.question = "";
    this.told.replaceChildren(html("p", { class: "soft" }, "…"));
  }

  async ask() {
    const asked = this.asked();
    if (!asked || !this.isOpen) return;
    this.forget();
    if (this.isEdited()) return this.say(EDITED);
    const flight = this.flight = new AbortController();
    this.question = JSON.stringify(asked);
    try {
      const { near } = await this.similar.find(asked, flight.signal);
      if (flight === this.flight) this.told.replaceChildren(this.draw(near, asked));
    } catch (error) {
      if (flight === this.flight && !flight.signal.aborted) this.say(error instanceof Error ? error.message : String(error));
    }
  }

  /** @param {string} problem */
  say(problem) {
    this.told.replaceChildren(html("p", { class: "wrong" }, problem));
  }

  /** @param {Near[]} near @param {SimilarQuestion} asked */
  draw(near, { column, semantic }) {
    const lines = near.map((one) => {
      const before = one.words.slice(Math.max(0, one.position - AROUND), one.position).map(visible).join(" ");
      const open = (/** @type {MouseEvent} */ event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return; // as links are opened elsewhere
        event.preventDefault();
        this.similar.open({ text: one.text, semantic: semantic ?? null, focus: { column, row: one.position } });
      };
      const distance = this.by === "cosine" ? (1 - one.distance).toFixed(2) : one.distance.toFixed(2);
      return html("li", {}, html("a", { href: one.link, click: open, title: one.words.map(visible).join(" ") },
        html("span", { class: "context" }, html("bdi", {}, before)), html("b", {}, bdi(visible(one.words[one.position]))),
        html("span", { class: "came soft" }, one.next === null ? "" : bdi(visible(one.next))), html("span", { class: "distance" }, distance)));
    });
    const help = this.by === "cosine" ? "cosine, 1: the same" : "bits apart, 0: the same";
    return html("div", {}, html("p", { class: "soft" }, `The word read, the one that came; ${help}.`), html("ol", {}, ...lines));
  }
}
