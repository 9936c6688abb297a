// The strip above the grid: what the marks mean, labels to follow, and where predictions turn.

import { followText, followTitle, fullText, parseFollow } from "../base/follow.js";
import { besideOf } from "../base/lines.js";
import { html, shape, toDom } from "../base/markup.js";

const TYPED = 300; // ms after the last key before what was typed is followed
const HELP = "follow a label through every state, or a set against a set: are were / is was";

export class Strip {
  /**
   * @param {HTMLElement} root @param {(change: Partial<View>) => void} onView
   * @param {boolean} can whether there is somebody to ask
   */
  constructor(root, onView, can) {
    this.onView = onView;
    this.timer = 0; // set while what was typed is not taken yet
    this.shown = "";
    /** @type {Held["labels"]} */ this.labels = new Map(); // those that are known
    this.keys = html("ul", { class: "key", "aria-label": "marks" });
    this.said = html("span", { class: "said", role: "status" });
    this.field = html("input", { type: "text", class: "follow", placeholder: "follow: are were / is was",
      "aria-label": HELP, title: HELP, spellcheck: "false", autocomplete: "off", autocapitalize: "off" });
    this.end = html("button", { type: "button", class: "plain", "aria-label": "end following", hidden: true,
      click: () => onView({ follow: null }) }, "×");
    this.turns = html("button", { type: "button", class: "toggle", "aria-pressed": "false",
      title: "how far each state lies from those that feed it and from the row above, and how surprising the words were",
      click: () => onView({ turns: this.turns.getAttribute("aria-pressed") !== "true" }) }, "turns");
    this.field.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.take(), TYPED);
    });
    this.field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      clearTimeout(this.timer);
      this.take();
    });
    const following = html("label", { class: "following" }, this.said, this.field, this.end);
    root.append(this.keys, ...(can ? [following, this.turns] : []));
  }

  typed() {
    return parseFollow(this.field.value, (label) => this.labels.has(label));
  }

  take() {
    this.timer = 0;
    this.onView({ follow: this.typed() });
  }

  /** @param {Held} grid @param {View} view @param {Scale | null} scale of what is followed */
  show(grid, view, scale) {
    this.labels = grid.labels;
    const seen = JSON.stringify([view.turns, grid.edits.length > 0, grid.words.some((word) => word.unknown), grid.follows, grid.lines.length > 0, besideOf(grid)]);
    if (seen !== this.shown) this.keys.replaceChildren(...markKey(grid, view));
    this.shown = seen;
    this.turns.setAttribute("aria-pressed", String(view.turns));
    const text = followText(view.follow), typed = followText(this.typed());
    if (text !== typed && !this.timer) this.field.value = text;
    this.end.hidden = !view.follow;
    this.said.textContent = view.follow && scale
      ? `${followTitle(view.follow)}, full width ${fullText(scale)}` : "";
  }
}

/** @param {string} kind @param {string} text @param {Shape[]} drawn */
function entry(kind, text, ...drawn) {
  return html("li", { class: kind }, toDom(shape("svg", { width: 16, height: 12, "aria-hidden": "true" }, ...drawn)), text);
}

/** What the marks of the grid mean. @param {Held} grid @param {View} view */
function markKey(grid, view) {
  const ring = (/** @type {string} */ kind) => shape("rect", { class: `sample ${kind}`, x: 1.5, y: 1.5, width: 13, height: 9,
    rx: 3, fill: "none" });
  const entries = [
    entry("feeds", "feeds the state in view", ring("feeds")),
    entry("fed", "is fed by it", ring("fed")),
    entry("group", "word\u2019s own group", shape("rect", { x: 1, y: 8, width: 14, height: 3, rx: 1, class: "soft" })),
  ];
  if (grid.words.some((word) => word.unknown)) {
    entries.push(entry("unknown-word", "unknown word", shape("text", { x: 4, y: 10.5, class: "soft", "font-style": "italic" }, "?")));
  }
  if (grid.lines.length) {
    entries.unshift(entry("edit", besideOf(grid) === null ? "far from the first text" : "far from the first run", shape("rect", { x: 6, y: 1, width: 3, height: 10 })));
  }
  if (grid.edits.length) {
    entries.unshift(
      entry("edit", "edited", shape("path", { d: "M1 1h8l-8 8z" }), shape("rect", { class: "sample", x: 1.5, y: 1.5, width: 13, height: 9, rx: 2, fill: "none", "stroke-width": 2 })),
      entry("edit", "far from before", shape("rect", { x: 6, y: 1, width: 3, height: 10 })));
  }
  if (view.turns) {
    entries.push(
      entry("turned", "far from what feeds it", shape("rect", { class: "turn", y: 5, width: 12, height: 2.6 }),
        shape("rect", { class: "turn", y: 9, width: 5, height: 2.6 })),
      entry("turned", "from the row above", shape("rect", { class: "turn above", width: 14, height: 2.2 })));
  }
  return entries;
}
