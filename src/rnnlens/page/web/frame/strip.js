// The strip above the grid: what the marks mean, labels to follow, and where predictions turn.

import { followText, followTitle, fullText, parseFollow } from "../base/follow.js";
import { visible } from "../base/format.js";
import { besideOf } from "../base/lines.js";
import { html, shape, toDom, write } from "../base/markup.js";
import { METRICS } from "../base/metrics.js";
import { Completion } from "./completion.js";

/** @typedef {import("../net/readings.js").Reader} Reader */

const TYPED = 200; // ms after the last key before what was typed is looked up
const HELP = "Follow a label: its probability in every state. With a slash, one set against another: the odds of are were / is was";
const TURNS = "Turns: where what a state says differs most from the states that feed it and from the row above (divergence in bits), and how "
  + "surprising each word was";
const BARS = "A bar is as long as the square root of the probability, so that small ones can be seen: 1% is a tenth of the full length, "
  + "25% half of it. The number is the probability in per cent.";

export class Strip {
  /**
   * @param {HTMLElement} root @param {(change: Partial<View>) => void} onView
   * @param {Reader | null} read who answers; null: nobody
   */
  constructor(root, onView, read) {
    this.onView = onView;
    this.read = read;
    this.timer = 0; // set while what was typed is not taken yet
    this.asked = new AbortController();
    this.shown = "";
    this.followed = ""; // what the view follows, as it is typed
    /** @type {Held | null} */ this.grid = null;
    this.keys = html("ul", { class: "key", "aria-label": "marks" });
    this.said = html("span", { class: "said", role: "status" });
    this.field = html("input", { type: "text", class: "follow", placeholder: "follow a label: is / are",
      "aria-label": HELP, title: HELP, spellcheck: "false", autocomplete: "off", autocapitalize: "off" });
    this.quiet = html("span", { class: "quiet", role: "status" });
    this.completion = new Completion(this.field, () => this.look(true));
    this.end = html("button", { type: "button", class: "plain", "aria-label": "stop following", title: "stop following", hidden: true,
      click: () => onView({ follow: null }) }, "×");
    this.turns = html("button", { type: "button", class: "toggle", "aria-pressed": "false", title: TURNS,
      click: () => onView({ turns: this.turns.getAttribute("aria-pressed") !== "true" }) }, "turns");
    this.field.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.look(false), TYPED);
    });
    this.field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.defaultPrevented) this.look(true);
    });
    const following = html("div", { class: "following" }, this.said, this.quiet, html("span", { class: "completed" }, this.field, this.completion.list), this.end);
    root.append(this.keys, ...(read ? [following, this.turns] : []));
  }

  typed() {
    return parseFollow(this.field.value, (label) => this.grid?.labels.has(label) ?? false);
  }

  /**
   * Follow what is typed once all of it are labels; until then what was followed before stays.
   * @param {boolean} whole whether it was said to be all, so that what is no label is no beginning of one either
   */
  async look(whole) {
    clearTimeout(this.timer);
    this.timer = 0;
    this.asked.abort();
    const { grid, read } = this, follow = this.typed(), stop = this.asked = new AbortController();
    if (!grid || !read) return;
    if (!follow) return this.take(null);
    const word = this.completion.word(), begins = whole ? "" : word, names = [...follow.labels, ...follow.against];
    const found = await read("api/labels", { run: grid.run, semantic: grid.semantic, begins, names }, stop.signal).catch(() => null);
    if (stop.signal.aborted) return;
    if (!found) return this.take(follow); // whoever is asked for the numbers will say what is wrong
    this.completion.offer(found.begins.length ? found.begins : found.nearest);
    const begun = found.begins.length ? word : null, absent = found.absent.filter((name) => name !== begun);
    if (!found.absent.length) this.take(follow);
    else this.tell(absent.length ? `${absent.map((name) => `\u201c${visible(name)}\u201d`).join(", ")} ${absent.length > 1 ? "are no labels" : "is no label"} here` : "");
  }

  /** @param {Follow | null} follow */
  take(follow) {
    this.tell("");
    if (followText(follow) !== this.followed) this.onView({ follow });
  }

  /** What is wrong with what is followed, beside the field, where it moves nothing. @param {string} told "": nothing */
  tell(told) {
    write(this.quiet, told);
    this.quiet.title = told;
  }

  /** @param {Held} grid @param {View} view @param {Scale | null} scale of what is followed */
  show(grid, view, scale) {
    this.grid = grid;
    const seen = JSON.stringify([view.turns, view.density, view.follow !== null, grid.edits.length > 0, grid.words.some((word) => word.unknown), grid.follows, grid.lines.length > 0, besideOf(grid)]);
    if (seen !== this.shown) this.keys.replaceChildren(...markKey(grid, view));
    this.shown = seen;
    this.turns.setAttribute("aria-pressed", String(view.turns));
    const text = followText(view.follow);
    if (text !== this.followed && text !== followText(this.typed()) && !this.timer) this.field.value = text;
    if (text !== this.followed) this.tell("");
    this.followed = text;
    this.end.hidden = !view.follow;
    this.said.textContent = view.follow && scale
      ? `${followTitle(view.follow)}, full width ${fullText(scale)}` : "";
    this.said.title = !view.follow ? "" : view.follow.against.length ? METRICS.odds : METRICS.probability;
  }
}

/** @param {string} kind @param {string} text @param {Shape[]} drawn */
function entry(kind, text, ...drawn) {
  return html("li", { class: kind }, toDom(shape("svg", { width: 16, height: 12, "aria-hidden": "true" }, ...drawn)), text);
}

/** What the marks of the grid mean. @param {Held} grid @param {View} view */
function markKey(grid, view) {
  const ring = (/** @type {string} */ kind) => shape("rect", { class: `sample ${kind}`, x: 1.5, y: 1.5, width: 13, height: 9,
    rx: 3, fill: "none" });
  const bars = html("li", { class: "bars", title: BARS }, toDom(shape("svg", { width: 16, height: 12, "aria-hidden": "true" },
    shape("rect", { class: "track", y: 1, width: 16, height: 10, rx: 2 }), shape("rect", { class: "bar", y: 1, width: 9, height: 10, rx: 2 }))),
  "bar: \u221aprobability, numbers in %");
  const entries = [
    ...(grid.scale || view.density === "compact" || view.follow ? [] : [bars]),
    entry("feeds", "feeds the selected state", ring("feeds")),
    entry("fed", "is fed by it", ring("fed")),
    ...(grid.scale || grid.words.some(({ group }) => group !== null) ? [entry("group", grid.scale ? "where the number lies on the axis" : "group of the word itself",
      shape("rect", { x: 1, y: 8, width: 14, height: 3, rx: 1, class: "soft" }))] : []),
  ];
  if (grid.words.some((word) => word.unknown)) {
    entries.push(entry("unknown-word", "word the model does not know", shape("text", { x: 4, y: 10.5, class: "soft", "font-style": "italic" }, "?")));
  }
  if (grid.lines.length) {
    entries.unshift(entry("edit", besideOf(grid) === null ? "differs from the first text" : "differs from the first run", shape("rect", { x: 6, y: 1, width: 3, height: 10 })));
  }
  if (grid.edits.length) {
    entries.unshift(
      entry("edit", "changed by you", shape("path", { d: "M1 1h8l-8 8z" }), shape("rect", { class: "sample", x: 1.5, y: 1.5, width: 13, height: 9, rx: 2, fill: "none", "stroke-width": 2 })),
      entry("edit", "differs from before the change", shape("rect", { x: 6, y: 1, width: 3, height: 10 })));
  }
  if (view.turns) {
    entries.push(
      entry("turned", "differs from what feeds it", shape("rect", { class: "turn", y: 5, width: 12, height: 2.6 }),
        shape("rect", { class: "turn", y: 9, width: 5, height: 2.6 })),
      entry("turned", "differs from the row above", shape("rect", { class: "turn above", width: 14, height: 2.2 })));
  }
  return entries;
}
