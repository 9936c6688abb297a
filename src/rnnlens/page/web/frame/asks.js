// What can be asked about the state in view: what if, who wrote it, which others are like it.

import { html } from "../base/markup.js";
import { Likeness } from "./likeness.js";
import { WrittenBy } from "./writtenby.js";

/** @typedef {import("./lens.js").LensCallbacks} LensCallbacks */

export class Asks {
  /** @param {import("../grid/gridview.js").GridView} gridView @param {LensCallbacks} callbacks @param {HTMLElement} whatIf its button */
  constructor(gridView, { read, similar }, whatIf) {
    const asked = [...(read ? [new WrittenBy(gridView, read)] : []), ...(similar ? [new Likeness(similar)] : [])];
    this.asked = asked;
    this.places = [html("div", { class: "asks" }, whatIf, ...asked.map(({ button }) => button)), ...asked.map(({ root }) => root)];
  }

  /** @param {import("../base/held.js").Held} grid @param {import("../base/schema.d.ts").View} view */
  show(grid, view) {
    for (const one of this.asked) one.show(grid, view);
  }
}
