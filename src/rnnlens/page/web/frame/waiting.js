// What stands in the grid's place until there is one: that it is on its way, and the words that it will be of.

import { visible } from "../base/format.js";
import { html } from "../base/markup.js";

const MOST = 40; // words that are shown

export class Waiting {
  /** @param {HTMLElement} place the grid's */
  constructor(place) {
    this.words = html("ol", { "aria-hidden": "true" });
    this.root = html("div", { class: "waiting" }, html("p", { role: "status" }, "loading …"), this.words);
    place.append(this.root);
  }

  /** @param {string} text that is read */
  show(text) {
    const words = text.split(/\s+/u, MOST).filter(Boolean);
    this.words.replaceChildren(...words.map((word) => html("li", {}, html("span", {}, visible(word)))));
  }

  /** There is a grid, or somebody says why there is none. */
  end() {
    this.root.remove();
  }
}
