// Pinned states: kept while the text changes, drawn side by side with how far apart they are.

import { apart, lastLayer, semanticName, visible, wordAfter } from "../base/format.js";
import { bdi, html, shape, toDom } from "../base/markup.js";
import { drawBars, LABEL, PITCH } from "../grid/bars.js";
import { textStyle } from "../grid/draw.js";
import { symbol } from "./detail.js";

/** @typedef {import("../base/schema.d.ts").Column} Column */
/** @typedef {import("../base/held.js").Held} Held */
/** @typedef {import("../base/schema.d.ts").Pin} Pin */
/** @typedef {import("../base/schema.d.ts").Place} Place */
/** @typedef {import("../base/schema.d.ts").State} State */
/** @typedef {import("./divergence.js").Divergence} Divergence */

/**
 * What a pin shows, kept when its text or its run is no longer the one drawn.
 * @typedef {{state: State, after: string, column: Column, last: number, title: string, follows: boolean,
 *   labels: Map<string, string>, groups: Map<string, string>}} Kept
 */

/** @param {Pin} pin */
export function pinKey(pin) {
  return JSON.stringify([pin.column, pin.row, pin.semantic, pin.text, pin.run]);
}

/**
 * A place of a grid as a pin that remembers where it is from.
 * @param {Held} grid @param {Place} place
 * @returns {Pin}
 */
export function pinOf(grid, place) {
  return { column: place.column, row: place.row, run: grid.run, text: grid.text, semantic: grid.semantic };
}

/** Whether a pin is one of the states drawn. @param {Pin} pin @param {Held} grid */
export function lives(pin, grid) {
  return pin.run === grid.run && pin.text === grid.text && pin.semantic === grid.semantic && pin.row < grid.words.length;
}

/** Pin a state or take its pin away. @param {Pin[]} pins @param {Pin} pin */
export function toggled(pins, pin) {
  const key = pinKey(pin);
  const left = pins.filter((other) => pinKey(other) !== key);
  return left.length < pins.length ? left : [...pins, pin];
}

/**
 * A state depends on the words up to its own: is none of them another?
 * @param {Held} a @param {Held} b @param {number} row
 */
function unchanged(a, b, row) {
  if (row >= b.words.length) return false;
  for (let k = 0; k <= row; k++) if (a.words[k]?.text !== b.words[k].text) return false;
  return true;
}

/**
 * Pins after the text changed: those whose state is still there move over to the new text, the
 * others remember the old one.
 * @param {Pin[]} pins @param {Held | null} before @param {Held} now
 * @returns {Pin[]}
 */
export function carried(pins, before, now) {
  return pins.map((pin) => {
    const known = { ...pin, run: pin.run ?? now.run, text: pin.text ?? now.text, semantic: pin.semantic ?? now.semantic };
    if (!before || before.run !== now.run || !lives(known, before)) return known;
    return unchanged(before, now, pin.row) ? { ...known, text: now.text } : known;
  });
}

/** What a pin shows, from the grid it is in. @param {Pin} pin @param {Held} grid @returns {Kept | null} */
export function keep(pin, grid) {
  const index = grid.columns.findIndex((column) => column.id === pin.column);
  const state = grid.rows[pin.row]?.[index];
  if (!state) return null;
  const { columns, labels, groups, title, follows } = grid, column = columns[index];
  return { state, after: wordAfter(grid, column, pin.row), column, last: lastLayer(columns), title, follows, labels,
    groups };
}

const PAIRS = 64; // that the server compares at once
const BYTES = 120_000; // of texts that are spelled out, so that a request stays small
const WORDS = 4_000; // of different texts together; there are at most as many as characters

/** @param {string | null} text what it weighs in a request */
function weight(text) {
  return new TextEncoder().encode(JSON.stringify(text)).length;
}

/**
 * Pairs in groups that can each be asked for at once.
 * @param {[Pin, Pin][]} pairs
 * @returns {[Pin, Pin][][]}
 */
export function grouped(pairs) {
  /** @type {[Pin, Pin][][]} */ const groups = [];
  let bytes = 0;
  /** @type {Map<string, number>} */ let texts = new Map();
  for (const pair of pairs) {
    const group = groups[groups.length - 1];
    /** @param {Pin} first */
    const spelled = (first) => pair.reduce((sum, { text }) => sum + (text === first.text ? 0 : weight(text)), 0);
    const { run } = group ? group[0][0] : pair[0];
    const own = pair.map(({ text, semantic }) =>
      /** @type {[string, number]} */ ([JSON.stringify([semantic, text]), text?.length ?? 0]));
    const together = new Map([...texts, ...own]);
    const words = [...together.values()].reduce((sum, length) => sum + length, 0);
    if (group && run === pair[0].run && group.length < PAIRS && bytes + spelled(group[0][0]) <= BYTES
      && (together.size <= 2 || words <= WORDS)) {
      bytes += spelled(group[0][0]);
      texts = together;
      group.push(pair);
    } else {
      bytes = spelled(pair[0]);
      texts = new Map(own);
      groups.push([pair]);
    }
  }
  return groups;
}

/**
 * A group of pairs as the server is asked for it: what the first pin has is said once.
 * @param {[Pin, Pin][]} pairs
 */
export function comparison(pairs) {
  const { run, text, semantic } = pairs[0][0];
  /** @param {Pin} pin */
  const end = (pin) => ({ column: pin.column, row: pin.row, ...(pin.text === text ? {} : { text: pin.text }),
    ...(pin.semantic === semantic ? {} : { semantic: pin.semantic }) });
  return { run, text: text ?? "", semantic, pairs: pairs.map(([a, b]) => ({ a: end(a), b: end(b) })) };
}

/**
 * The pinned states, side by side.
 * @param {Held} grid
 * @param {Pin[]} pins
 * @param {(pin: Pin) => Kept | null} kept
 * @param {(a: Pin, b: Pin) => Divergence | null} between
 * @param {Pin | null} focus the state in view
 * @param {{width: number, measure: import("../base/text.js").Measure, onRemove: (pin: Pin) => void,
 *   onClear: () => void}} how
 * @returns {Node[]}
 */
export function drawPins(grid, pins, kept, between, focus, how) {
  if (!pins.length) return [];
  const cards = pins.map((pin, k) => {
    const card = drawCard(grid, pin, kept(pin), k, how);
    const same = focus !== null && pinKey(pin) === pinKey(focus);
    if (same) card.append(html("p", { class: "distance soft" }, "in view"));
    else if (focus && focus.run === pin.run) card.append(distance("from view", "the state in view", between(pin, focus)));
    if (k > 0 && pins[0].run === pin.run) card.append(distance("from first", "the first pin", between(pins[0], pin)));
    return card;
  });
  const clear = html("button", { type: "button", class: "plain", click: how.onClear }, "clear");
  return [html("h3", {}, pins.length === 1 ? "1 pinned state" : `${pins.length} pinned states`, clear),
    html("div", { class: "cards" }, ...cards)];
}

/** @param {string} from @param {string} what @param {Divergence | null} told */
function distance(from, what, told) {
  const title = `Jensen-Shannon divergence from ${what}: 0 bits are the same, 1 bit shares nothing`;
  const bits = html("b", {}, told ? apart(told) : "…");
  return html("p", { class: "distance", title }, bits, html("small", {}, ` ${from}`));
}

/**
 * @param {Held} grid @param {Pin} pin @param {Kept | null} kept @param {number} k
 * @param {{width: number, measure: import("../base/text.js").Measure, onRemove: (pin: Pin) => void}} how
 */
function drawCard(grid, pin, kept, k, how) {
  const column = kept?.column ?? grid.columns.find((one) => one.id === pin.column);
  if (!column) return html("section", { class: "card" }, `no kind ${visible(pin.column)} here`);
  const name = `${column.name} of word ${pin.row + 1 - column.back}`;
  const remove = html("button", { type: "button", class: "plain", "aria-label": `remove the pin of ${name}`,
    click: () => how.onRemove(pin) }, "×");
  const card = html("section", { class: "card", "aria-label": `pin ${k + 1}: ${name}` },
    html("header", {}, symbol(column, pin.row, kept?.last ?? lastLayer(grid.columns), how.width - 10, how.measure),
      html("span", { class: "after" }, "after ", html("b", {}, bdi(kept ? kept.after : "…"))), remove));
  if (!kept) return card;
  if (pin.semantic !== grid.semantic) card.append(html("p", { class: "origin" }, semanticName(pin.semantic ?? "", grid.follows)));
  const text = visible(pin.text ?? "");
  if (pin.run !== grid.run) card.append(html("p", { class: "origin" }, visible(kept.title)));
  if (pin.text !== grid.text) card.append(html("p", { class: "origin", title: text }, bdi(text)));
  const look = { width: how.width, size: LABEL, pitch: PITCH, values: true, measure: how.measure };
  card.append(toDom(shape("svg", { width: how.width, height: 4 * PITCH, ...textStyle() },
    ...drawBars(kept, kept.state, 4, look))));
  return card;
}
