// The corpus page: a question, its answers, and pictures of the whole that lead to further questions.

import { between, groupName, paleness, percent, semanticName, SURE, thousands, TOO_FEW, visible } from "../base/format.js";
import { readingAt } from "../base/lines.js";
import { html, shape, toDom, write } from "../base/markup.js";
import { download, fileName } from "../net/save.js";
import { drawCounts, drawHits } from "./answers.js";
import { Builder } from "./builder.js";
import { boxOf, StateMap } from "./map.js";
import { Pictures } from "./pictures.js";
import { QuestionField } from "./question.js";

/**
 * Whoever answers.
 * @typedef {<P extends "api/corpus" | "api/find" | "api/labels" | "api/map" | "api/picture" | "api/place" | "api/table">(path: P, body: Posts[P]["asked"], signal?: AbortSignal) =>
 *   Promise<Posts[P]["answer"]>} Reader
 */
/**
 * `onFind` is told what is asked, and whether going back should undo it; `onMap` whose map is chosen; `onOpen` what of a grid is to be shown.
 * @typedef {{read: Reader, onFind: (question: string, step: boolean) => void, onMap: (kind: string) => void, onOpen: (change: Partial<View>) => void,
 *   measure: Measure}} CorpusCallbacks
 */

/** What the colours mean. @param {Pick<Corpus, "groups" | "rule">} corpus */
function groupKey({ groups, rule }) {
  const faded = html("li", { class: "soft" }, `faded = ${paleness({ rule, scale: null, several: false, alone: false })}`);
  return html("ul", { class: "legend", "aria-label": "colours" }, ...Object.entries(groups).map(([group, colour]) => {
    const patch = toDom(shape("svg", { width: 12, height: 12, "aria-hidden": "true" }, shape("rect", { width: 12, height: 12, rx: 3, fill: colour })));
    return html("li", {}, patch, groupName(group));
  }), faded);
}

const BLOCK = 50; // answers that are asked for at once

export class CorpusPage {
  /** @param {HTMLElement} root @param {CorpusCallbacks} callbacks */
  constructor(root, callbacks) {
    this.root = root;
    this.callbacks = callbacks;
    this.run = "";
    /** @type {Held | null} */ this.grid = null; // of the run, whose columns name the kinds
    /** @type {string | null} */ this.wanted = null; // what is to be asked once the corpus is known
    /** @type {Corpus | null} */ this.corpus = null;
    /** @type {string | null} */ this.question = null; // that was asked last
    /** @type {Found | null} */ this.found = null; // whose answers are shown
    /** @type {AbortController | null} */ this.flight = null;
    /** @type {View | null} */ this.view = null;
    /** @type {string | null} */ this.mapped = null; // the kind that was chosen for the map
    this.field = new QuestionField((question, step) => this.ask(question, step), (question) => this.builder.read(question));
    this.builder = new Builder((question) => this.ask(question, true), async (begins) => {
      const found = await callbacks.read("api/labels", { run: this.run, semantic: this.corpus?.semantic ?? null, begins }).catch(() => null);
      return found ? [...found.begins, ...found.nearest] : [];
    });
    this.map = new StateMap({ map: (kind) => callbacks.read("api/map", { run: this.run, kind }), place: () => this.selected(),
      onKind: (kind) => {
        this.mapped = kind;
        callbacks.onMap(kind);
        this.showMap();
      }, onAsk: (question) => this.ask(question, true) });
    this.sum = html("p", { class: "sum", role: "status" });
    this.keep = html("button", { type: "button", class: "plain", click: () => this.save() }, "save as CSV");
    this.still = html("p", { class: "still", hidden: true });
    this.table = html("div", { class: "table", tabindex: 0, role: "region", "aria-label": "answers" });
    this.pictures = new Pictures(callbacks.measure, (name) => callbacks.read("api/picture", { run: this.run, name }),
      (question) => this.ask(question, true), this.map);
  }

  /**
   * Show the corpus of a run and the answers to the view's question, or else to the first example.
   * @param {{id: string}} run @param {View} view @param {Held} grid of the run
   */
  async show(run, view, grid) {
    const question = view.find;
    this.grid = grid;
    this.view = view;
    this.mapped = view.map;
    this.wanted = question;
    if (this.run === run.id) {
      if (this.corpus) this.follow(question);
      return;
    }
    this.run = run.id;
    this.corpus = this.found = null;
    this.question = null;
    this.flight?.abort();
    try {
      const corpus = await this.callbacks.read("api/corpus", { run: run.id });
      if (this.run === run.id) this.begin(corpus);
    } catch (error) {
      if (this.run !== run.id) return;
      this.refuse(error);
      this.run = ""; // so that it is asked again
    }
  }

  /** There is no corpus to ask. @param {unknown} error */
  refuse(error) {
    const told = error instanceof Error ? error.message : String(error);
    const [what, command = ""] = told.split(/(?:make one|install them): /);
    const then = command.endsWith(" -o FOLDER") ? `\nrnnlens view ${this.run} --index FOLDER` : ""; // a bundled run stays as it is
    this.root.replaceChildren(html("div", { class: "none" }, html("h2", {}, "A corpus behind the states"),
      html("p", {}, "An index of a corpus holds what every state says after every word. It answers questions in words, "
        + "such as where the long-term memory expects a verb while the prediction expects a noun, and how often."),
      html("p", { class: "wrong" }, what.replace(/; $/, ".")), ...(command ? [html("pre", {}, html("code", {}, command + then))] : [])));
  }

  /** @param {Corpus} corpus */
  begin(corpus) {
    this.corpus = corpus;
    const asked = semanticName(corpus.semantic, this.grid?.follows, this.grid?.numbers);
    const part = corpus.splits.join() === "all" ? "" : `, ${corpus.splits.join(" and ")}`;
    const about = html("p", { class: "soft about", title: `${thousands(corpus.sentences)} sentences; states say the ${asked}` }, visible(corpus.source) + part);
    this.field.offer(corpus);
    this.builder.offer(corpus, this.grid?.columns ?? []);
    this.field.root.append(this.builder.root);
    this.root.replaceChildren(this.field.root, html("div", { class: "halves" },
      html("section", { class: "answers", "aria-label": "answers" }, html("div", { class: "summary" }, this.sum, about, groupKey(corpus), this.keep), this.still, this.table),
      this.pictures.root));
    this.map.begin(corpus, this.grid?.columns ?? []);
    this.pictures.begin();
    this.follow(this.wanted);
  }

  /** @param {string | null} question */
  follow(question) {
    const wanted = question ?? this.corpus?.examples[0]?.question ?? "";
    this.field.set(wanted);
    this.builder.read(wanted);
    if (wanted !== this.question) this.find(wanted);
    this.showMap();
  }

  /** Whose states the map shows: that of the question, the chosen one, or the first that the question names. */
  showMap() {
    const { maps = [] } = this.corpus ?? {}, question = this.question ?? this.field.field.value;
    const named = maps.find((kind) => this.found?.kinds.includes(kind)), focus = this.focus()?.kind ?? "";
    const kind = [boxOf(question)?.kind, this.mapped, focus, named].find((one) => one && maps.includes(one)) ?? maps[maps.length - 1];
    if (kind) this.map.show(kind, question);
  }

  /** The column of the selected state; undefined: there is none. */
  focus() {
    const { focus } = this.view ?? {};
    return focus ? this.grid?.columns.find(({ id }) => id === focus.column) : undefined;
  }

  /** Where the selected state is on its map; null: none is selected. */
  async selected() {
    const { grid, view } = this, focus = view?.focus, column = this.focus();
    if (!grid || !focus || !column || !this.corpus?.maps.includes(column.kind)) return null;
    const { run, text, row } = readingAt(grid, focus.row);
    if (run !== this.run || row === null || row < column.back) return null;
    const place = await this.callbacks.read("api/place", { run, text, semantic: grid.semantic, edits: grid.sides.length ? [] : grid.edits, column: focus.column, row });
    return { ...place, after: grid.words[focus.row - column.back]?.text ?? "" };
  }

  /** @param {string} question @param {boolean} step */
  ask(question, step) {
    this.field.set(question);
    this.builder.read(question);
    if (question !== this.question) this.find(question, 0, step);
    this.callbacks.onFind(question, step);
  }

  /** @param {string} question @param {number} first the answers before this one are shown @param {boolean} whole whether no key will follow, as far as is known */
  async find(question, first = 0, whole = true) {
    this.flight?.abort();
    const flight = this.flight = new AbortController();
    this.question = question;
    this.table.setAttribute("aria-busy", "true");
    try {
      const found = await this.callbacks.read("api/find", { run: this.run, question, first, limit: BLOCK }, flight.signal);
      if (flight !== this.flight) return; // asked again meanwhile
      this.field.point(found.wrong, question, whole);
      this.stillShown(found.wrong !== null);
      if (found.wrong) this.question = null; // whoever asks again is answered again
      else if (first) this.goOn(found, first);
      else this.draw(found);
    } catch (error) {
      if (flight !== this.flight || flight.signal.aborted) return;
      this.question = null;
      this.field.point({ error: error instanceof TypeError ? "the server does not answer" : error instanceof Error ? error.message : String(error), place: 0 }, "");
      this.stillShown(true);
    }
    this.table.removeAttribute("aria-busy");
  }

  /** Answers to the question before stay, dimmed, while the new one has none. @param {boolean} wrong */
  stillShown(wrong) {
    const before = wrong && this.found;
    this.table.classList.toggle("old", Boolean(before));
    this.still.hidden = !before;
    write(this.still, before ? `Still shown: the answers to ${before.question ? visible(before.question) : "no question, which are all words"}` : "");
  }

  /** @param {Found} found */
  draw(found) {
    const { corpus } = this;
    if (!corpus) return;
    this.found = found;
    this.showMap();
    const sure = between(found.low, found.high), share = found.words ? ` (${percent(found.total / found.words)}${sure})` : "";
    this.sum.title = sure ? SURE : TOO_FEW;
    this.sum.replaceChildren(html("b", {}, thousands(found.total)), ` of ${thousands(found.words)} words${found.total ? share : ""}`);
    this.pictures.point(found.question);
    const { table, add } = found.counts ? drawCounts(found, (question) => this.ask(question, true))
      : drawHits(found, corpus, this.grid?.columns ?? [], (hit) => this.callbacks.onOpen({ text: hit.text, semantic: corpus.semantic,
        focus: { column: found.kinds[0] ?? "y", row: hit.position } }));
    /** @param {Found} more */
    this.add = (more) => (more.counts ? add(/** @type {any} */ (more.counts.lines)) : add(/** @type {any} */ (more.hits)));
    this.table.replaceChildren(...(found.total ? [table] : [html("p", { class: "soft nothing" }, "No word of this corpus fits the question.")]));
    this.table.scrollTop = 0;
    this.offerMore(found, found.counts ? found.counts.lines.length : found.hits.length);
  }

  /** Further answers under those that are there. @param {Found} found @param {number} first */
  goOn(found, first) {
    this.table.querySelector(".more")?.remove();
    this.add?.(found);
    this.offerMore(found, first + (found.counts ? found.counts.lines.length : found.hits.length));
  }

  /** @param {Found} found @param {number} shown */
  offerMore(found, shown) {
    if (!found.more) return;
    const left = found.counts ? "" : ` of ${thousands(found.total - shown)}`;
    this.table.append(html("button", { type: "button", class: "plain more", click: () => this.find(found.question, shown) }, `${BLOCK} more${left}`));
  }

  async save() {
    const question = this.field.field.value;
    try {
      const { csv, rows, left_out: more } = await this.callbacks.read("api/table", { run: this.run, question });
      download(new Blob([csv], { type: "text/csv" }), fileName(question || "all", "csv"));
      write(this.keep, more ? `saved the first ${thousands(rows)}` : "saved");
      setTimeout(() => write(this.keep, "save as CSV"), 2500);
    } catch (error) {
      write(this.keep, error instanceof Error ? error.message : String(error));
    }
  }
}
