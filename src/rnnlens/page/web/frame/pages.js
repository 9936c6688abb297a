// The pages beside the grid, and the buttons that lead to them and back.

import { html } from "../base/markup.js";
import { reason } from "../net/client.js";
import { accuracyPage } from "./accuracy.js";

/**
 * What shows a corpus, where there is somebody who can be asked about one.
 * @typedef {{show: (run: RunSummary, view: View, grid: Held) => unknown}} CorpusShown
 */

const BACK = "back to the grid";

export class Pages {
  /**
   * @param {HTMLElement} root @param {{work: HTMLElement, accuracy: HTMLElement, corpus: HTMLElement}} place
   * @param {{turn: (page: View["page"]) => void, accuracy: (run: string) => Promise<Accuracy>,
   *   measure: Measure, corpus: CorpusShown | null}} callbacks
   */
  constructor(root, place, callbacks) {
    this.root = root;
    this.place = place;
    this.callbacks = callbacks;
    /** @type {View["page"]} */ this.page = "grid";
    const button = (/** @type {View["page"]} */ page, /** @type {string} */ kind, /** @type {string} */ title) => html("button", { type: "button", class: `plain ${kind}`, title,
      click: () => callbacks.turn(this.page === page ? "grid" : page) }, page);
    this.toAccuracy = button("accuracy", "page", "How well each part of the network predicts, and when in training it learnt to");
    this.toCorpus = button("corpus", "tocorpus", "Find sentences of a corpus by what their states say");
    this.buttons = [this.toCorpus, this.toAccuracy];
  }

  /** Turn to the page the view is on. @param {View} view @param {RunSummary} run @param {Held | null} grid */
  async show(view, run, grid) {
    const { place, callbacks } = this, page = view.page === "corpus" && !callbacks.corpus ? "grid" : view.page;
    this.page = page;
    place.work.hidden = page !== "grid";
    place.accuracy.hidden = page !== "accuracy";
    place.corpus.hidden = page !== "corpus";
    this.root.classList.toggle("evaluated", page !== "grid");
    this.root.classList.toggle("asked", page === "corpus");
    this.toAccuracy.textContent = page === "accuracy" ? BACK : "accuracy";
    this.toCorpus.textContent = page === "corpus" ? BACK : "corpus";
    this.toCorpus.hidden = !callbacks.corpus || (!run.corpus && page !== "corpus");
    const shown = page === "corpus" ? place.corpus : page === "accuracy" ? place.accuracy : null;
    if (shown && !shown.firstChild) shown.append(html("p", { class: "soft unready", role: "status" }, "loading \u2026"));
    if (grid?.run !== run.id) return;
    if (page === "corpus") callbacks.corpus?.show(run, view, grid);
    else if (page === "accuracy") await this.showAccuracy(view, run, grid);
  }

  /** @param {View} view @param {RunSummary} run @param {Held} grid */
  async showAccuracy(view, run, { columns, semantic }) {
    const { accuracy } = this.place;
    try {
      const found = await this.callbacks.accuracy(run.id);
      const width = Math.min(980, Math.max(640, accuracy.clientWidth - 56));
      accuracy.replaceChildren(...accuracyPage(found, view.semantic ?? semantic, columns, width, this.callbacks.measure));
    } catch (error) {
      accuracy.replaceChildren(html("h2", {}, "How well each part predicts"), html("p", {}, reason(error)));
    }
  }
}
