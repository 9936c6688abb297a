// A map of a kind's states by their first two principal components: where they are dense, what most of them expect there, where the
// selected state is. A rectangle that is drawn, or typed, asks for the words behind it.

import { groupName, percent, thousands, visible } from "../base/format.js";
import { html } from "../base/markup.js";
import { partName } from "./builder.js";
import { asKind } from "./clauses.js";

/** @typedef {import("../base/schema.d.ts").Map} StatesMap */
/** @typedef {import("../base/schema.d.ts").MapPlace} MapPlace */
/** A rectangle: left, right, below, above. @typedef {[number, number, number, number]} Box */
/**
 * Who knows maps and places on them, and who is told of a choice.
 * @typedef {{map: (kind: string) => Promise<StatesMap>, place: () => Promise<(MapPlace & {after: string}) | null>,
 *   onKind: (kind: string) => void, onAsk: (question: string) => void}} MapCallbacks
 */

const LEFT = 40, BOTTOM = 34, TOP = 6, RIGHT = 6;
const ORDINALS = ["first", "second"];
const WIDEST = 560; // pixels
const DENSEST = 0.98; // share of rectangles that are not drawn in full: a crowd in one place, as where texts begin, leaves the others visible
const LEAST = 6; // pixels that a rectangle has at least either way: less is a click
const TERM = /\bmap (`[^`]*`|\S+) in (-?[\d.eE+-]+?)\.\.(-?[\d.eE+-]+?), *(-?[\d.eE+-]+?)\.\.(-?[\d.eE+-]+?)(?=[\s)]|$)/;

/** What an axis is. @param {number} axis 0 or 1 @param {number} share of the variance */
export function axisName(axis, share) {
  return `${ORDINALS[axis]} principal component, ${percent(share)} of the variance`;
}

/** The rectangle of a kind's map that a question asks for; null: none. @param {string} question @returns {{kind: string, box: Box} | null} */
export function boxOf(question) {
  const found = TERM.exec(question), numbers = found?.slice(2).map(Number) ?? [];
  if (!found || !numbers.every(Number.isFinite)) return null;
  return { kind: found[1].replace(/^`(.*)`$/, "$1"), box: /** @type {Box} */ (numbers) };
}

/** A question with another rectangle: in the place of the one that it has of this kind, else alone. @param {string} question @param {string} kind @param {Box} box @param {number[]} sides of the map's own rectangles */
export function withBox(question, kind, box, sides) {
  const digits = sides.map((side) => Math.max(0, Math.min(12, 1 - Math.floor(Math.log10(side)))));
  const [left, right, low, high] = box.map((number, k) => String(Number(number.toFixed(digits[k < 2 ? 0 : 1]))));
  const term = `map ${asKind(kind)} in ${left}..${right}, ${low}..${high}`;
  return boxOf(question)?.kind === kind ? question.replace(TERM, term.replaceAll("$", "$$$$")) : term;
}

/** Whole steps for an axis, few of them. @param {number} low @param {number} high @returns {number[]} */
export function ticks(low, high) {
  const rough = (high - low) / 4, power = 10 ** Math.floor(Math.log10(rough || 1));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? power;
  const first = Math.ceil(low / step), last = Math.floor(high / step);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, k) => Number(((first + k) * step).toPrecision(6)));
}

export class StateMap {
  /** @param {MapCallbacks} callbacks */
  constructor(callbacks) {
    this.callbacks = callbacks;
    this.kind = "";
    this.question = "";
    /** @type {Corpus | null} */ this.corpus = null;
    /** @type {StatesMap | null} */ this.map = null;
    /** @type {(MapPlace & {after: string}) | null} */ this.place = null;
    /** @type {{x: number, y: number} | null} */ this.start = null; // where a drag began
    this.wide = 300;
    this.choice = html("span", { class: "choice" });
    this.help = html("p", { class: "soft" }, "…");
    this.canvas = html("canvas", { role: "img", "aria-label": "a map, being drawn" });
    this.over = html("div", { class: "over", pointerdown: (/** @type {PointerEvent} */ event) => this.down(event),
      pointermove: (/** @type {PointerEvent} */ event) => this.move(event), pointerup: (/** @type {PointerEvent} */ event) => this.up(event),
      pointercancel: () => this.cancel(), pointerleave: () => this.start || this.tell(null) });
    this.brush = html("div", { class: "brush", hidden: true });
    this.here = html("div", { class: "here", hidden: true });
    this.over.append(this.brush, this.here);
    this.axes = html("div", { class: "axes", "aria-hidden": "true" });
    this.drawing = html("div", { class: "statemap" }, this.axes, this.canvas, this.over);
    this.told = html("p", { class: "soft told" });
    const field = (/** @type {string} */ name) => html("input", { type: "number", step: "any", "aria-label": name, title: name, required: true });
    this.fields = ["from, along the first component", "to, along the first component", "from, along the second component", "to, along the second component"].map(field);
    const [left, right, low, high] = this.fields;
    this.form = html("form", { class: "box", submit: (/** @type {Event} */ event) => {
      event.preventDefault();
      this.ask(/** @type {Box} */ (this.fields.map(({ value }) => Number(value))));
    } }, html("span", {}, "across ", left, " to ", right), html("span", {}, "up ", low, " to ", high), html("button", { type: "submit", class: "plain" }, "ask for these"));
    this.root = html("figure", { class: "card mapcard", "data-picture": "map" },
      html("figcaption", {}, html("h3", {}, "A map of states"), this.choice), this.help, this.drawing, this.told, this.form);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  /** Another corpus. @param {Corpus} corpus @param {Column[]} columns */
  begin(corpus, columns) {
    this.corpus = corpus;
    this.columns = columns;
    this.kind = "";
    this.map = this.place = null;
    const none = !corpus.maps.length;
    this.drawing.hidden = this.form.hidden = this.told.hidden = none;
    if (none) this.show(corpus.kinds[0] ?? "", "");
  }

  /** Show the map of a kind, with the rectangle of a question. @param {string} kind @param {string} question */
  async show(kind, question) {
    this.question = question;
    if (kind === this.kind) return this.mark();
    this.kind = kind;
    this.map = null;
    this.choose();
    try {
      const [map, place] = await Promise.all([this.callbacks.map(kind), this.callbacks.place().catch(() => null)]);
      if (this.kind !== kind) return undefined;
      this.map = map;
      this.place = place;
      this.help.textContent = map.missing || "Each state of the corpus by the first two principal components of its part, each number standardised: the fuller a colour, the more states and the more of them expect its group. Draw a rectangle to see their words.";
      this.draw();
    } catch (error) {
      if (this.kind === kind) this.help.textContent = error instanceof Error ? error.message : String(error);
    }
    return undefined;
  }

  choose() {
    const kinds = this.corpus?.maps ?? [];
    if (!kinds.length) return this.choice.replaceChildren();
    const made = html("select", { "aria-label": "whose states", change: () => this.callbacks.onKind(made.value) },
      ...[...kinds].reverse().map((kind) => html("option", { value: kind }, partName(kind, this.columns ?? []))));
    made.value = this.kind;
    return this.choice.replaceChildren(made);
  }

  /** @param {number} width */
  resize(width) {
    this.wide = Math.min(WIDEST, width);
    this.draw();
  }

  /** The pixels of a number along an axis. @param {number} value @param {number} axis */
  at(value, axis) {
    const { corner = [0, 0], sides = [1, 1], columns = 1 } = this.map ?? {}, share = (value - corner[axis]) / (sides[axis] * columns);
    return axis ? this.high() * (1 - share) : this.across() * share;
  }

  /** The number at a pixel. @param {number} pixel @param {number} axis */
  number(pixel, axis) {
    const { corner = [0, 0], sides = [1, 1], columns = 1 } = this.map ?? {}, share = axis ? 1 - pixel / this.high() : pixel / this.across();
    return corner[axis] + Math.min(1, Math.max(0, share)) * sides[axis] * columns;
  }

  across() {
    return this.wide - LEFT - RIGHT;
  }

  high() {
    return Math.round(this.across() * 0.8);
  }

  draw() {
    const { map, corpus, canvas } = this, context = canvas.getContext("2d");
    if (!map || map.missing || !corpus || !context) return;
    const width = this.across(), height = this.high(), dots = window.devicePixelRatio || 1;
    for (const element of [canvas, this.over]) Object.assign(element.style, { left: `${LEFT}px`, top: `${TOP}px`, width: `${width}px`, height: `${height}px` });
    this.drawing.style.height = `${TOP + height + BOTTOM}px`;
    canvas.width = Math.round(width * dots);
    canvas.height = Math.round(height * dots);
    const counts = map.cells.map(([, , words]) => words).sort((a, b) => a - b), most = counts[Math.floor((counts.length - 1) * DENSEST)] ?? 1, side = canvas.width / map.columns, tall = canvas.height / map.columns;
    for (const [x, y, words, group, share] of map.cells) {
      context.fillStyle = corpus.groups[group] ?? "#888";
      context.globalAlpha = (0.18 + 0.82 * Math.min(1, words / most) ** 0.5) * (0.35 + 0.65 * share);
      const [left, top] = [Math.floor(x * side), Math.floor((map.columns - 1 - y) * tall)];
      context.fillRect(left, top, Math.ceil((x + 1) * side) - left, Math.ceil((map.columns - y) * tall) - top);
    }
    const states = map.cells.reduce((sum, [, , words]) => sum + words, 0);
    canvas.setAttribute("aria-label", `${thousands(states)} states of ${partName(this.kind, this.columns ?? [])}: across the ${axisName(0, map.shares[0])}; up the ${axisName(1, map.shares[1])}`);
    this.label(width, height);
    this.mark();
  }

  /** @param {number} width @param {number} height */
  label(width, height) {
    const { map } = this;
    if (!map) return;
    const [x, y] = map.corner, put = (/** @type {string} */ kind, /** @type {string} */ text, /** @type {Record<string, string>} */ style) => {
      const made = html("span", { class: kind }, text);
      Object.assign(made.style, style);
      return made;
    };
    this.axes.replaceChildren(
      ...ticks(x, x + map.sides[0] * map.columns).map((tick) => put("tick x", String(tick), { left: `${LEFT + this.at(tick, 0)}px`, top: `${TOP + height + 2}px` })),
      ...ticks(y, y + map.sides[1] * map.columns).map((tick) => put("tick y", String(tick), { right: `${this.wide - LEFT + 4}px`, top: `${TOP + this.at(tick, 1)}px` })),
      put("axis x", axisName(0, map.shares[0]), { left: `${LEFT}px`, width: `${width}px`, top: `${TOP + height + 16}px` }),
      put("axis y", axisName(1, map.shares[1]), { left: "0", width: `${height}px`, top: `${TOP + height}px` }));
  }

  /** Mark the rectangle that is asked for, and the selected state. */
  mark() {
    const { map, place } = this, asked = boxOf(this.question);
    if (!map || map.missing) return;
    const box = asked?.kind === this.kind ? asked.box : null;
    this.brush.hidden = !box;
    if (box) this.frame(box);
    const { corner, sides, columns } = map, whole = [corner[0], corner[0] + sides[0] * columns, corner[1], corner[1] + sides[1] * columns];
    if (!this.form.contains(document.activeElement)) {
      this.fields.forEach((field, k) => {
        field.value = String(Number((box ?? whole)[k].toPrecision(4)));
      });
    }
    const on = place?.kind === this.kind;
    this.here.hidden = !on;
    if (on && place) {
      const inside = (/** @type {number} */ pixel, /** @type {number} */ end) => Math.min(end, Math.max(0, pixel));
      this.here.style.left = `${inside(this.at(place.x, 0), this.across())}px`;
      this.here.style.top = `${inside(this.at(place.y, 1), this.high())}px`;
      this.here.title = `the selected state, after \u201c${visible(place.after)}\u201d`;
    }
    this.tell(null);
  }

  /** @param {Box} box */
  frame([left, right, low, high]) {
    const inside = (/** @type {number} */ pixel, /** @type {number} */ end) => Math.min(end, Math.max(0, pixel));
    const [x, far] = [left, right].map((value) => inside(this.at(value, 0), this.across())), [bottom, top] = [low, high].map((value) => inside(this.at(value, 1), this.high()));
    Object.assign(this.brush.style, { left: `${x}px`, top: `${top}px`, width: `${Math.max(2, far - x)}px`, height: `${Math.max(2, bottom - top)}px` });
  }

  /** Say what is under the pointer; null: what the ring is. @param {{x: number, y: number} | null} point */
  tell(point) {
    const { map, place } = this;
    if (!map) return;
    const cell = point && map.cells.find(([x, y]) => x === Math.floor((point.x / this.across()) * map.columns) && y === map.columns - 1 - Math.floor((point.y / this.high()) * map.columns));
    if (cell) this.told.textContent = `${thousands(cell[2])} ${cell[2] > 1 ? "states" : "state"} here; ${percent(cell[4])} expect ${groupName(cell[3])}`;
    else this.told.textContent = place?.kind === this.kind ? `The ring is the selected state, after \u201c${visible(place.after)}\u201d.` : "\u00a0";
  }

  /** @param {PointerEvent} event */
  point(event) {
    const { left, top } = this.over.getBoundingClientRect();
    return { x: Math.min(this.across(), Math.max(0, event.clientX - left)), y: Math.min(this.high(), Math.max(0, event.clientY - top)) };
  }

  /** @param {PointerEvent} event */
  down(event) {
    if (event.button || !this.map || this.map.missing) return;
    event.preventDefault();
    this.over.setPointerCapture(event.pointerId);
    this.start = this.point(event);
  }

  /** @param {PointerEvent} event */
  move(event) {
    const now = this.point(event);
    if (!this.start) return this.tell(now);
    this.brush.hidden = false;
    return this.frame(this.boxTo(now));
  }

  /** @param {{x: number, y: number}} end @returns {Box} */
  boxTo(end) {
    const start = this.start ?? end, xs = [start.x, end.x].sort((a, b) => a - b), ys = [start.y, end.y].sort((a, b) => b - a);
    return [this.number(xs[0], 0), this.number(xs[1], 0), this.number(ys[0], 1), this.number(ys[1], 1)];
  }

  /** @param {PointerEvent} event */
  up(event) {
    const { start } = this, end = this.point(event);
    if (!start) return;
    const box = this.boxTo(end), large = Math.abs(end.x - start.x) >= LEAST && Math.abs(end.y - start.y) >= LEAST;
    this.start = null;
    if (large) this.ask(box);
    else this.mark();
  }

  cancel() {
    this.start = null;
    this.mark();
  }

  /** @param {Box} box */
  ask(box) {
    if (this.map) this.callbacks.onAsk(withBox(this.question, this.kind, box, this.map.sides));
  }
}
