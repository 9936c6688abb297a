// Labels that complete what is typed into a field: a list below it, by pointer or keys.

import { visible } from "../base/format.js";
import { html } from "../base/markup.js";

let made = 0; // lists so far, whose ids tell them apart

export class Completion {
  /** @param {HTMLInputElement} field @param {() => void} onTake once a label was put into the field */
  constructor(field, onTake) {
    this.field = field;
    this.onTake = onTake;
    this.id = `labels${++made}`;
    this.at = -1;
    this.list = html("ul", { id: this.id, class: "completion", role: "listbox", "aria-label": "labels", hidden: true });
    for (const [key, value] of Object.entries({ role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": this.id })) {
      field.setAttribute(key, value);
    }
    field.addEventListener("keydown", (event) => this.key(event));
    field.addEventListener("blur", () => this.close());
    this.list.addEventListener("pointerdown", (event) => {
      event.preventDefault(); // the field keeps the focus
      const option = event.target instanceof Element ? event.target.closest("[role=option]") : null;
      if (option) this.take([...this.list.children].indexOf(option));
    });
  }

  /** The word that is being typed. */
  word() {
    return /[^\s/]*$/.exec(this.field.value.slice(0, this.field.selectionEnd ?? undefined))?.[0] ?? "";
  }

  /** Offer labels in the place of the word that is being typed. @param {readonly string[]} labels */
  offer(labels) {
    const written = labels.map(visible), word = this.word(), there = document.activeElement === this.field || this.field.matches(":focus");
    this.close();
    if (!there || !word || !written.some((label) => label !== word)) return;
    this.list.replaceChildren(...written.map((label, k) =>
      html("li", { id: `${this.id}-${k}`, role: "option", "aria-selected": "false" }, label)));
    this.list.hidden = false;
    this.field.setAttribute("aria-expanded", "true");
  }

  close() {
    this.at = -1;
    this.list.hidden = true;
    this.field.setAttribute("aria-expanded", "false");
    this.field.removeAttribute("aria-activedescendant");
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (this.list.hidden) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) this.move(step);
    else if (event.key === "Escape") this.close();
    else if ((event.key === "Enter" || event.key === "Tab") && this.at >= 0) this.take(this.at);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {number} step */
  move(step) {
    const options = [...this.list.children], { length } = options;
    this.at = this.at < 0 && step < 0 ? length - 1 : (this.at + step + length) % length;
    options.forEach((option, k) => option.setAttribute("aria-selected", String(k === this.at)));
    this.field.setAttribute("aria-activedescendant", options[this.at].id);
  }

  /** @param {number} at */
  take(at) {
    const label = this.list.children[at]?.textContent ?? "", { field } = this, end = field.selectionEnd ?? field.value.length;
    const begin = end - this.word().length;
    field.setRangeText(label, begin, end, "end");
    this.close();
    this.onTake();
  }
}
