// The controls of a view: semantic, density, kinds, names or symbols, bars, palette, theme.

import { groupName, lastLayer, layerName, paleness, plainPalette, semanticHelp, semanticName, visible } from "../base/format.js";
import { html, shape, toDom } from "../base/markup.js";
import { heads } from "../base/pairs.js";
import { TEXTS } from "../base/rules.js";
import { drawRival } from "../grid/draw.js";
import { amount, drawRamp } from "../grid/scale.js";
import { acrossLayers, hasMany, isOpen, layerAlone, shownColumns, turned } from "../base/columns.js";
import { action, list, menu, segments, take } from "./menus.js";

/** @typedef {(change: Partial<View>) => void} OnView */

const MANY = 3; // more semantics than these are a list

export class Controls {
  /**
   * @param {HTMLElement} root
   * @param {OnView} onView
   * @param {{semantic: boolean, theme?: boolean}} can what can be changed here: a file holds one semantic,
   *   and a notebook has a theme of its own
   */
  constructor(root, onView, can) {
    this.onView = onView;
    this.can = can;
    this.turned = (/** @type {number} */ _layer) => {}; // opens a layer or closes it
    this.seen = ""; // the choices offered, so that they are made anew only when they change
    /** @type {HTMLElement} */ this.semantics = html("div", { class: "place" });
    /** @type {HTMLElement} */ this.palettes = html("div", { class: "place" });
    this.density = segments("density", [
      { value: "bars", text: "bars", title: "Bars: every state with its most probable labels" },
      { value: "compact", text: "compact", title: "Compact: only the coloured rectangles, so that a long text fits the window" },
    ], "bars", (density) => onView({ density: /** @type {View["density"]} */ (density) }));
    this.naming = segments("headings", [
      { value: "both", text: "both", title: "names, and the symbols of the equations" },
      { value: "names", text: "names", title: "long-term memory" }, { value: "symbols", text: "symbols", title: "l, as in the equations" },
    ], "both", (naming) => onView({ naming: /** @type {View["naming"]} */ (naming) }));
    this.bars = segments("number of bars", ["1", "2", "3", "4", "5"].map((value) => ({ value, text: value })), "3",
      (bars) => onView({ bars: Number(bars) }));
    /** @type {HTMLElement} */ this.heads = html("div", { class: "place" }); // of an attention
    this.theme = segments("theme", ["auto", "light", "dark"].map((value) => ({ value, text: value })), "auto",
      setTheme);
    this.kinds = html("div", { class: "kinds" });
    const themes = can.theme === false ? [] : [field("theme", this.theme)];
    const display = menu("display", "look", field("column heads", this.naming), field("labels per state", this.bars), this.heads, this.palettes,
      ...themes);
    const parts = menu("parts", "choose", this.kinds);
    titled(display, "How it is drawn: column heads, how many labels, colours, light or dark");
    titled(parts, "Which parts of the network are columns of the grid");
    root.append(this.semantics, this.density, parts, display);
    if (can.theme === false) return;
    setTheme(storedTheme());
    take(this.theme, storedTheme());
    this.theme.addEventListener("click", () => take(this.theme, storedTheme()));
    this.theme.addEventListener("keydown", () => take(this.theme, storedTheme()));
  }

  /** Show the choices a grid has and the ones a view has taken. @param {Held} grid @param {View} view */
  show(grid, view) {
    take(this.density, view.density);
    take(this.naming, view.naming);
    take(this.bars, String(view.bars));
    const seen = JSON.stringify([grid.semantics, grid.palettes, grid.columns.map((column) => column.id), grid.run]);
    if (seen !== this.seen) {
      this.seen = seen;
      this.offer(grid);
    }
    const semantics = this.semantics.firstElementChild;
    if (semantics instanceof HTMLSelectElement) semantics.value = grid.semantic;
    else if (semantics instanceof HTMLElement) take(semantics, grid.semantic);
    this.heads.replaceChildren(...this.attended(grid, view));
    this.palettes.replaceChildren(...(this.can.semantic ? this.colouring(grid) : []));
    const shown = new Set(shownColumns(grid, view.kinds).map((column) => column.id));
    for (const box of this.kinds.querySelectorAll("input")) box.checked = shown.has(box.value);
    this.turned = (/** @type {number} */ layer) => this.onView({ kinds: turned(grid, view.kinds, layer) });
    for (const made of this.kinds.querySelectorAll("[data-opens]")) {
      made.setAttribute("aria-pressed", String(isOpen(grid, view.kinds, Number(made.getAttribute("data-opens")))));
    }
  }

  /** Whose links are drawn, where an attention has several heads. @param {Held} grid @param {View} view */
  attended(grid, view) {
    const count = heads(grid);
    if (!count) return [];
    const choices = Array.from({ length: count + 1 }, (_, k) => ({ value: String(k), text: k ? `head ${k}` : "mean of heads" }));
    return [field("attention", list("attention", choices, String(Math.min(view.head, count)), (head) => this.onView({ head: Number(head) })))];
  }

  /** @param {Held} grid */
  offer(grid) {
    this.semantics.replaceChildren();
    const choices = grid.semantics.map((value) => ({ value, text: semanticName(value, grid.follows, grid.numbers),
      title: semanticHelp(value, grid.follows, grid.numbers) }));
    const choose = (/** @type {string} */ semantic) => this.onView({ semantic });
    if (this.can.semantic && choices.length > 1) {
      const control = choices.length > MANY ? list : segments;
      this.semantics.append(control("ask about", choices, grid.semantic, choose),
        html("span", { class: "soft askabout", "aria-hidden": "true", title: "What every state is asked about: point at a choice to read the question" }, "ask about"));
    }
    this.kinds.replaceChildren(this.presets(grid), html("div", {}, ...(hasMany(grid) ? this.manyLayers(grid) : this.layers(grid))));
  }

  /** Which groups have colours, and what these fade by, where there is a choice. @param {Held} grid */
  colouring({ palette, palettes }) {
    const plain = plainPalette(palette), groups = [...new Set(palettes.map(plainPalette))], paper = plain + TEXTS.paper_rule;
    const named = groups.map((value) => {
      const [text, title] = PALETTES.get(value) ?? [visible(value), ""];
      return { value, text, title };
    });
    const suffix = palette === plain ? "" : TEXTS.paper_rule, choose = (/** @type {string} */ palette) => this.onView({ palette });
    const colours = segments("colours", named, plain, (value) => choose(palettes.includes(value + suffix) ? value + suffix : value));
    const rules = [{ value: plain, text: "above base rate", title: BASE_RATE }, { value: paper, text: "the paper\u2019s", title: PAPERS }];
    return [...(groups.length > 1 ? [field("colours", colours)] : []),
      ...(palettes.includes(paper) ? [field("fade by", segments("fade by", rules, palette, choose))] : [])];
  }

  /** @param {Held} grid */
  presets(grid) {
    const last = lastLayer(grid.columns), inside = [...new Set(grid.columns.map((column) => column.layer))].filter((layer) => layer > 0 && layer < last);
    const alone = inside.length < 2 || hasMany(grid) ? [] : inside.map((layer) => action(`layer ${layer} only`, () => this.onView({ kinds: layerAlone(grid, layer) })));
    return html("div", { class: "presets" },
      action("default", () => this.onView({ kinds: null })),
      action("all", () => this.onView({ kinds: "all" })),
      action("outputs only", () => this.onView({ kinds: "outputs" })), ...alone);
  }

  /** Of many columns: a kind of every layer side by side, and which layers are open. @param {Held} grid */
  manyLayers(grid) {
    const own = grid.columns.filter((column) => column.letter === TEXTS.prediction).map((column) => column.id);
    const across = [...acrossLayers(grid.columns)].map(([name, [column]]) => {
      const mark = html("i", {}, column.letter ? visible(column.symbol) : "");
      if (column.back) mark.append(html("sub", {}, `t−${column.back}`));
      return html("button", { type: "button", class: "action", title: `kinds=${name}`, click: () => this.onView({ kinds: [name, ...own] }) },
        mark, " ", visible(column.letter ? column.name : name));
    });
    const last = lastLayer(grid.columns), layers = [...new Set(grid.columns.map((column) => column.layer))].filter((layer) => layer > 0 && layer < last);
    const opens = layers.map((layer) => html("button", { type: "button", class: "action", "data-opens": layer, "aria-label": `layer ${layer}`,
      click: () => this.turned(layer) }, String(layer)));
    return [html("fieldset", { class: "across" }, html("legend", {}, "one kind of every layer"), ...across),
      html("fieldset", { class: "opens" }, html("legend", {}, "open layers"), ...opens)];
  }

  /** @param {Held} grid */
  layers(grid) {
    const last = lastLayer(grid.columns);
    const layers = [...new Set(grid.columns.map((column) => column.layer))];
    const sets = layers.map((layer) => {
      const boxes = grid.columns.filter((column) => column.layer === layer).map((column) => {
        const box = html("input", { type: "checkbox", value: column.id, change: () => this.chosen(grid) });
        const mark = html("i", {}, column.letter ? visible(column.symbol) : "");
        if (column.back) mark.append(html("sub", {}, `t−${column.back}`));
        return html("label", {}, box, mark, visible(column.name));
      });
      return html("fieldset", {}, html("legend", {}, layerName(layer, last)), ...boxes);
    });
    // The input and the prediction are one kind each: they share a column.
    const outside = layers.flatMap((layer, k) => (layer === 0 || layer >= last ? [sets[k]] : []));
    return [html("div", {}, ...outside), ...sets.filter((set) => !outside.includes(set))];
  }

  /** @param {Held} grid */
  chosen(grid) {
    const taken = [...this.kinds.querySelectorAll("input")].filter((box) => box.checked).map((box) => box.value);
    const usual = shownColumns(grid, null).map((column) => column.id);
    const all = taken.length === grid.columns.length;
    this.onView({ kinds: all ? "all" : taken.join() === usual.join() ? null : taken });
  }
}

/** Say what a menu is for. @param {HTMLElement} made @param {string} title */
function titled(made, title) {
  made.querySelector("summary")?.setAttribute("title", title);
}

/** @param {string} name @param {HTMLElement} control */
function field(name, control) {
  return html("div", { class: "field" }, html("span", {}, name), control);
}

const RAMP = 144;
const BASE_RATE = "By how far the leading group is above its base rate: white where a state says no more than the labels’ frequencies, the full colour where it is certain.";
const PAPERS = "By how much of the most probable tenth of the labels the leading group holds, whatever its base rate.";
const CLOSE = "Two groups lead by less than .05 of each other: the corner has the colour of the second.";
const BY = new Map([["frequency", "by how frequent a label is:"], ["labels", "a colour for each label:"]]);
// The groupings that runs have by themselves, in words, and what is in them.
/** @type {Map<string, [name: string, about: string]>} */
const PALETTES = new Map([
  ["classes", ["word classes", "nouns with names and pronouns, verbs with auxiliaries, adjectives, adverbs, function words, punctuation, and others: numbers, symbols, interjections"]],
  ["coarse", ["the paper’s five", "nouns, verbs, adjectives, adverbs, and all that is left"]],
  ["universal", ["parts of speech", "those of Universal Dependencies"]],
]);
/** @type {Map<string, [name: string, about: string]>} */
const MEMBERS = new Map([
  ["NOUN", ["noun", "nouns, names and pronouns; UNK, any rare word, where most rare words are names"]],
  ["VERB", ["verb", "verbs and auxiliaries"]],
  ["FUNCTION", ["function word", "determiners, prepositions, conjunctions, particles: the, of, and, to"]],
  ["OTHER", ["other", "numbers, symbols, interjections, marks"]],
]);

/** What the colours mean. @param {Held} grid */
export function legend(grid) {
  if (grid.scale) return scaleLegend(grid, grid.scale);
  const palette = plainPalette(grid.palette), by = BY.get(palette), how = by ? [html("li", { class: "soft" }, by)] : [];
  const items = [...grid.groups].map(([group, colour]) => {
    const patch = shape("rect", { width: 12, height: 12, rx: 3, fill: colour });
    const drawn = shape("svg", { width: 12, height: 12, "aria-hidden": "true" }, patch);
    const [name, about] = (palette === "classes" && MEMBERS.get(group)) || [groupName(group), ""];
    return html("li", about ? { title: about } : {}, toDom(drawn), name);
  });
  const corner = toDom(shape("svg", { width: 12, height: 12, "aria-hidden": "true" }, shape("rect", { width: 12, height: 12, rx: 3, fill: "#8883" }), drawRival(12, 12, "#888")));
  const close = grid.several ? [] : [html("li", { class: "soft", title: CLOSE }, corner, "two groups lead")];
  return [...how, ...items, html("li", { class: "soft", title: grid.rule === "excess" ? BASE_RATE : PAPERS }, `faded = ${paleness(grid)}`), ...close];
}

/** What the colours of numbers mean. @param {Held} grid @param {import("../base/schema.d.ts").Scale} scale */
function scaleLegend(grid, scale) {
  const ramp = toDom(shape("svg", { width: RAMP, height: 12, "aria-hidden": "true" }, ...drawRamp(grid, scale, RAMP)));
  const ends = [scale.edges[0], scale.edges[scale.edges.length - 1]].map(amount);
  return [html("li", {}, `${ends[0]}\u2002`, ramp, `\u2002${ends[1]}`), html("li", { class: "soft" }, `faded = ${paleness(grid)}`)];
}

/** The theme chosen earlier, where the browser remembers. */
function storedTheme() {
  try {
    return localStorage.getItem("rnnlens-theme") ?? "auto";
  } catch {
    return document.documentElement.dataset.theme ?? "auto";
  }
}

/** @param {string} theme */
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem("rnnlens-theme", theme);
  } catch {
    // A page from a file may have no memory; the choice then lasts as long as the page.
  }
}
