// Keys: with a state selected letters act on it, with none they are text; in a field they are the field's.

import { html } from "../base/markup.js";
import { KEYS } from "../panel/detail.js";

/** @typedef {import("../panel/subject.js").Act} Act */
/**
 * What keys do. `type` gives the keys to the text, where there is one to type into, and says whether it did.
 * @typedef {{isOn: () => boolean, isSelected: () => boolean, move: (event: KeyboardEvent) => boolean, act: (act: Act) => void, turn: () => void, open: () => void,
 *   escape: () => void, type: () => boolean, undo: () => void, redo: () => void, text: HTMLElement}} KeyCallbacks
 */

const ACTS = new Map(/** @type {[string, Act][]} */ ([["p", "pin"], ["e", "change"], ["w", "explain"], ["a", "alike"], ["f", "follow"]]));
const OWN = "[role=radiogroup], [role=tablist], .sheet, .menu, dialog, input, [tabindex='0']:not(.scroller)"; // which have their own use for arrows

export class Keys {
  /** @param {HTMLElement} root where keys are heard @param {KeyCallbacks} on */
  constructor(root, on) {
    this.on = on;
    this.root = root;
    const list = html("dl", { class: "keys" }, ...KEYS.flatMap(([key, does]) => [html("dt", {}, html("kbd", {}, key)), html("dd", {}, does)]));
    this.dialog = html("dialog", { class: "keylist", "aria-label": "keys" }, html("h2", {}, "Keys"),
      html("p", {}, "They act on the selected state, wherever the focus is, except in a field. While nothing is selected, letters go into the text."), list,
      html("form", { method: "dialog" }, html("button", { class: "toggle" }, "Close")));
    this.button = html("button", { type: "button", class: "plain", title: "keys (?)", "aria-label": "keys", click: () => this.dialog.showModal() }, "?");
    root.append(this.dialog);
    root.addEventListener("keydown", (event) => this.down(event));
  }

  /** @param {KeyboardEvent} event */
  down(event) {
    const { on } = this;
    if (event.defaultPrevented || event.isComposing || this.dialog.open) return;
    if ((event.ctrlKey || event.metaKey) && !event.altKey && this.undoes(event)) return event.preventDefault();
    if (event.key === "Escape") return on.escape();
    const target = /** @type {Element} */ (event.composedPath()[0]);
    if (isField(target) || event.metaKey || event.altKey) return undefined;
    if (event.key === "?" && !event.ctrlKey) {
      event.preventDefault();
      return this.dialog.showModal();
    }
    if (!on.isOn()) return undefined;
    const moves = !target.closest(OWN) && on.move(event);
    if (moves || (!event.ctrlKey && this.acts(event, target))) return event.preventDefault();
    const letter = [...event.key].length === 1 && event.key !== " " && !event.ctrlKey;
    if (letter && !on.isSelected()) on.type(); // and the key goes on into the text
    return undefined;
  }

  /** @param {KeyboardEvent} event @returns {boolean} whether it undoes or redoes */
  undoes(event) {
    const target = event.composedPath()[0], key = event.key.toLowerCase();
    if ((key !== "z" && key !== "y") || (target !== this.on.text && isField(/** @type {Element} */ (target)))) return false;
    if (key === "y" || event.shiftKey) this.on.redo();
    else this.on.undo();
    return true;
  }

  /** @param {KeyboardEvent} event @param {Element} target @returns {boolean} */
  acts({ key }, target) {
    const { on } = this, act = ACTS.get(key) ?? ((key === "Enter" || key === " ") && !target.closest("button, a, summary, input") ? "pin" : undefined);
    if (!on.isSelected()) return false;
    if (key === "t") on.turn();
    else if (key === "o") on.open();
    else if (act) on.act(act);
    return key === "t" || key === "o" || act !== undefined;
  }
}

/** Whether what is typed there is text. @param {Element} target */
function isField(target) {
  return target.matches(":read-write, textarea, select, input:not([type=checkbox], [type=radio], [type=range])");
}
