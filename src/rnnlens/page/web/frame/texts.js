// Texts to choose from where none can be typed: a list with a search in it.

import { thousands, visible } from "../base/format.js";
import { bdi, html } from "../base/markup.js";
import { COUNTS } from "../base/rules.js";
import { menu } from "./menus.js";

/** @typedef {import("../base/schema.d.ts").Texts} Texts */
/**
 * Who has the texts: `list` those that are looked for, `choose` shows one, `beside` shows one beside that which is shown.
 * @typedef {{list: (find: string, first: number) => Promise<Texts>, choose: (text: string) => void, beside: (text: string) => void}} TextsOf
 */

const MOST_SOUGHT = 200; // characters

/**
 * A text as it can stand in braces beside another: by its number where bars or braces are its own.
 * @param {string} text @param {TextsOf["list"]} list
 */
export async function named(text, list) {
  if (!/[{}|]/.test(text)) return text;
  const bare = spaced(text.replace(/\\([{}])/g, "$1")), begin = spaced([...bare].slice(0, COUNTS.listed_characters).join(""));
  /** @type {string[]} */ const alike = [];
  for (let first = 0, last = false; !last;) {
    const found = await list(bare.slice(0, MOST_SOUGHT), first).catch(() => null);
    if (!found) return text;
    alike.push(...found.texts.filter(({ words }) => spaced(words) === begin).map((one) => one.text));
    first += found.texts.length;
    last = !found.texts.length || first >= found.found;
  }
  return alike.length === 1 || begin === bare ? alike[0] ?? text : text; // of long ones the list tells the beginning
}

/** @param {string} text */
function spaced(text) {
  return text.split(/\s+/).filter(Boolean).join(" ");
}

export class TextPicker {
  /** @param {TextsOf} on */
  constructor(on) {
    this.on = on;
    this.asked = 0; // how often it was asked, so that no late answer is shown
    this.shown = html("p", { class: "sentence", dir: "auto" });
    this.field = html("input", { type: "search", "aria-label": "find a recorded text", placeholder: "words of a text, or #12", autocomplete: "off", spellcheck: "false" });
    this.said = html("p", { class: "soft", role: "status" });
    this.list = html("ul", { class: "kept" });
    this.menu = /** @type {HTMLDetailsElement} */ (menu("texts", "examples texts", this.field, this.said, this.list));
    this.menu.querySelector("summary")?.setAttribute("title", "The texts that were recorded: no other can be read, as there is no network");
    this.field.addEventListener("input", () => this.ask());
    this.menu.addEventListener("toggle", () => {
      if (!this.menu.open) return;
      this.field.focus();
      this.ask();
    });
    this.root = html("div", { class: "picker" }, this.shown, this.menu);
  }

  /** Say which text is shown, or which two. @param {Held} grid */
  show({ text, words, sides }) {
    const number = text.startsWith("#") ? `${text}  ` : "", whole = words.length ? number + words.map((word) => word.text).join(" ") : text;
    this.shown.textContent = visible(sides.length ? sides.map((side) => side.text).join(" beside ") : whole);
  }

  open() {
    this.menu.open = true;
    this.field.focus();
  }

  async ask(first = 0) {
    const turn = ++this.asked;
    const found = await this.on.list(this.field.value.trim().slice(0, MOST_SOUGHT), first).catch(() => null);
    if (turn !== this.asked || !found) return;
    const more = first + found.texts.length < found.found
      ? [html("li", {}, html("button", { type: "button", class: "plain", click: () => this.ask(first + found.texts.length) }, "the next ones"))] : [];
    this.said.textContent = found.found === found.total ? `${thousands(found.total)} recorded texts` : `${thousands(found.found)} of ${thousands(found.total)} recorded texts`;
    this.list.replaceChildren(...found.texts.map((one) => this.item(one)), ...more);
  }

  /** @param {{text: string, words: string}} one */
  item({ text, words }) {
    const close = (/** @type {() => void} */ work) => () => {
      this.menu.open = false;
      work();
    };
    return html("li", {},
      html("button", { type: "button", class: "action", click: close(() => this.on.choose(text)) }, html("span", { class: "soft" }, text), " ", bdi(visible(words))),
      html("button", { type: "button", class: "plain", title: "show it beside the text that is shown", "aria-label": `show ${text} beside`,
        click: close(() => this.on.beside(text)) }, "beside"));
  }
}
