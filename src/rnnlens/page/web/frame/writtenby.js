// Who wrote this: asked for one state, shown in the panel and shaded beside the words.

import { editsOf } from "../base/edits.js";
import { parseFollow } from "../base/follow.js";
import { columnName, lastLayer, visible, wordAfter } from "../base/format.js";
import { readingAt, rowShowing } from "../base/lines.js";
import { bdi, html } from "../base/markup.js";
import { canAsk, drawWaterfall, logits, READINGS, readingsOf, shades } from "../panel/written.js";
import { list } from "./menus.js";
import { subjectOf } from "./whatif.js";

/** @typedef {import("../panel/written.js").Reading} Reading */

const SETTLED = 150; // ms a state is in view before it is asked about
const TYPED = 400; // ms after the last key of other labels
const EDITED = "Told of a text without edits: undo them to ask.";

export class WrittenBy {
  /** @param {GridView} gridView @param {import("../net/readings.js").Reader} read */
  constructor(gridView, read) {
    this.gridView = gridView;
    this.read = read;
    this.isOpen = false;
    /** @type {Reading} */ this.reading = "path";
    /** @type {Held | null} */ this.grid = null;
    /** @type {Place | null} */ this.place = null;
    /** @type {Written | null} */ this.written = null;
    this.question = ""; // that was asked last
    this.timer = this.turn = 0;
    this.button = html("button", { type: "button", class: "plain", "aria-expanded": "false", hidden: true, click: () => this.toggle() }, "written by \u2026");
    this.about = html("span", { class: "soft" });
    this.labels = html("input", { type: "text", spellcheck: "false", autocomplete: "off", autocapitalize: "off",
      "aria-label": "two labels to tell apart, such as have / has", title: "a label, or labels / those they stand against" });
    this.labels.addEventListener("input", () => this.later(TYPED));
    this.choice = html("div", { class: "place" });
    this.told = html("div", { class: "told", role: "status" });
    this.root = html("section", { class: "writtenby", "aria-label": "written by", hidden: true },
      this.about, html("div", { class: "contrast" }, this.labels, this.choice), this.told);
    this.root.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.isOpen) return;
      event.stopPropagation();
      this.toggle();
      this.button.focus();
    });
    gridView.scroller.addEventListener("keydown", (event) => {
      if (event.key !== "w" || event.ctrlKey || event.altKey || event.metaKey || this.button.hidden) return;
      event.preventDefault();
      this.toggle();
    });
  }

  toggle() {
    this.isOpen = !this.isOpen;
    this.button.setAttribute("aria-expanded", String(this.isOpen));
    this.root.hidden = !this.isOpen;
    if (this.isOpen) this.later(0);
    else this.forget();
  }

  /** Ask about another state, where it is another. @param {Held} grid @param {View} view */
  show(grid, view) {
    const place = subjectOf(grid, view, ({ column, row }) => {
      const found = grid.columns.find((one) => one.id === column);
      return found !== undefined && canAsk(found) && (readingAt(grid, row).row ?? -1) >= found.back;
    });
    const other = place?.column !== this.place?.column || place?.row !== this.place?.row
      || grid.text !== this.grid?.text || grid.semantic !== this.grid?.semantic || grid.run !== this.grid?.run || grid.edits.join() !== this.grid?.edits.join();
    this.grid = grid;
    this.place = place;
    this.button.hidden = !place;
    this.root.hidden = !place || !this.isOpen;
    if (!other) return;
    this.labels.value = "";
    this.forget();
    if (place && this.isOpen) this.later(SETTLED);
  }

  forget() {
    clearTimeout(this.timer);
    this.turn++;
    this.written = null;
    this.question = "";
    if (this.gridView.parts.size) this.gridView.setParts(new Map());
    this.draw("");
  }

  /** @param {number} pause */
  later(pause) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), pause);
  }

  async ask() {
    const { grid, place } = this;
    if (!grid || !place || !this.isOpen) return;
    if (editsOf(grid, grid.lines[place.row]?.side ?? "first").length) return this.draw(EDITED);
    const contrast = parseFollow(this.labels.value) ?? { labels: [], against: [] };
    const { run, text, row } = readingAt(grid, place.row);
    const asked = { run, text, semantic: grid.semantic, column: place.column, row: row ?? 0, ...contrast };
    const question = JSON.stringify(asked), turn = ++this.turn;
    if (question === this.question) return;
    this.question = question;
    try {
      const written = await this.read("api/written", asked, new AbortController().signal);
      if (turn !== this.turn) return;
      this.written = written;
      this.draw("");
    } catch (error) {
      if (turn === this.turn) this.draw(error instanceof Error ? error.message : String(error));
    }
  }

  /** @param {string} problem */
  draw(problem) {
    const { grid, place, written } = this, column = grid?.columns.find((one) => one.id === place?.column);
    if (!grid || !place || !column || !this.isOpen) return;
    const name = columnName(column, lastLayer(grid.columns));
    this.about.replaceChildren(`${name}, after `, html("b", {}, bdi(wordAfter(grid, column, place.row))));
    if (problem) this.told.replaceChildren(html("p", { class: "wrong" }, problem));
    else if (!written) this.told.replaceChildren(html("p", { class: "soft" }, "…"));
    if (problem || !written) return;
    const there = readingsOf(written), reading = there.some(([key]) => key === this.reading) ? this.reading : "without";
    const sides = [written.labels, written.against].map((labels) => labels.map(visible).join(" "));
    this.labels.placeholder = sides.join(" / ");
    this.choice.replaceChildren(list("reading", there.map(([value, text]) => ({ value, text })), reading, (value) => {
      this.reading = /** @type {Reading} */ (value);
      this.draw("");
      this.choice.querySelector("select")?.focus();
    }));
    const ahead = html("p", {}, html("b", {}, bdi(sides[0])), " against ", html("b", {}, bdi(sides[1])), `: ${logits(written.difference)}`);
    const side = readingAt(grid, place.row), shown = (written.without ?? []).map((_, row) => rowShowing(grid, { ...side, row }));
    const words = shown.map((row) => grid.words[row ?? -1]?.text ?? "");
    const help = READINGS.find(([key]) => key === reading)?.[2] ?? "";
    this.told.replaceChildren(ahead, ...(written.note ? [html("p", { class: "soft" }, written.note)] : []),
      html("p", { class: "soft" }, help), ...drawWaterfall(written, reading, words));
    this.gridView.setParts(new Map(shades(written, reading).map((part, row) => [shown[row] ?? -1, part])));
  }
}
