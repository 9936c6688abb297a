// Similar states: the nearest of the same kind in the corpus that a run has an index of.

import { editsOf } from "../base/edits.js";
import { visible } from "../base/format.js";
import { readingAt } from "../base/lines.js";
import { bdi, html } from "../base/markup.js";
import { meaning } from "../base/metrics.js";
import { whyNot } from "../panel/subject.js";
import { segments, take } from "./menus.js";

/** @typedef {import("../panel/subject.js").Subject} Subject */

/**
 * Who knows a corpus: whether a run has one, its nearest states, and who opens them.
 * @typedef {{has: (run: string) => boolean, open: (change: Partial<View>) => void,
 *   find: (asked: SimilarQuestion, signal: AbortSignal) => Promise<import("../base/schema.d.ts").Similar>}} SimilarReader
 */

const SETTLED = 250; // ms a state is selected before it is asked about
const COUNT = 12;
const AROUND = 5; // words before the one that is meant

export class Likeness {
  /** @param {SimilarReader} similar @param {(change: Partial<View>) => void} set */
  constructor(similar, set) {
    this.similar = similar;
    this.set = set;
    /** @type {AbortController | null} */ this.flight = null;
    this.question = ""; // that was asked last
    this.timer = 0;
    this.choice = segments("compared by", [{ value: "cosine", text: "state", title: "by the cosine of standardised states" },
      { value: "divergence", text: "prediction", title: "by the divergence of what they say, in bits" }], "cosine", (alike) => set({ alike }));
    this.told = html("div", { class: "told", role: "status" });
    this.root = html("section", { class: "likeness", "aria-label": "similar states" }, this.choice, this.told);
  }

  /** Ask about another state, where it is another; null: about none. @param {Held} grid @param {View} view @param {Subject | null} subject */
  show(grid, view, subject) {
    const asked = subject && this.asked(grid, view, subject), question = JSON.stringify(asked);
    if (question === this.question) return;
    this.forget();
    this.question = question;
    if (!subject || !asked) return;
    take(this.choice, view.alike);
    const wrong = whyNot("alike", grid, subject, this.similar.has(grid.run));
    this.choice.hidden = wrong !== "";
    if (wrong) this.say(`${wrong}.`);
    else if (asked.edited) this.sayEdited();
    else this.timer = setTimeout(() => this.ask(asked.asked), SETTLED);
  }

  /** @param {Held} grid @param {View} view @param {Subject} subject @returns {{asked: SimilarQuestion, edited: boolean}} */
  asked(grid, view, { place, column }) {
    const { run, text, row } = readingAt(grid, place.row), edited = editsOf(grid, grid.lines[place.row]?.side ?? "first").length > 0;
    return { asked: { run, text, semantic: grid.semantic, column: column.id, row: row ?? 0, count: COUNT, by: view.alike }, edited };
  }

  forget() {
    clearTimeout(this.timer);
    this.flight?.abort();
    this.told.replaceChildren(html("p", { class: "soft" }, "looking for similar states \u2026"));
  }

  /** @param {SimilarQuestion} asked */
  async ask(asked) {
    const flight = this.flight = new AbortController();
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

  /** Of a text with edits nothing is looked for, and here is the way on. */
  sayEdited() {
    this.told.replaceChildren(html("p", {}, "The text is read with changes. Similar states are looked for only of a text as it is."),
      html("button", { type: "button", class: "toggle", click: () => this.set({ edits: [] }) }, "Take the changes back"));
  }

  /** @param {Near[]} near @param {SimilarQuestion} asked */
  draw(near, { column, semantic, by }) {
    const lines = near.map((one) => {
      const before = one.words.slice(Math.max(0, one.position - AROUND), one.position).map(visible).join(" ");
      const open = (/** @type {MouseEvent} */ event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return; // as links are opened elsewhere
        event.preventDefault();
        this.similar.open({ text: one.text, semantic: semantic ?? null, focus: { column, row: one.position } });
      };
      const distance = by === "cosine" ? (1 - one.distance).toFixed(2) : one.distance.toFixed(2);
      return html("li", {}, html("a", { href: one.link, click: open, title: one.words.map(visible).join(" ") },
        html("span", { class: "context" }, html("bdi", {}, before)), html("b", {}, bdi(visible(one.words[one.position]))),
        html("span", { class: "came soft" }, one.next === null ? "" : bdi(visible(one.next))), html("span", { class: "distance" }, distance)));
    });
    const help = by === "cosine" ? "cosine: 1 is the same" : "divergence in bits: 0 is the same";
    return html("div", {}, html("p", { class: "soft", ...meaning(by === "cosine" ? "cosine" : "divergence") }, `The word read, in bold; the word that came next; ${help}.`),
      html("ol", {}, ...lines));
  }
}
