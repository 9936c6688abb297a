// How the model goes on by itself: its own likeliest words fed back to it, with the edits and without them.

import { editsOf } from "../base/edits.js";
import { visible } from "../base/format.js";
import { bdi, html } from "../base/markup.js";

/** @typedef {import("../net/readings.js").Reader} Reader */

const WORDS = 12;

export class GoesOn {
  /** @param {Reader} read */
  constructor(read) {
    this.read = read;
    this.isOpen = false;
    /** @type {Held | null} */ this.grid = null;
    this.question = ""; // that was asked last
    /** @type {AbortController | null} */ this.flight = null;
    this.button = html("button", { type: "button", class: "plain", "aria-expanded": "false", hidden: true,
      click: () => this.toggle() }, "how it goes on");
    this.root = html("dl", { class: "goeson", role: "status", hidden: true });
  }

  toggle() {
    this.isOpen = !this.isOpen;
    this.button.setAttribute("aria-expanded", String(this.isOpen));
    this.ask();
  }

  /** Where words follow and something is edited there is something to go on from. @param {Held} grid */
  show(grid) {
    this.grid = grid;
    this.button.hidden = !grid.follows || !grid.edits.length;
    this.ask();
  }

  async ask() {
    const { grid } = this, wanted = this.isOpen && grid && !this.button.hidden;
    this.root.hidden = !wanted;
    const asked = wanted ? { ...editedReading(grid), words: WORDS } : null, question = JSON.stringify(asked);
    if (question === this.question) return;
    this.question = question;
    this.flight?.abort();
    this.root.replaceChildren();
    if (!asked) return;
    this.flight = new AbortController();
    const drawn = await this.read("api/continue", asked, this.flight.signal).then(lines, (error) => [html("dt", {}, "how it goes on"), html("dd", {}, String(error?.message ?? error))]);
    if (question === this.question) this.root.replaceChildren(...drawn);
  }
}

/** The reading that is edited, of two the first that is. @param {Held} grid */
function editedReading(grid) {
  const edited = /** @type {const} */ (["first", "second"]).map((side) => editsOf(grid, side)), at = edited[0].length ? 0 : 1;
  const { run, text } = grid.sides[at] ?? grid;
  return { run, text, edits: edited[at] };
}

/**
 * Both ways to go on, one under the other; what is another word after the edits is set off.
 * @param {import("../base/schema.d.ts").Continued} continued
 */
export function lines({ before, after }) {
  const said = (/** @type {string[]} */ words, /** @type {string[]} */ others) => words.flatMap((word, k) =>
    [word === others[k] ? bdi(visible(word)) : html("b", {}, bdi(visible(word))), " "]);
  return [html("dt", {}, "goes on"), html("dd", {}, ...said(after, before)),
    html("dt", {}, "without the edits"), html("dd", {}, ...said(before, after))];
}
