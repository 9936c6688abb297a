// Pinned states: kept while the text and the run change, and asked how far apart they are.

import { editsOf } from "../base/edits.js";
import { apart, inWords, lastLayer, semanticName, visible, wordAfter } from "../base/format.js";
import { columnsAt, readingAt, readings, rowShowing } from "../base/lines.js";
import { bdi, html, shape, toDom } from "../base/markup.js";
import { meaning } from "../base/metrics.js";
import { COUNTS } from "../base/rules.js";
import { drawBars, LABEL, PITCH } from "../grid/bars.js";
import { textStyle } from "../grid/draw.js";
import { remover } from "./detail.js";
import { partName } from "./subject.js";

/** How the network is introduced that a pin is of, where another one is shown. */
export const ELSEWHERE = "of another network: ";

/**
 * What a pin shows, kept when its text or its run is no longer the one drawn.
 * @typedef {{state: State, after: string, column: Column, last: number, title: string, follows: boolean,
 *   labels: Map<string, string>, groups: Map<string, string>, placeholders: Map<string, string>}} Kept
 */

/** @param {Pin} pin */
export function pinKey(pin) {
  return JSON.stringify([pin.column, pin.row, pin.semantic, pin.text, pin.run]);
}

/** The same for both orders: the divergence is. @param {Pin} a @param {Pin} b */
export function pairKey(a, b) {
  return [pinKey(a), pinKey(b)].sort().join("|");
}

/**
 * A place of a grid as a pin that remembers where it is from.
 * @param {Held} grid @param {Place} place
 * @returns {Pin}
 */
export function pinOf(grid, place) {
  const { run, text, row } = readingAt(grid, place.row);
  return { column: place.column, row: row ?? 0, run, text, semantic: grid.semantic };
}

/** Where a pin's state is drawn; null: nowhere here. @param {Pin} pin @param {Held} grid @returns {Place | null} */
export function placeOf(pin, grid) {
  const row = pin.semantic === grid.semantic ? rowShowing(grid, pin) : null;
  return row === null ? null : { column: pin.column, row };
}

/** Whether a pin is one of the states drawn. @param {Pin} pin @param {Held} grid */
export function lives(pin, grid) {
  return placeOf(pin, grid) !== null;
}

/** Pin a state or take its pin away. @param {Pin[]} pins @param {Pin} pin */
export function toggled(pins, pin) {
  const key = pinKey(pin);
  const left = pins.filter((other) => pinKey(other) !== key);
  return left.length < pins.length ? left : [...pins, pin];
}

/**
 * A state depends on the words up to its own: is none of them another?
 * @param {Held} a @param {Pin} pin of a text of `a` @param {Held} b @param {{run: string, text: string}} side of `b`
 */
function unchanged(a, pin, b, side) {
  for (let row = 0; row <= pin.row; row++) {
    const before = rowShowing(a, { ...pin, row }), now = rowShowing(b, { ...side, row });
    if (before === null || now === null || a.words[before].text !== b.words[now].text) return false;
  }
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
    if (!before || lives(known, now) || !lives(known, before)) return known;
    const here = readings(now).find((side) => side.run === known.run && unchanged(before, known, now, side));
    return here ? { ...known, text: here.text } : known;
  });
}

/** What a pin shows, from the grid it is in. @param {Pin} pin @param {Held} grid @returns {Kept | null} */
export function keep(pin, grid) {
  const index = grid.columns.findIndex((column) => column.id === pin.column);
  const row = placeOf(pin, grid)?.row ?? pin.row, state = grid.rows[row]?.[index];
  if (!state) return null;
  const { labels, groups, placeholders, follows } = grid, columns = columnsAt(grid, row), column = columns[index], { title } = readingAt(grid, row);
  return { state, after: wordAfter(grid, column, row), column, last: lastLayer(columns), title, follows, labels,
    groups, placeholders };
}

/**
 * The divergences known between pins that are drawn, as a file holds them.
 * @param {Held} grid @param {Pin[]} pins @param {Map<string, Divergence | null>} between
 * @returns {[string, number, string, number, number][]}
 */
export function knownBits(grid, pins, between) {
  const drawn = pins.filter((pin) => lives(pin, grid));
  return drawn.flatMap((a, k) => drawn.slice(k + 1).flatMap((b) => {
    const known = between.get(pairKey(a, b)), [from, to] = [a, b].map((pin) => placeOf(pin, grid)?.row ?? pin.row);
    return known?.exact ? [/** @type {[string, number, string, number, number]} */ ([a.column, from, b.column, to, known.bits])] : [];
  }));
}

/**
 * The pairs of states whose divergence a file holds.
 * @param {[string, number, string, number, number][]} bits @param {Held} grid @returns {{pair: [Pin, Pin], bits: number}[]}
 */
export function pairsOf(bits, grid) {
  return bits.map(([column, row, other, below, known]) => ({ pair: [pinOf(grid, { column, row }), pinOf(grid, { column: other, row: below })], bits: known }));
}

const BYTES = 120_000; // of texts that are spelled out, so that a request stays small

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
    if (group && run === pair[0].run && group.length < COUNTS.pairs && bytes + spelled(group[0][0]) <= BYTES
      && (together.size <= 2 || words <= COUNTS.compared_words)) {
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

/** The edits of a pin's text. @param {Pin} pin @param {Held} grid */
function editsAt(pin, grid) {
  const row = placeOf(pin, grid)?.row, edits = row === undefined ? [] : editsOf(grid, grid.lines[row]?.side ?? "first");
  return edits.length ? { edits } : {};
}

/**
 * A group of pairs as the server is asked for it: what the first pin has is said once. A pin of what is drawn is of it
 * as it is drawn, with its edits.
 * @param {[Pin, Pin][]} pairs @param {Held | null} grid
 */
export function comparison(pairs, grid = null) {
  const { run, text, semantic } = pairs[0][0];
  /** @param {Pin} pin */
  const end = (pin) => ({ column: pin.column, row: pin.row, ...(pin.text === text ? {} : { text: pin.text }),
    ...(pin.semantic === semantic ? {} : { semantic: pin.semantic }),
    ...(grid ? editsAt(pin, grid) : {}) });
  return { run, text: text ?? "", semantic, pairs: pairs.map(([a, b]) => ({ a: end(a), b: end(b) })) };
}

/**
 * A single pinned state, and how far it is from the selected one.
 * @param {Held} grid @param {Pin} pin @param {Kept | null} kept
 * @param {Divergence | null | undefined} distance undefined: it is the selected one, or none is
 * @param {{width: number, measure: Measure, onRemove: (pin: Pin) => void}} how
 * @returns {Node[]}
 */
export function drawPin(grid, pin, kept, distance, how) {
  const column = kept?.column ?? grid.columns.find((one) => one.id === pin.column);
  if (!column) return [html("section", { class: "held" }, `this run has no part \u201c${visible(pin.column)}\u201d`)];
  const card = html("section", { class: "held", "aria-label": "the pinned state" },
    html("header", {}, html("small", {}, "pinned"), html("span", { class: "after" }, `${partName(column, grid.columns)}, after `, html("b", {}, bdi(kept ? kept.after : "…"))), remover(column, pin, how)));
  if (!kept) return [card];
  if (pin.run !== grid.run) card.append(html("p", { class: "origin" }, `${ELSEWHERE}${visible(kept.title)}`));
  if (pin.semantic !== grid.semantic) card.append(html("p", { class: "origin" }, semanticName(pin.semantic ?? "", kept.follows)));
  const text = visible(pin.text ?? "");
  if (pin.text !== grid.text) card.append(html("p", { class: "origin", title: text }, bdi(text)));
  // A state of the grid shows its bars there; here they would take the panel from the selected state.
  const look = { width: how.width, size: LABEL, pitch: PITCH, values: true, measure: how.measure };
  const bars = shape("svg", { width: how.width, height: 4 * PITCH, ...textStyle() },
    ...drawBars(kept, kept.state, 4, look));
  if (kept.state.unread) card.append(html("p", { class: "origin" }, "nothing read yet"));
  else if (!lives(pin, grid)) card.append(toDom(bars));
  if (distance !== undefined) {
    const words = distance?.exact ? `, ${inWords(distance.bits)}` : "";
    const told = distance ? `${apart(distance)} from the selected state${words}` : "…";
    card.append(html("p", { class: "distance", ...meaning("divergence") }, told));
  }
  return [card];
}
