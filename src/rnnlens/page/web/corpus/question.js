// The field that the corpus is asked in: examples, the language, words that complete what is typed, and the place of what is wrong.

import { visible } from "../base/format.js";
import { html, write } from "../base/markup.js";
import { Completion } from "../frame/completion.js";
import { action, menu } from "../frame/menus.js";

const PAUSE = 450; // ms after the last key before it is asked
const MOST = 8; // words that are offered at once
const WORDS = ["expects", "agrees", "disagrees", "with", "differs", "from", "on", "label", "group", "entropy", "share", "rank", "came", "surprisal", "position", "length",
  "word", "next", "tag", "split", "in", "like", "is", "unknown", "map", "and", "or", "not", "before", "after", "within", "count", "by", "sort", "asc", "desc", "limit"];
const CAME = new Set(["next", "rank", "came", "surprisal"]); // which a corpus need not tell

export class QuestionField {
  /**
   * @param {(question: string, step: boolean) => void} onAsk `step`: so that going back undoes it
   * @param {(question: string) => void} onType
   */
  constructor(onAsk, onType) {
    this.onAsk = onAsk;
    this.onType = onType;
    /** @type {string[]} */ this.words = []; // of the language, and what it names
    this.timer = 0;
    this.field = html("input", { type: "text", class: "question", spellcheck: "false", autocomplete: "off",
      autocapitalize: "off", "aria-label": "a question to the corpus", placeholder: "ask by what states say",
      "aria-describedby": "wrong", input: () => this.later(), scroll: () => this.align(),
      keydown: (/** @type {KeyboardEvent} */ event) => {
        if (event.key === "Enter") this.ask(true);
      } });
    this.completion = new Completion(this.field, () => this.later());
    this.examples = html("div", { class: "place" });
    this.before = html("span", { class: "before", "aria-hidden": "true" });
    this.said = html("span", {});
    this.wrong = html("p", { class: "pointed", id: "wrong", role: "status", hidden: true },
      html("span", { class: "caret", "aria-hidden": "true" }, this.before, html("b", {}, "^")), this.said);
    this.grammar = html("pre", { tabindex: 0 });
    this.root = html("div", { class: "asking" }, html("div", { class: "typing" }, html("span", { class: "completed" }, this.field, this.completion.list), this.examples,
      menu("how to ask", "grammar", this.grammar)), this.wrong);
  }

  /** Offer what a corpus can be asked. @param {Corpus} corpus */
  offer({ examples, grammar, kinds, groups, tagged, follows }) {
    this.words = [...kinds, ...WORDS.filter((word) => (tagged || word !== "tag") && (follows || !CAME.has(word))), ...Object.keys(groups).map((group) => group.toLowerCase())]
      .filter((word) => /^[^\s"`/]+$/.test(word));
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
    this.complete();
    this.onType(this.field.value);
    this.timer = setTimeout(() => this.ask(false), PAUSE);
  }

  /** Offer what begins like the word that is being typed, unless it is in quotes. */
  complete() {
    const word = this.completion.word(), { value, selectionEnd } = this.field, end = selectionEnd ?? value.length;
    const quoted = (value.slice(0, end).match(/"/g) ?? []).length % 2 === 1;
    const begins = quoted || !word || this.words.includes(word) ? [] : this.words.filter((one) => one.startsWith(word));
    this.completion.offer([...new Set(begins)].slice(0, MOST));
  }

  /** @param {boolean} step */
  ask(step) {
    clearTimeout(this.timer);
    this.onAsk(this.field.value, step);
  }

  /**
   * Point at what is wrong; null: nothing is. A question whose last word is half typed waits for the rest.
   * @param {Wrong | null} wrong @param {string} question @param {boolean} whole whether it is said to be whole
   */
  point(wrong, question, whole = true) {
    const last = question.length - (/\S*\s*$/.exec(question)?.[0].length ?? 0), waits = wrong !== null && !whole && [...question].slice(0, wrong.place).join("").length >= last;
    this.wrong.hidden = !wrong;
    this.wrong.classList.toggle("waits", waits);
    this.field.toggleAttribute("aria-invalid", wrong !== null && !waits);
    if (!wrong) return;
    this.before.textContent = [...question].slice(0, wrong.place).join(""); // takes the place that the field's own takes
    const said = wrong.error.replace(/^the question is wrong at /, "");
    this.said.textContent = visible(waits ? `go on: ${said.replace(/^(its end|character .*?'): /, "")}` : said);
    this.align();
  }

  /** The caret stays under its character where the field has scrolled. */
  align() {
    this.before.style.marginLeft = `${-this.field.scrollLeft}px`;
  }
}
