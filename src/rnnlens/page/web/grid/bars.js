// A label and its probability: the word, and under it a bar on a track that is 100% long. Grid, panel, comparison
// and saved pictures draw it alike, so that a length means the same wherever it is seen.

import { percent, visible } from "../base/format.js";
import { shape } from "../base/markup.js";
import { COLOURS } from "../base/rules.js";
import { fitted } from "../base/text.js";

/** What labels are coloured by. @typedef {Pick<Held, "labels" | "groups">} Coloured */
/** @typedef {{width: number, size: number, pitch: number, values: boolean, measure: Measure}} BarLook */

export const INK = COLOURS.ink;
export const NONE = COLOURS.grey; // of a group that has no colour
export const SOFT = "#6d6d75";
export const LABEL = 10.5; // the size of a label where there is little room
export const PITCH = 15; // from one label to the next, then
const SQUEEZE = 0.8; // how narrow a label's letters may become before it is cut
const LEAST = 1; // pixels: a label that is named is never without a bar

/**
 * Text that keeps its direction to itself.
 * @param {number} x @param {number} y @param {string} text @param {Record<string, string | number>} more
 */
export function label(x, y, text, more = {}) {
  return shape("text", { x, y, "unicode-bidi": "isolate", ...more }, text);
}

/** @param {number} value */
export function round(value) {
  return Math.round(value * 100) / 100;
}

/** @param {Coloured} grid @param {string} name */
export function colourOf(grid, name) {
  return grid.groups.get(grid.labels.get(name) ?? "") ?? NONE;
}

/**
 * A bar on its track: the track is 100%, the bar the probability.
 * @param {number} x @param {number} y @param {number} width @param {number} height @param {number} p @param {string} fill
 * @returns {Shape[]}
 */
export function drawBar(x, y, width, height, p, fill) {
  const place = { x: round(x), y: round(y), height: round(height), rx: 1 };
  return [
    shape("rect", { class: "track", ...place, width: round(width), fill: INK, "fill-opacity": 0.07 }),
    shape("rect", { class: "bar", ...place, width: round(Math.max(LEAST, p * width)), fill }),
  ];
}

/**
 * A label over its bar, with the value where there is room for it.
 * @param {string} name @param {number} p @param {string} fill @param {number} y @param {BarLook} look
 * @param {number} weight of the label's type
 * @returns {Shape[]}
 */
export function drawLabel(name, p, fill, y, look, weight = 400) {
  const { width, size, pitch, measure } = look, small = round(size * 0.86);
  const value = look.values ? percent(p) : "";
  const room = width - (value ? measure(value, small) + size * 0.4 : 0);
  const said = fitted(visible(name), room / SQUEEZE, size, measure, weight);
  const wide = measure(said, size, weight) > room;
  const base = round(y + pitch * 0.64); // nearer to its own bar than to the one above
  return [
    ...drawBar(0, y + pitch * 0.73, width, pitch * 0.21, p, fill),
    label(0, base, said, { class: "said", "data-label": name, "font-size": size, ...(weight === 400 ? {} : { "font-weight": weight }),
      ...(wide ? { textLength: round(room), lengthAdjust: "spacingAndGlyphs" } : {}) }),
    ...(value ? [label(width, base, value, { class: "soft", fill: SOFT, "font-size": small, "text-anchor": "end" })] : []),
  ];
}

/**
 * The most probable labels of a state, one under the other.
 * @param {Coloured} grid @param {State} state @param {number} bars @param {BarLook} look
 * @returns {Shape[]}
 */
export function drawBars(grid, state, bars, look) {
  return state.top.slice(0, bars).flatMap(([name, p], k) =>
    drawLabel(name, p, colourOf(grid, name), k * look.pitch, look));
}
