// Two readings side by side: what they are, what of them is not compared, and the way back to either.

import { besideOf } from "../base/lines.js";
import { visible } from "../base/format.js";
import { bdi, html } from "../base/markup.js";

/** @typedef {import("../base/held.js").Held} Held */
/** @typedef {import("../base/schema.d.ts").View} View */

const ALONE = "to change a state, take only one of them"; // an edit is of one reading
const MARKS = ["┌", "└"]; // as before their lines

export class Sides {
  /** @param {((change: Partial<View>) => void) | null} onView null: there is nobody who could read another text */
  constructor(onView) {
    this.onView = onView;
    this.shown = "";
    this.root = html("div", { class: "sides", role: "group", "aria-label": "two side by side", hidden: true });
  }

  /** @param {Held} grid */
  show(grid) {
    const shown = JSON.stringify([grid.sides, grid.notes]);
    if (shown === this.shown) return;
    this.shown = shown;
    this.root.hidden = !grid.sides.length;
    if (!grid.sides.length) return;
    const runs = besideOf(grid) !== null;
    const items = grid.sides.map((side, k) => html("li", {}, html("span", { class: "soft", "aria-hidden": "true" }, MARKS[k]),
      html("span", { class: "side" }, bdi(visible(runs ? side.title : side.text))), ...this.alone(side, ["first", "second"][k])));
    const told = [...grid.notes.map(visible), ...(this.onView ? [ALONE] : [])];
    const notes = told.length ? [html("span", { class: "soft" }, told.join(" · "))] : [];
    this.root.replaceChildren(html("b", {}, runs ? "Two runs" : "Two texts"), html("ul", {}, ...items), ...this.swap(grid, runs), ...notes);
  }

  /** @param {import("../base/schema.d.ts").Side} side @param {string} name */
  alone({ run, text }, name) {
    return !this.onView ? [] : [html("button", { type: "button", class: "plain", "aria-label": `only the ${name}`,
      click: () => this.onView?.({ run, text, beside: null, focus: null }) }, "only")];
  }

  /** @param {Held} grid @param {boolean} runs */
  swap(grid, runs) {
    const [first, second] = grid.sides;
    const change = runs ? { run: second.run, beside: first.run, focus: null } : { text: swapped(grid.text), focus: null };
    return !this.onView ? [] : [html("button", { type: "button", class: "plain", click: () => this.onView?.(change) }, "swap")];
  }
}

/** A text whose alternatives have changed places. @param {string} text */
export function swapped(text) {
  return text.replace(/\{([^{}|]*)\|([^{}|]*)\}/g, "{$2|$1}");
}
