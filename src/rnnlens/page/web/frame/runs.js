// Which run is shown, which one beside it, and how far its training had come.

import { perplexity, visible } from "../base/format.js";
import { html } from "../base/markup.js";
import { meaning } from "../base/metrics.js";
import { list } from "./menus.js";

/** @typedef {{switchTo: (id: string) => void, beside: (id: string | null) => void, slide: (id: string) => void}} OnRun */

/** The checkpoints of a run's training in order, itself among them; none where none were kept. @param {RunSummary[]} runs @param {RunSummary} run */
export function checkpoints(runs, run) {
  const { training } = run;
  if (!training) return [];
  return runs.filter((other) => other.training?.of === training.of)
    .sort((a, b) => (a.training?.epoch ?? 0) - (b.training?.epoch ?? 0) || Number(a.id === training.of) - Number(b.id === training.of));
}

/** Where in its training a run stands, in words. @param {RunSummary} run */
export function stage({ training }) {
  if (!training) return "";
  const own = training.perplexity === null ? "" : `, perplexity ${perplexity(training.perplexity)}`;
  return `after epoch ${training.epoch}${own}`;
}

/** The controls beside the page's name. */
export class RunControls {
  /** @param {HTMLElement} root @param {OnRun} on */
  constructor(root, on) {
    this.root = root;
    this.on = on;
    this.seen = ""; // what is offered, so that a slider is not taken away while it is moved
    /** @type {HTMLInputElement | null} */ this.field = null;
    this.told = html("output", meaning("perplexity"));
    this.semantic = "";
    /** @type {RunSummary[]} */ this.kept = [];
  }

  /** @param {RunSummary[]} runs @param {RunSummary} run that is shown @param {string | null} beside @param {string | null} semantic null: the first */
  show(runs, run, beside, semantic) {
    this.semantic = semantic ?? run.semantics[0] ?? "output";
    const family = run.training?.of ?? run.id, heads = runs.filter(({ id, training }) => !training || training.of === id);
    this.kept = checkpoints(runs, run);
    const seen = JSON.stringify([runs.map(({ id }) => id), family, beside, this.semantic, this.kept.length ? "" : run.id]);
    if (seen !== this.seen) this.offer(runs, run, heads, beside);
    this.seen = seen;
    if (!this.field) return;
    this.field.value = String(this.kept.indexOf(run));
    this.told.textContent = stage(run);
    this.field.setAttribute("aria-valuetext", stage(run));
  }

  /** @param {RunSummary[]} runs @param {RunSummary} run @param {RunSummary[]} heads @param {string | null} beside */
  offer(runs, run, heads, beside) {
    const shown = heads.find(({ id }) => id === run.training?.of) ?? run;
    const named = heads.map(({ id, title }) => ({ value: id, text: visible(title) }));
    const can = new Set([beside, ...this.kept.map(({ id }) => id), ...(run.comparable[this.semantic] ?? [])]);
    const others = runs.filter(({ id }) => can.has(id) && (id !== run.id || this.kept.length > 1));
    this.field = this.kept.length < 2 ? null : html("input", { type: "range", min: 0, max: this.kept.length - 1, step: 1, "aria-label": "training",
      title: "How far the training had come: each step is a checkpoint that was kept" });
    this.field?.addEventListener("input", () => this.on.slide(this.kept[Number(this.field?.value)].id));
    this.root.replaceChildren(
      heads.length > 1 ? list("run", named, shown.id, this.on.switchTo) : visible(shown.title),
      ...(this.field ? [html("span", { class: "training" }, this.field, this.told)] : []),
      ...(others.length ? [besideList(others, beside, this.on)] : []));
  }
}

/** @param {RunSummary[]} others @param {string | null} beside @param {OnRun} on */
function besideList(others, beside, on) {
  const choices = others.map(({ id, title, training }) => ({ value: id,
    text: training && training.of !== id ? `${visible(training.of)}, epoch ${training.epoch}` : visible(title) }));
  const made = list("beside it", [{ value: "", text: "compare with \u2026" }, ...choices], beside ?? "", (id) => on.beside(id || null));
  made.classList.add("beside");
  made.title = "Another run reads the same text, and both stand side by side";
  return made;
}

/**
 * An example is nobody's text: another run begins with its own, unless it has that one too.
 * @param {string | null} text @param {RunSummary} from @param {RunSummary} [to]
 * @returns {Partial<View>}
 */
export function exampleFor(text, from, to) {
  const example = to?.examples[0], written = text === null || !from.examples.includes(text);
  return !example || written || to.examples.includes(text) ? {} : { text: example, edits: [] };
}
