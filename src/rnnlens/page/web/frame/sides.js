// Two readings side by side: what they are, what of them is not compared, and the way back to either.

import { editsOf, withOtherSide } from "../base/edits.js";
import { visible } from "../base/format.js";
import { laneNames } from "../base/lanes.js";
import { besideOf } from "../base/lines.js";
import { bdi, html } from "../base/markup.js";

const SIDES = /** @type {const} */ (["first", "second"]);

export class Sides {
  /** @param {((change: Partial<View>) => void) | null} onView null: there is nobody who could read another text */
  constructor(onView) {
    this.onView = onView;
    this.shown = "";
    this.root = html("div", { class: "sides", role: "group", "aria-label": "two side by side", hidden: true });
  }

  /** @param {Held} grid */
  show(grid) {
    const names = grid.sides.length ? laneNames(grid) : ["", ""], shown = JSON.stringify([grid.sides, names, grid.notes, grid.edits]);
    if (shown === this.shown) return;
    this.shown = shown;
    this.root.hidden = !grid.sides.length;
    if (!grid.sides.length) return;
    const runs = besideOf(grid) !== null;
    const items = grid.sides.map((side, k) => html("li", {}, html("b", { class: `lane ${SIDES[k]}` }, bdi(visible(names[k]))),
      html("span", { class: "side" }, bdi(visible(runs ? side.title : side.text))), ...this.alone(grid, side, SIDES[k])));
    const notes = grid.notes.length ? [html("span", { class: "soft" }, grid.notes.map(visible).join(" · "))] : [];
    this.root.replaceChildren(html("b", {}, runs ? "Two runs" : "Two texts"), html("ul", {}, ...items), ...this.swap(grid, runs), ...notes);
  }

  /** @param {Held} grid @param {import("../base/schema.d.ts").Side} side @param {"first" | "second"} name */
  alone(grid, { run, text }, name) {
    return !this.onView ? [] : [html("button", { type: "button", class: "plain", "aria-label": `only the ${name}`,
      click: () => this.onView?.({ run, text, beside: null, focus: null, edits: editsOf(grid, name) }) }, "only")];
  }

  /** @param {Held} grid @param {boolean} runs */
  swap(grid, runs) {
    const [first, second] = grid.sides, edits = grid.edits.map(withOtherSide);
    const change = { focus: null, edits, ...(runs ? { run: second.run, beside: first.run } : { text: swapped(grid.text) }) };
    return !this.onView ? [] : [html("button", { type: "button", class: "plain", click: () => this.onView?.(change) }, "swap")];
  }
}

/** A text whose alternatives have changed places. @param {string} text */
export function swapped(text) {
  return text.replace(/\{([^{}|]*)\|([^{}|]*)\}/g, "{$2|$1}");
}
