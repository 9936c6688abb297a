// Which words wrote a state: asked for the selected one, told in its tab and shaded beside the words.

import { editsOf, editWords } from "../base/edits.js";
import { parseFollow } from "../base/follow.js";
import { visible } from "../base/format.js";
import { readingAt, rowShowing } from "../base/lines.js";
import { bdi, html } from "../base/markup.js";
import { meaning } from "../base/metrics.js";
import { whyNot } from "../panel/subject.js";
import { drawWaterfall, helpOf, logits, READINGS, readingsOf, shades, STAND_INS } from "../panel/written.js";
import { list, segments, take } from "./menus.js";

/** @typedef {import("../panel/subject.js").Subject} Subject */

const SETTLED = 150; // ms a state is selected before it is asked about
const TYPED = 500; // ms after the last key of other labels

export class WrittenBy {
  /** @param {GridView} gridView @param {import("../net/readings.js").Reader} read @param {(change: Partial<View>) => void} set */
  constructor(gridView, read, set) {
    this.gridView = gridView;
    this.read = read;
    this.set = set;
    /** @type {Held | null} */ this.grid = null;
    /** @type {View | null} */ this.view = null;
    /** @type {Subject | null} */ this.subject = null;
    /** @type {Written | null} */ this.written = null;
    this.question = ""; // that was asked last
    this.drawn = ""; // what is told
    this.timer = this.typed = this.turn = 0;
    this.labels = this.field("a label, or several");
    this.against = this.field("the label, or labels, that it is told against");
    this.choice = segments("reading", READINGS.map(([value, text, title]) => ({ value, text, title })), "without", (reading) => set({ reading }));
    this.standIns = list("what is read in a word’s place", STAND_INS.map(([value, text]) => ({ value, text })), "tag",
      (chosen) => set({ stand_in: STAND_INS.find(([value]) => value === chosen)?.[0] ?? null }));
    for (const [value, , title] of STAND_INS) this.standIns.querySelector(`[value=${value}]`)?.setAttribute("title", title);
    this.inPlace = html("label", { class: "inplace" }, "in a word’s place ", this.standIns);
    this.told = html("div", { class: "told", role: "status" });
    this.root = html("section", { class: "writtenby", "aria-label": "written by" },
      html("div", { class: "contrast" }, html("label", {}, "says ", this.labels), html("label", {}, "against ", this.against)), this.choice, this.inPlace, this.told);
  }

  /** @param {string} title */
  field(title) {
    return html("input", { type: "text", spellcheck: "false", autocomplete: "off", autocapitalize: "off", title,
      input: () => {
        clearTimeout(this.typed);
        this.typed = setTimeout(() => this.take(), TYPED);
      },
      keydown: (/** @type {KeyboardEvent} */ event) => {
        if (event.key === "Enter") this.take();
      } });
  }

  /** Ask about the labels that were typed. */
  take() {
    clearTimeout(this.typed);
    this.typed = 0;
    const isLabel = (/** @type {string} */ label) => this.grid?.labels.has(label) ?? false;
    const ours = parseFollow(this.labels.value, isLabel), theirs = parseFollow(this.against.value, isLabel);
    const labels = ours?.labels ?? (theirs ? this.written?.labels ?? [] : []), against = ours?.against.length ? ours.against : theirs?.labels ?? [];
    this.set({ contrast: labels.length ? { labels: [...labels], against } : null });
  }

  /** Tell of another state, where it is another; null: of none. @param {Held} grid @param {View} view @param {Subject | null} subject */
  show(grid, view, subject) {
    const wasShown = this.subject !== null;
    this.grid = grid;
    this.view = view;
    this.subject = subject;
    if (!subject) {
      if (wasShown) this.forget();
      return;
    }
    take(this.choice, view.reading);
    if (!this.typed) {
      this.labels.value = view.contrast?.labels.map(visible).join(" ") ?? "";
      this.against.value = view.contrast?.against.map(visible).join(" ") ?? "";
    }
    const asked = this.asked(grid, view, subject), question = JSON.stringify(asked);
    if (question === this.question) return this.draw();
    this.forget();
    this.question = question;
    const wrong = whyNot("explain", grid, subject, false);
    if (wrong) return this.say(html("p", {}, `${wrong}.`));
    if (!asked) return this.sayEdited(grid);
    this.say(html("p", { class: "soft" }, "…"));
    this.timer = setTimeout(() => this.ask(asked), wasShown ? SETTLED : 0);
    return undefined;
  }

  /** What is asked; null: of a text with edits nothing can be. @param {Held} grid @param {View} view @param {Subject} subject */
  asked(grid, { contrast, stand_in }, { place, column }) {
    if (editsOf(grid, grid.lines[place.row]?.side ?? "first").length) return null;
    const { run, text, row } = readingAt(grid, place.row);
    return { run, text, semantic: grid.semantic, column: column.id, row: row ?? 0, labels: contrast?.labels ?? [], against: contrast?.against ?? [], stand_in };
  }

  forget() {
    clearTimeout(this.timer);
    this.turn++;
    this.written = null;
    this.question = this.drawn = "";
    if (this.gridView.parts.size) this.gridView.setParts(new Map());
  }

  /** @param {import("../base/schema.d.ts").WrittenQuestion} asked */
  async ask(asked) {
    const turn = ++this.turn;
    try {
      const written = await this.read("api/written", asked, new AbortController().signal);
      if (turn !== this.turn) return;
      this.written = written;
      this.draw();
    } catch (error) {
      if (turn === this.turn) this.say(html("p", { class: "wrong" }, error instanceof Error ? error.message : String(error)));
    }
  }

  /** @param {Node[]} told */
  say(...told) {
    this.told.replaceChildren(...told);
    this.choice.hidden = !this.written;
    this.inPlace.hidden = this.view?.reading === "stored" || (!this.written && !this.view?.stand_in);
  }

  /** @param {Held} grid */
  sayEdited(grid) {
    const edits = grid.edits.map((edit) => editWords(grid, edit)).join("; ");
    this.say(html("p", {}, `The text is read with changes (${edits}). Which words wrote a state can be told only of a text as it is.`),
      html("button", { type: "button", class: "toggle", click: () => this.set({ edits: [] }) }, "Take the changes back"));
  }

  draw() {
    const { grid, view, subject, written } = this;
    if (!grid || !view || !subject || !written) return;
    const there = readingsOf(written), reading = there.some(([key]) => key === view.reading) ? view.reading : "without";
    const drawn = `${this.question} ${reading} ${grid.text}`;
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    take(this.choice, reading);
    for (const button of this.choice.querySelectorAll("button")) button.disabled = !there.some(([key]) => key === button.dataset.value);
    this.standIns.value = written.stand_in;
    for (const option of this.standIns.options) option.hidden = option.disabled = !written.offered.includes(option.value);
    const [ours, theirs] = [written.labels, written.against].map((labels) => labels.map((label) => `“${visible(label)}”`).join(" "));
    [this.labels.placeholder, this.against.placeholder] = [written.labels, written.against].map((labels) => labels.map(visible).join(" "));
    const ahead = html("p", { class: "ahead", ...meaning("logits") }, html("b", {}, bdi(ours)), written.difference < 0 ? " is behind " : " is ahead of ", html("b", {}, bdi(theirs)),
      ` by ${logits(Math.abs(written.difference)).replace("+", "")} logits.`);
    const side = readingAt(grid, subject.place.row), shown = (written.without ?? []).map((_, row) => rowShowing(grid, { ...side, row }));
    const words = shown.map((row) => grid.words[row ?? -1]?.text ?? "");
    this.say(ahead, html("p", { class: "soft" }, helpOf(reading, written)), ...(written.note ? [html("p", { class: "soft" }, written.note)] : []), ...drawWaterfall(written, reading, words));
    this.gridView.setParts(new Map(shades(written, reading).map((part, row) => [shown[row] ?? -1, part])));
  }
}
