// Pictures of the whole corpus, each computed when it is first looked at; a click asks for the words behind a mark.

import { thousands } from "../base/format.js";
import { html, toDom, toText } from "../base/markup.js";
import { segments, take } from "../frame/menus.js";
import { download, fileName } from "../net/save.js";
import { drawDisagreement, drawTurns } from "./networks.js";
import { drawReach, drawSurprise, drawTags } from "./words.js";

/** @typedef {Picture["name"]} Name */
/**
 * A picture: what it is called, what it shows, its choices, and how it is drawn; null: it has nothing of the sort.
 * @typedef {{name: Name, title: string, help: (picture: Picture) => string, choices?: [string, string][],
 *   draw: (picture: Picture, width: number, choice: string, measure: Measure) => Shape | null}} Sort
 */

/** @type {Sort[]} */
const SORTS = [
  { name: "disagreement", title: "Which parts disagree, how often", choices: [["groups", "groups"], ["clear", "groups that lead clearly"], ["labels", "labels"]],
    help: ({ disagreement }) => `Share of ${disagreement ? thousands(disagreement.words) : ""} words after which two parts expect different things; clearly, where each leads its part\u2019s second group by ${
      disagreement?.margin ?? ""}. Click one to see them.${
      disagreement?.left_out ? ` ${thousands(disagreement.left_out)} parts farther from the prediction are left out.` : ""}`,
    draw: ({ disagreement }, width, choice, measure) => disagreement && drawDisagreement(disagreement, width, choice, measure) },
  { name: "turns", title: "Where the prediction turns", choices: [["feeds", "along the network"], ["step", "from step to step"], ["beside", "side by side"]],
    help: ({ turns }) => `Mean divergence between the predictions at both ends of an edge, in bits, the largest first.${
      turns?.left_out ? ` ${thousands(turns.left_out)} edges farther from the prediction are left out.` : ""}`,
    draw: ({ turns }, width, choice, measure) => turns && drawTurns(turns, width, choice, measure) },
  { name: "surprise", title: "Surprise against doubt",
    help: () => "Words by how undecided the prediction was and how surprising what came. On the line they are the same.",
    draw: ({ surprise }, width) => surprise && drawSurprise(surprise, width) },
  { name: "reach", title: "How far each part reaches",
    help: () => "Of the bits that a word\u2019s frequency leaves open, the part that a kind tells, in hundredths, by words after the one just read.",
    draw: ({ reach }, width, _, measure) => reach && drawReach(reach, width, measure) },
  { name: "tags", title: "When memories part, by part of speech",
    help: () => "Share of words after which what is kept and what is new expect different groups.",
    draw: ({ tags }, width, _, measure) => tags && drawTags(tags, width, measure) },
];

export class Pictures {
  /**
   * @param {Measure} measure @param {(name: Name) => Promise<Picture>} read
   * @param {(question: string) => void} onAsk @param {import("./map.js").StateMap} map which stands above them
   */
  constructor(measure, read, onAsk, map) {
    this.map = map;
    this.measure = measure;
    this.read = read;
    this.asked = ""; // whose mark is ringed
    this.root = html("section", { class: "pictures", tabindex: 0, "aria-label": "pictures of the corpus",
      click: (/** @type {Event} */ event) => this.lead(event, onAsk),
      keydown: (/** @type {KeyboardEvent} */ event) => {
        if (event.key === "Enter") this.lead(event, onAsk);
      } });
    /** @type {Map<Element, () => void>} */ this.unseen = new Map();
    this.watch = new IntersectionObserver((seen) => {
      for (const { isIntersecting, target } of seen) if (isIntersecting) this.look(target);
    }, { root: this.root, rootMargin: "120px" });
    this.wide = 0;
    /** @type {Set<() => void>} */ this.drawn = new Set();
    new ResizeObserver(() => {
      if (this.wide === this.width()) return;
      this.wide = this.width();
      this.map.resize(this.wide);
      for (const draw of this.drawn) draw();
    }).observe(this.root);
  }

  width() {
    return Math.max(280, this.root.clientWidth - 48);
  }

  /** Make the places of all pictures anew. */
  begin() {
    this.watch.disconnect();
    this.unseen.clear();
    this.drawn.clear();
    const cards = SORTS.map((sort) => {
      const card = html("figure", { class: "card unseen", "data-picture": sort.name }, html("figcaption", {}, html("h3", {}, sort.title)));
      this.unseen.set(card, () => this.fill(card, sort));
      return card;
    });
    this.root.replaceChildren(this.map.root, ...cards);
    for (const card of cards) this.watch.observe(card);
  }

  /** @param {Element} card */
  look(card) {
    this.watch.unobserve(card);
    card.classList.remove("unseen");
    this.unseen.get(card)?.();
    this.unseen.delete(card);
  }

  /** @param {HTMLElement} card @param {Sort} sort */
  async fill(card, sort) {
    const told = html("p", { class: "soft" }, "…"), place = html("div", { class: "drawing" });
    card.append(told, place);
    try {
      const picture = await this.read(sort.name);
      if (picture.missing) told.textContent = picture.missing;
      else this.show(card, sort, picture, told, place);
    } catch (error) {
      told.textContent = error instanceof TypeError ? "the server does not answer" : error instanceof Error ? error.message : String(error);
    }
  }

  /** @param {HTMLElement} card @param {Sort} sort @param {Picture} picture @param {HTMLElement} told @param {HTMLElement} place */
  show(card, sort, picture, told, place) {
    const { choices = [] } = sort, shown = choices.filter(([choice]) => sort.draw(picture, 300, choice, this.measure));
    let choice = shown[0]?.[0] ?? "";
    /** @type {Shape | null} */ let drawing = null;
    const draw = () => {
      drawing = sort.draw(picture, this.width(), choice, this.measure);
      place.replaceChildren(...(drawing ? [toDom(drawing)] : []));
      this.ring(place);
    };
    const pick = segments(sort.title, shown.map(([value, text]) => ({ value, text })), choice, (value) => {
      choice = value;
      take(pick, value);
      draw();
    });
    const keep = html("button", { type: "button", class: "plain", click: () => {
      if (drawing) download(new Blob([`<?xml version="1.0" encoding="UTF-8"?>\n${toText(drawing)}\n`], { type: "image/svg+xml" }), fileName(sort.title, "svg"));
    } }, "save as SVG");
    told.textContent = sort.help(picture);
    card.querySelector("figcaption")?.append(keep);
    if (shown.length > 1) told.after(pick);
    this.drawn.add(draw);
    draw();
  }

  /** @param {Event} event @param {(question: string) => void} onAsk */
  lead(event, onAsk) {
    const mark = event.target instanceof Element ? event.target.closest("[data-question]") : null;
    const question = mark?.getAttribute("data-question");
    if (question) onAsk(question);
  }

  /** Ring the marks of a question. @param {string} question */
  point(question) {
    this.asked = question;
    this.ring(this.root);
  }

  /** @param {Element} place */
  ring(place) {
    for (const mark of place.querySelectorAll("[data-question]")) {
      mark.classList.toggle("asked", mark.getAttribute("data-question") === this.asked);
    }
  }
}
