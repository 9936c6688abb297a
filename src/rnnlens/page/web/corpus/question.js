// The field that the corpus is asked in: examples, the language, and the place of what is wrong.

import { visible } from "../base/format.js";
import { html, write } from "../base/markup.js";
import { action, menu } from "../frame/menus.js";

const PAUSE = 450; // ms after the last key before it is asked

export class QuestionField {
  /** @param {(question: string, step: boolean) => void} onAsk `step`: so that going back undoes it */
  constructor(onAsk) {
    this.onAsk = onAsk;
    this.timer = 0;
    this.field = html("input", { type: "text", class: "question", spellcheck: "false", autocomplete: "off",
      autocapitalize: "off", "aria-label": "a question to the corpus", placeholder: "ask by what states say",
      "aria-describedby": "wrong", input: () => this.later(), scroll: () => this.align(),
      keydown: (/** @type {KeyboardEvent} */ event) => {
        if (event.key === "Enter") this.ask(true);
      } });
    this.examples = html("div", { class: "place" });
    this.before = html("span", { class: "before", "aria-hidden": "true" });
    this.said = html("span", {});
    this.wrong = html("p", { class: "pointed", id: "wrong", role: "status", hidden: true },
      html("span", { class: "caret", "aria-hidden": "true" }, this.before, html("b", {}, "^")), this.said);
    this.grammar = html("pre", { tabindex: 0 });
    this.root = html("div", { class: "asking" }, html("div", { class: "typing" }, this.field, this.examples,
      menu("how to ask", "grammar", this.grammar)), this.wrong);
  }

  /** Offer what a corpus can be asked. @param {Corpus} corpus */
  offer({ examples, grammar }) {
    const offered = examples.map(({ question, means }) => {
      const line = action("", () => {
        this.set(question);
        this.ask(true);
      });
      line.append(html("code", {}, visible(question)), html("span", { class: "soft" }, means));
      return line;
    });
    this.examples.replaceChildren(menu("examples", "examples", ...offered));
    write(this.grammar, grammar);
  }

  /** @param {string} question */
  set(question) {
    if (this.field.value !== question) this.field.value = question;
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(false), PAUSE);
  }

  /** @param {boolean} step */
  ask(step) {
    clearTimeout(this.timer);
    this.onAsk(this.field.value, step);
  }

  /** Point at what is wrong; null: nothing is. @param {Wrong | null} wrong @param {string} question */
  point(wrong, question) {
    this.wrong.hidden = !wrong;
    this.field.toggleAttribute("aria-invalid", wrong !== null);
    if (!wrong) return;
    this.before.textContent = [...question].slice(0, wrong.place).join(""); // takes the place that the field's own takes
    this.said.textContent = visible(wrong.error.replace(/^the question is wrong at /, ""));
    this.align();
  }

  /** The caret stays under its character where the field has scrolled. */
  align() {
    this.before.style.marginLeft = `${-this.field.scrollLeft}px`;
  }
}
