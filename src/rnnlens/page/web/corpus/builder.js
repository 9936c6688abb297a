// The builder: a question put together of parts, relations and things, beside the field that has it as text.

import { columnName, groupName, lastLayer, visible } from "../base/format.js";
import { html } from "../base/markup.js";
import { Completion } from "../frame/completion.js";
import { compose, NEXT, partners, relationsOf, TAG, takeApart, WORD } from "./clauses.js";

/** @typedef {import("./clauses.js").Built} Built */
/** @typedef {import("./clauses.js").Clause} Clause */

const PAUSE = 350; // ms after the last key in a thing that is typed

/** A part as people call it, with the name that questions have for it. @param {string} kind @param {Column[]} columns */
export function partName(kind, columns) {
  const column = columns.find((one) => one.id === kind);
  return column ? `${columnName(column, lastLayer(columns))} (${visible(kind)})` : visible(kind);
}

/** A choice. @param {string} name @param {[string, string][]} choices values, and what they are called @param {string} taken @param {(value: string) => void} onChoose */
function choice(name, choices, taken, onChoose) {
  const known = choices.some(([value]) => value === taken), all = known ? choices : [...choices, /** @type {[string, string]} */ ([taken, taken])];
  const made = html("select", { "aria-label": name, change: () => onChoose(made.value) }, ...all.map(([value, text]) => html("option", { value }, text)));
  made.value = taken;
  return made;
}

export class Builder {
  /**
   * @param {(question: string) => void} onAsk
   * @param {(begins: string) => Promise<readonly string[]>} labels that begin so
   */
  constructor(onAsk, labels) {
    this.onAsk = onAsk;
    this.labels = labels;
    /** @type {Corpus | null} */ this.corpus = null;
    /** @type {Column[]} */ this.columns = [];
    /** @type {Built} */ this.built = { clauses: [], show: "", rest: "" };
    this.timer = 0;
    this.root = html("div", { class: "builder", role: "group", "aria-label": "put a question together" });
  }

  /** @param {Corpus} corpus @param {Column[]} columns */
  offer(corpus, columns) {
    this.corpus = corpus;
    this.columns = columns;
  }

  /** Show what a question is made of, where it can be taken apart. @param {string} question */
  read(question) {
    if (!this.corpus) return;
    const built = takeApart(question, this.corpus);
    if (built) this.show(built);
    this.root.classList.toggle("apart", !built);
  }

  /** @param {Built} built */
  show(built) {
    const before = this.root.contains(document.activeElement) ? this.controls().indexOf(/** @type {HTMLElement} */ (document.activeElement)) : -1;
    this.built = built;
    const { clauses } = built;
    const lines = clauses.map((clause, at) => this.clause(clause, at));
    const more = html("button", { type: "button", class: "plain add", click: () => this.change([...clauses, this.usual()]) }, clauses.length ? "+ and" : "+ condition");
    this.root.replaceChildren(...lines.flatMap((line, at) => (at ? [html("span", { class: "soft" }, "and"), line] : [line])), more, this.shown());
    if (before >= 0) this.controls()[before]?.focus();
  }

  /** @returns {HTMLElement[]} */
  controls() {
    return [...this.root.querySelectorAll("select, input, button")].filter((one) => one instanceof HTMLElement);
  }

  /** A condition to begin with. @returns {Clause} */
  usual() {
    const kinds = this.corpus?.kinds ?? [], part = kinds[kinds.length - 1] ?? "";
    return { part, relation: "expects", thing: Object.keys(this.corpus?.groups ?? {})[0] ?? "" };
  }

  /** @param {Clause[]} clauses */
  change(clauses) {
    this.built = { ...this.built, clauses };
    this.show(this.built);
    this.onAsk(compose(this.built));
  }

  /** @param {Clause} clause @param {number} at */
  clause(clause, at) {
    const { clauses } = this.built, corpus = /** @type {Corpus} */ (this.corpus);
    const put = (/** @type {Clause} */ other) => this.change(clauses.map((one, k) => (k === at ? other : one)));
    const drop = html("button", { type: "button", class: "plain drop", "aria-label": "leave this condition out", title: "leave this condition out",
      click: () => this.change(clauses.filter((_, k) => k !== at)) }, "\u00d7");
    if (clause.written !== undefined) return html("span", { class: "clause", title: "written by hand" }, html("code", {}, visible(clause.written)), drop);
    const parts = /** @type {[string, string][]} */ ([...corpus.kinds].reverse().map((kind) => [kind, partName(kind, this.columns)]));
    parts.push([WORD, "the word read"], ...(corpus.follows ? [/** @type {[string, string]} */ ([NEXT, "the word that came"])] : []),
      ...(corpus.tagged ? [/** @type {[string, string]} */ ([TAG, "its part of speech"])] : []));
    const relations = relationsOf(clause.part, corpus), relation = relations.find(({ id }) => id === clause.relation);
    return html("span", { class: "clause" },
      choice("part", parts, clause.part, (part) => put(this.fitted({ ...clause, part }))),
      choice("relation", relations.map(({ id, text }) => [id, text]), clause.relation, (other) => put(this.fitted({ ...clause, relation: other }))),
      ...this.thing(clause, relation, put), ...(relation?.unit ? [html("span", { class: "soft" }, relation.unit)] : []), drop);
  }

  /** A clause whose relation its part has, and whose thing suits the relation. @param {Clause} clause @returns {Clause} */
  fitted(clause) {
    const corpus = /** @type {Corpus} */ (this.corpus), relations = relationsOf(clause.part, corpus);
    const relation = relations.find(({ id }) => id === clause.relation) ?? relations[0], groups = Object.keys(corpus.groups);
    const others = relation.thing === "pair" ? partners(clause.part, corpus.pairs) : corpus.kinds.filter((kind) => kind !== clause.part);
    const usual = { "": "", group: groups[0] ?? "", label: relation.usual ?? "", kind: others[others.length - 1] ?? "", pair: others[others.length - 1] ?? "",
      number: relation.usual ?? "1", text: clause.part === TAG ? "NOUN" : relation.usual ?? "" }[relation.thing];
    const fits = { "": false, group: groups.includes(clause.thing), label: false, kind: others.includes(clause.thing), pair: others.includes(clause.thing),
      number: /^[\d.]+$/.test(clause.thing), text: false }[relation.thing];
    return { part: clause.part, relation: relation.id, thing: fits ? clause.thing : usual };
  }

  /** @param {Clause} clause @param {import("./clauses.js").Relation | undefined} relation @param {(other: Clause) => void} put */
  thing(clause, relation, put) {
    const corpus = /** @type {Corpus} */ (this.corpus), take = (/** @type {string} */ thing) => put({ ...clause, thing });
    if (!relation || !relation.thing) return [];
    if (relation.thing === "group") return [choice("group", Object.keys(corpus.groups).map((group) => [group, groupName(group)]), clause.thing, take)];
    if (relation.thing === "kind" || relation.thing === "pair") {
      const kinds = relation.thing === "pair" ? partners(clause.part, corpus.pairs) : corpus.kinds.filter((kind) => kind !== clause.part);
      return [choice("other part", [...kinds].reverse().map((kind) => [kind, partName(kind, this.columns)]), clause.thing, take)];
    }
    const number = relation.thing === "number";
    const field = html("input", { type: number ? "number" : "text", "aria-label": number ? "bits" : "word", class: relation.thing, spellcheck: "false", autocomplete: "off",
      ...(number ? { min: 0, step: 0.5 } : {}), input: () => {
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.typed(field, clause, completion), PAUSE);
      } });
    field.value = clause.thing;
    const completion = relation.thing === "label" ? new Completion(field, () => take(field.value)) : null;
    field.addEventListener("change", () => {
      clearTimeout(this.timer);
      if (field.value !== clause.thing && field.value !== "") take(field.value);
    });
    return [completion ? html("span", { class: "completed" }, field, completion.list) : field];
  }

  /** What is typed is asked for as it is; labels are offered. @param {HTMLInputElement} field @param {Clause} clause @param {Completion | null} completion */
  async typed(field, clause, completion) {
    const { value } = field;
    if (completion) {
      const found = value ? await this.labels(value) : [];
      if (field.value !== value) return;
      completion.offer(found);
      if (!found.includes(value)) return; // half a word waits
    }
    if (value === "" || (field.type === "number" && !field.validity.valid)) return;
    clause.thing = value;
    this.onAsk(compose(this.built));
  }

  /** What is shown: sentences, or how many there are. */
  shown() {
    const corpus = /** @type {Corpus} */ (this.corpus), { show } = this.built;
    const parts = [...new Set(this.built.clauses.map(({ part }) => part))].filter((part) => corpus.kinds.includes(part));
    const choices = /** @type {[string, string][]} */ ([["", "as sentences"], ["count", "as one number"], ["count by word", "counted by word read"],
      ...(corpus.follows ? [["count by next", "counted by word that came"]] : []), ...(corpus.tagged ? [["count by tag", "counted by part of speech"]] : []),
      ...parts.map((kind) => [`count by ${kind}`, `counted by what ${visible(kind)} expects`])]);
    return html("span", { class: "clause outcome" }, html("span", { class: "soft" }, "show"), choice("what is shown", choices, show, (other) => {
      const rest = other ? this.built.rest.replace(/^sort by .*?(?= limit|$)/, "").trim() : this.built.rest;
      this.built = { ...this.built, show: other, rest };
      this.change(this.built.clauses);
    }));
  }
}
