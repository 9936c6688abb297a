// What a column's head opens: the kind's name, equation and perplexity, and which columns are shown; a layer's name shows it alone, or where
// there are many columns opens it into its kinds.

import { columnName, lastLayer, layerName, perplexity, semanticName, usedWords, visible } from "../base/format.js";
import { hasNetwork } from "../base/lines.js";
import { html } from "../base/markup.js";
import { cellsName, isMatrix, NUMBERS } from "../base/memories.js";
import { meaning } from "../base/metrics.js";
import { hasMany, isOpen, layerAlone, shownColumns, turned } from "../base/columns.js";

const CELLS = "What stands in the cells of memories that are matrices: what the probe says; or, without a probe of them, a number, whose bar is as long as it is of the largest in the column; "
  + "or what the memory would answer if a word came next.";

export class KindSheet {
  /** @param {HTMLElement} place where the grid stands @param {HTMLElement} heads @param {(change: Partial<View>) => void} onView @param {(() => void) | null} accuracy
   * @param {boolean} tells whether somebody can tell of memories */
  constructor(place, heads, onView, accuracy, tells) {
    this.tells = tells;
    this.onView = onView;
    this.accuracy = accuracy;
    this.place = place;
    /** @type {Held | null} */ this.grid = null;
    /** @type {View["kinds"]} */ this.kinds = null;
    /** @type {Pick<View, "memories" | "asked">} */ this.view = { memories: null, asked: null };
    this.sheet = html("div", { class: "sheet kind", role: "dialog", "aria-label": "a part of the network", hidden: true });
    place.append(this.sheet);
    heads.addEventListener("click", (event) => {
      const { head, column, layer } = this.at(event);
      if (layer !== null) this.turn(layer);
      else if (head && column) this.open(column, head.getBoundingClientRect());
    });
    heads.addEventListener("pointerover", (event) => {
      const { column, layer } = this.at(event), last = lastLayer(this.grid?.columns ?? []);
      heads.title = layer !== null ? this.turns(layer, layerName(layer, last))
        : column ? `${[columnName(column, last), ...(isMatrix(column) ? [cellsName(this.view)].filter(Boolean) : [])].join(", ")}: click to read what it is and how well it predicts` : "";
    });
    place.getRootNode().addEventListener("pointerdown", (event) => {
      const path = event.composedPath();
      if (!path.includes(this.sheet) && !path.includes(heads)) this.close();
    });
    this.sheet.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.close();
    });
  }

  /** @param {Held} grid @param {View} view */
  show(grid, view) {
    if (grid.columns !== this.grid?.columns && grid.run !== this.grid?.run) this.close();
    this.grid = grid;
    this.kinds = view.kinds;
    this.view = view;
  }

  /** The head that something happened to: of a column or of a layer. @param {Event} event */
  at(event) {
    const target = event.target instanceof Element ? event.target : null, head = target?.closest("[data-column]") ?? null;
    const layer = target?.closest("[data-layer]")?.getAttribute("data-layer") ?? null;
    const column = this.grid?.columns.find((one) => one.id === head?.getAttribute("data-column")) ?? null;
    return { head, column, layer: layer === null ? null : Number(layer) };
  }

  /** Whether nothing but a layer is shown. @param {number} layer */
  isAlone(layer) {
    return this.grid !== null && shownColumns(this.grid, this.kinds).every((column) => column.layer === layer);
  }

  /**
   * Show a layer alone; where it is alone already, what is shown by default. Of many columns, open the layer or close it.
   * @param {number} layer
   */
  turn(layer) {
    const { grid, kinds } = this;
    if (!grid) return;
    this.close();
    if (hasMany(grid)) this.onView({ kinds: turned(grid, kinds, layer) });
    else this.onView({ kinds: this.isAlone(layer) ? null : layerAlone(grid, layer) });
  }

  /** What a click on a layer's name does. @param {number} layer @param {string} name */
  turns(layer, name) {
    const { grid, kinds } = this;
    if (grid && hasMany(grid)) return isOpen(grid, kinds, layer) ? `Click to close ${name}` : `Click to open ${name} into its kinds`;
    return this.isAlone(layer) ? "Click to show the other layers again" : `Click to show ${name} alone`;
  }

  /** @returns {boolean} whether it was open */
  close() {
    const { hidden } = this.sheet;
    this.sheet.hidden = true;
    return !hidden;
  }

  /** @param {Column} column @param {DOMRect} at */
  open(column, at) {
    const { grid } = this;
    if (!grid) return;
    this.sheet.replaceChildren(...this.describe(grid, column));
    this.sheet.hidden = false;
    const box = this.place.getBoundingClientRect(), wide = this.sheet.offsetWidth;
    this.sheet.style.left = `${Math.max(4, Math.min(at.left - box.left, box.width - wide - 6))}px`;
    this.sheet.style.top = `${at.bottom - box.top + 4}px`;
    this.sheet.querySelector("button")?.focus();
  }

  /** What the cells of memories show, to be chosen: a number, what is answered to a word, or what the probe says. */
  cells() {
    const { memories, asked } = this.view, word = html("input", { type: "text", size: 8, value: asked ?? "", placeholder: "a word", "aria-label": "the word that memories are asked by",
      spellcheck: "false", autocomplete: "off", autocapitalize: "off", change: () => take() });
    const names = Object.entries({ says: "what the probe says", ...NUMBERS, asked: "asked by" });
    const choice = html("select", { "aria-label": "what the cells of memories show", change: () => take(true) }, ...names.map(([value, name]) => html("option", { value }, name)));
    choice.value = asked === null ? memories ?? "says" : "asked";
    word.hidden = asked === null;
    const take = (chosen = false) => {
      const by = choice.value, typed = word.value.trim();
      word.hidden = by !== "asked";
      if (by === "asked" && chosen) word.select(); // so that another is typed in its place
      if (by === "asked" && chosen && !typed) return; // until there is a word
      if (by === "asked") this.onView({ memories: null, asked: typed || null });
      else this.onView({ memories: by === "norm" || by === "rank" || by === "half_life" ? by : null, asked: null });
    };
    return html("p", { class: "cells", title: CELLS }, html("label", {}, "cells show ", choice), word);
  }

  /** @param {Held} grid @param {Column} column @returns {Node[]} */
  describe(grid, column) {
    const own = grid.columns.find((one) => one.letter === "y"), last = lastLayer(grid.columns);
    const asked = column === own ? semanticName("output", grid.follows, grid.numbers) : semanticName(grid.semantic, grid.follows, grid.numbers);
    const beside = own && own !== column && grid.semantic === "output" && own.perplexity !== null
      ? `; the model’s own: ${perplexity(own.perplexity)}` : "";
    const shown = shownColumns(grid, this.kinds);
    const hidden = grid.columns.filter((one) => one.layer === column.layer && !shown.includes(one));
    /** @param {Column[]} columns */
    const take = (columns) => {
      const ids = new Set(columns.map((one) => one.id));
      this.onView({ kinds: grid.columns.filter((one) => ids.has(one.id)).map((one) => one.id) });
      this.close();
    };
    const button = (/** @type {string} */ text, /** @type {Column[]} */ columns) =>
      html("button", { type: "button", class: "action", click: () => take(columns) }, text);
    return [
      html("h3", {}, columnName(column, last)),
      html("p", { class: "equation" }, visible(column.equation)),
      html("p", { class: "soft", ...meaning("perplexity") }, column.perplexity === null ? `Perplexity for the ${asked}: not measured.`
        : `Perplexity for the ${asked}: ${perplexity(column.perplexity)}${beside}.`),
      ...(column.used === null ? [] : [html("p", { class: "soft", ...meaning("used") }, `Used: ${[column.used.toFixed(2), usedWords(column)].filter(Boolean).join(", ")}.`)]),
      ...(this.tells && isMatrix(column) && hasNetwork(grid) ? [this.cells()] : []),
      ...(this.accuracy ? [html("button", { type: "button", class: "action", click: () => {
        this.close();
        this.accuracy?.();
      } }, "compare all parts")] : []),
      ...(shown.length > 1 ? [button("hide this column", shown.filter((one) => one !== column))] : []),
      ...hidden.map((one) => button(`show ${visible(one.name)}`, [...shown, one])),
    ];
  }
}
