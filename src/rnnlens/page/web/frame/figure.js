// Figure mode: a part of the grid as it will be printed, at the width of a journal's column. The drawing is Python's,
// the same that `rnnlens show -o` writes; here it is only chosen, shown and saved.

import { quote, visible } from "../base/format.js";
import { besideOf } from "../base/lines.js";
import { html } from "../base/markup.js";
import { isMatrix } from "../base/memories.js";
import { heads } from "../base/pairs.js";
import { shownColumns } from "../base/columns.js";
import { parseKinds, parseRows, spanText } from "../grid/part.js";
import { Picker } from "../grid/picker.js";
import { reason } from "../net/client.js";
import { download, fileName } from "../net/save.js";
import { segments, take } from "./menus.js";

/** @typedef {(asked: FigureQuestion, signal: AbortSignal) => Promise<Figure>} Draw */

const WIDTHS = [
  { value: "3.3", text: "single, 3.3 in", title: "a column of a journal with two" },
  { value: "6.9", text: "double, 6.9 in", title: "across both columns" },
  { value: "", text: "natural", title: "as wide as its labels need, in type of the usual size" },
];
const INCH = 96; // pixels
const SETTLED = 200; // ms without a change before the figure is drawn
const SMALL = 4.5; // points: smaller type is hard to read in print
const TYPES = { svg: "image/svg+xml", pdf: "application/pdf", png: "image/png" };

export class FigureMode {
  /**
   * @param {HTMLElement} stage @param {GridView} gridView
   * @param {Draw | null} draw who draws it; null: nobody, in a file of its own
   */
  constructor(stage, gridView, draw) {
    this.stage = stage;
    this.gridView = gridView;
    this.draw = draw;
    /** @type {Held | null} */ this.grid = null;
    /** @type {View | null} */ this.view = null;
    this.open = false;
    this.timer = 0;
    this.wanted = ""; // what the preview is of, or is about to be
    this.asked = new AbortController();
    this.picker = new Picker(gridView, (rows, columns) => this.picked(rows, columns));
    gridView.onLayout = () => this.mark();
    this.button = html("button", { type: "button", class: "plain", "aria-expanded": "false", "aria-controls": "figure",
      title: "a part of the grid for print, as SVG, PDF or PNG", click: () => this.turn(!this.open) }, "figure");
    const field = (/** @type {string} */ example) => html("input", { type: "text", spellcheck: "false", autocomplete: "off",
      placeholder: example, input: () => this.refresh() });
    this.rows = field("all, or 7-8");
    this.kinds = field("as shown, or layer2");
    this.width = segments("width", WIDTHS, "3.3", (width) => {
      take(this.width, width);
      this.refresh();
    });
    this.pins = html("input", { type: "checkbox", change: () => this.refresh() });
    this.key = html("input", { type: "checkbox", checked: true, change: () => this.refresh() });
    this.said = html("p", { class: "size", role: "status" });
    this.problem = html("p", { class: "wrong", role: "alert", hidden: true });
    this.paper = html("div", { class: "paper", tabindex: 0, role: "group", "aria-label": "preview" });
    this.command = html("code", { tabindex: 0 });
    this.panel = this.build();
    stage.append(this.panel);
  }

  build() {
    const named = (/** @type {string} */ name, /** @type {HTMLElement} */ control) =>
      html("label", { class: "field" }, html("span", {}, name), control);
    const saves = /** @type {const} */ (["svg", "pdf", "png"]).map((ending) => html("button", { type: "button", class: "toggle",
      click: () => this.save(ending) }, ending.toUpperCase()));
    const copy = html("button", { type: "button", class: "plain", click: () =>
      navigator.clipboard?.writeText(this.command.textContent ?? "").then(() => { copy.textContent = "copied"; }, () => {}) }, "copy");
    const drawn = this.draw
      ? [html("div", { class: "field" }, html("span", {}, "width"), this.width),
        html("div", { class: "field" }, html("span", {}, "with"),
          html("label", {}, this.pins, " pins"), html("label", {}, this.key, " key")),
        this.problem, this.said, this.paper,
        html("div", { class: "field" }, html("span", {}, "save"), ...saves)]
      : [html("p", {}, "This page is a file of its own, and figures are drawn by rnnlens. Run the command below, or take the whole grid as SVG from the menu "
        + "\u201csave\u201d.")];
    return html("section", { id: "figure", class: "figure", "aria-label": "figure for print", hidden: true },
      html("header", {}, html("h2", {}, "Figure"), html("button", { type: "button", class: "plain fold", "aria-label": "close the figure",
        title: "close (Escape)", click: () => this.turn(false) }, "×")),
      html("p", { class: "soft" }, "Drag over the states to print. Drag over words for whole rows, over heads for whole columns. With keys: arrows and Enter, then ",
        html("kbd", {}, "Shift"), " and arrows."),
      named("rows", this.rows), named("parts", this.kinds), ...drawn,
      html("div", { class: "command" }, html("p", { class: "soft" }, "The command that makes the same figure: ", copy), this.command));
  }

  /** @param {boolean} on */
  turn(on) {
    if (on === this.open) return;
    this.open = on;
    this.panel.hidden = !on;
    this.stage.classList.toggle("figuring", on);
    this.button.setAttribute("aria-expanded", String(on));
    this.picker.turn(on);
    if (!on) {
      this.asked.abort();
      clearTimeout(this.timer);
      this.wanted = "";
      this.paper.replaceChildren();
      this.button.focus();
      return;
    }
    this.pins.checked = this.chosenPins().length > 0;
    this.rows.focus({ preventScroll: true });
    this.refresh();
  }

  /** Escape leaves the figure, unless a menu is open, which it closes. @param {KeyboardEvent} event */
  escape(event) {
    const inMenu = event.target instanceof Element && event.target.closest(".menu[open]");
    if (!this.open || event.key !== "Escape" || inMenu) return;
    event.stopPropagation();
    this.turn(false);
  }

  /** Take in what is drawn on the screen. @param {Held} grid @param {View} view */
  show(grid, view) {
    this.grid = grid;
    this.view = view;
    if (this.open) this.refresh();
  }

  /** @param {[number, number] | null} rows @param {string[] | null} columns */
  picked(rows, columns) {
    const { grid } = this;
    if (!grid) return;
    this.rows.value = rows ? spanText(...rows) : "";
    this.kinds.value = columns ? columns.join() : "";
    this.refresh();
  }

  /** Those that are ringed, which a figure rings too. */
  chosenPins() {
    return this.gridView.marks.pins.map(({ column, row }) => `${column}:${row + 1}`);
  }

  /** Mark what is chosen on the grid. */
  mark() {
    const { grid, view } = this;
    if (!this.open || !grid || !view) return;
    const { rows, columns } = this.part(grid, view);
    this.picker.show(rows ?? [], new Set((columns ?? []).map((column) => column.id)));
  }

  /** The rows and columns that are chosen; null where what is typed means none. @param {Held} grid @param {View} view */
  part(grid, view) {
    return { rows: parseRows(this.rows.value, grid.words.length),
      columns: parseKinds(this.kinds.value, grid.columns, shownColumns(grid, view.kinds)) };
  }

  /** What is wrong with what is typed, said before anybody is asked. @param {Held} grid @param {View} view */
  wrong(grid, view) {
    const { rows, columns } = this.part(grid, view), { length } = grid.words;
    if (!rows) return `rows ${quote(this.rows.value)}: give numbers from 1 to ${length}, such as ${spanText(Math.max(0, length - 2), length - 1)}`;
    if (!columns) return `parts ${quote(this.kinds.value)}: give some of ${visible(grid.columns.map((column) => column.id).join(", "))}, or layer1`;
    return rows.length && columns.length ? "" : "there is nothing to draw";
  }

  /** Mark what is chosen, and have it drawn once nothing changes any more. */
  refresh() {
    const { grid, view } = this;
    if (!this.open || !grid || !view) return;
    this.mark();
    const asked = this.request(grid, view);
    this.command.textContent = commandOf(grid, asked);
    this.pins.disabled = !this.chosenPins().length;
    const wanted = JSON.stringify(asked);
    if (!this.draw || wanted === this.wanted) return;
    this.wanted = wanted;
    this.asked.abort();
    clearTimeout(this.timer);
    const wrong = this.wrong(grid, view);
    this.panel.setAttribute("aria-busy", String(!wrong));
    if (wrong) this.tell(wrong);
    else this.timer = setTimeout(() => this.preview(asked), SETTLED);
    if (!wrong && !this.paper.firstChild) this.said.textContent = "drawing \u2026";
  }

  /** @param {Held} grid @param {View} view @returns {FigureQuestion} */
  request(grid, view) {
    const kinds = this.kinds.value.split(",").map((word) => word.trim()).filter(Boolean);
    const width = this.width.querySelector("[aria-checked=true]")?.getAttribute("data-value"), tells = this.part(grid, view).columns?.some(isMatrix) === true;
    return { run: grid.run, text: grid.text, beside: besideOf(grid), semantic: grid.semantic, palette: grid.palette, rows: this.rows.value.trim(),
      kinds: kinds.length ? kinds : shownColumns(grid, view.kinds).map((column) => column.id), bars: view.bars,
      density: view.density, symbols: view.naming === "symbols", head: Math.min(view.head, heads(grid)), width: width ? Number(width) : null,
      memories: tells ? view.memories : null, asked: tells ? view.asked : null,
      labels: view.follow?.labels ?? [], against: view.follow?.against ?? [], edits: grid.edits,
      pins: this.pins.checked ? this.chosenPins() : [], key: this.key.checked };
  }

  /** @param {FigureQuestion} asked */
  async preview(asked) {
    const found = await this.drawn(asked);
    if (!found) return;
    const { width, height, type, data } = found;
    this.paper.replaceChildren(html("img", { src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(data)}`,
      alt: `figure of ${visible(asked.text)}`, width: Math.round(width * INCH), height: Math.round(height * INCH) }));
    const centimetres = [width, height].map((inches) => (inches * 2.54).toFixed(1)).join(" × ");
    this.said.textContent = `${width.toFixed(1)} × ${height.toFixed(1)} in (${centimetres} cm), smallest type ${type.toFixed(1)} pt`
      + (type < SMALL ? ": choose fewer columns, or more width" : "");
  }

  /** What the server draws; null where there is nothing, which is said, or something newer is wanted. @param {FigureQuestion} asked */
  async drawn(asked) {
    const stop = new AbortController();
    this.asked = stop;
    this.panel.setAttribute("aria-busy", "true");
    try {
      const found = await this.draw?.(asked, stop.signal);
      this.tell("");
      return found;
    } catch (error) {
      if (stop.signal.aborted) return null;
      this.wanted = ""; // the same may be asked for again
      this.tell(reason(error));
      return null;
    } finally {
      if (this.asked === stop) this.panel.setAttribute("aria-busy", "false");
    }
  }

  /** @param {string} problem */
  tell(problem) {
    this.problem.textContent = problem;
    this.problem.hidden = !problem;
    if (!problem) return;
    this.paper.replaceChildren();
    this.said.textContent = "";
  }

  /** @param {"svg" | "pdf" | "png"} ending */
  async save(ending) {
    const { grid, view } = this;
    if (!grid || !view || this.wrong(grid, view)) return;
    const found = await this.drawn({ ...this.request(grid, view), ending });
    if (!found) return;
    const bytes = ending === "svg" ? found.data : Uint8Array.from(atob(found.data), (character) => character.charCodeAt(0));
    download(new Blob([bytes], { type: TYPES[ending] }), fileName(grid.text, ending));
  }
}

/** A word as a shell reads it, without what a terminal would obey when it is pasted. @param {string} given */
function quoted(given) {
  const word = given.replace(/[\u0000-\u001f\u007f-\u009f]+/g, " ");
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** What `rnnlens show` is given for the same figure. @param {Held} grid @param {FigureQuestion} asked */
export function commandOf(grid, asked) {
  const usual = grid.columns.filter((column) => column.shown).map((column) => column.id).join();
  const kinds = (asked.kinds ?? []).join();
  /** @type {[string, string | number | null | undefined | false][]} */ const flags = [
    ["--beside", asked.beside], ["--semantic", grid.semantic !== grid.semantics[0] && asked.semantic], ["--palette", grid.palette !== grid.palettes[0] && asked.palette],
    ["--rows", asked.rows], ["--kinds", kinds !== usual && kinds], ["--bars", asked.bars !== 3 && asked.bars],
    ["--density", asked.density === "compact" && "compact"], ["--follow", asked.labels?.join()], ["--against", asked.against?.join()],
    ["--memories", asked.memories], ["--asked", asked.asked],
    ["--width", asked.width], ["--pins", asked.pins?.join()],
    ...(asked.edits ?? []).map((edit) => /** @type {[string, string]} */ (["--edit", edit])),
  ];
  const given = flags.flatMap(([flag, value]) => (value ? [flag, quoted(String(value))] : []));
  const plain = [...(asked.symbols ? ["--symbols"] : []), ...(asked.key ? [] : ["--no-key"])];
  return ["rnnlens show", quoted(grid.run), quoted(asked.text), ...given, ...plain, "-o figure.pdf"].join(" ");
}
