// A label and its probability: the word, its number, and behind them a bar. Grid, panel, comparison and saved pictures
// draw it alike, so that a length means the same wherever it is seen.

import { labelWords, nameOf, percent, visible } from "../base/format.js";
import { shape } from "../base/markup.js";
import { COLOURS } from "../base/rules.js";
import { fitted } from "../base/text.js";

/** What labels are coloured and named by. @typedef {Pick<Held, "labels" | "groups" | "placeholders">} Coloured */
/**
 * `values`: whether numbers stand at the right, as 53 where that is `short`, else as 53%; `off`: that such numbers were
 * measured to be off, so that the first is written as about 53.
 * @typedef {{width: number, size: number, pitch: number, values: boolean, short?: boolean, off?: boolean, measure: Measure}} BarLook
 */

export const INK = COLOURS.ink;
export const NONE = COLOURS.grey; // of a group that has no colour
export const SOFT = "#6d6d75";
export const MILD = "#38383f"; // between the two: can be read on a bar as well
export const LABEL = 10.5; // the size of a label where there is little room
export const PITCH = 15; // from one label to the next, then
export const TINT = 0.38, TRACK = 0.035; // how strong the colours of a bar and its track are behind text; on dark, the style sheet has another
const SQUEEZE = 0.76; // how narrow a label's letters may become before it is cut
const LEAST = 1; // pixels: a label that is named is never without a bar
const INSET = 3; // pixels from a bar's left to its text

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

/** How long a bar is, of the longest: the square root, so that 2% can be seen beside 50%. @param {number} p */
export function barLength(p) {
  return Math.sqrt(p);
}

/** A probability in whole per cent, where the sign is said elsewhere. @param {number} p */
export function shortPercent(p) {
  if (p > 0.995) return p === 1 ? "100" : ">99";
  return p >= 0.005 ? String(Math.round(p * 100)) : "<1";
}

/**
 * A bar on its track: the track is 100%, the bar the square root of the probability.
 * @param {number} x @param {number} y @param {number} width @param {number} height @param {number} p @param {string} fill
 * @returns {Shape[]}
 */
export function drawBar(x, y, width, height, p, fill) {
  const place = { x: round(x), y: round(y), height: round(height), rx: 1 };
  return [
    shape("rect", { class: "track", ...place, width: round(width), fill: INK, "fill-opacity": 0.07 }),
    shape("rect", { class: "bar", ...place, width: round(Math.max(LEAST, barLength(p) * width)), fill }),
  ];
}

/**
 * A label on its bar, with the value where there is room for it.
 * @param {Coloured} grid @param {string} name @param {number} p @param {number} y @param {BarLook} look
 * @param {number} weight of the label's type
 * @returns {Shape[]}
 */
export function drawLabel(grid, name, p, y, look, weight = 400) {
  const { width, size, pitch, measure } = look, small = round(size * 0.88);
  const value = !look.values ? "" : (look.off ? "~" : "") + (look.short ? shortPercent(p) : percent(p));
  const room = width - 2 * INSET - (value ? measure(value, small) + size * 0.3 : 0);
  const called = nameOf(name, grid), longest = room / SQUEEZE; // a sign itself is better than half its name
  const named = called !== null && measure(called, size, weight) <= longest ? called : null;
  const whole = named ?? visible(name), said = fitted(whole, longest, size, measure, weight);
  const wide = measure(said, size, weight) > room, base = round(y + pitch / 2 + size * 0.34);
  const face = named === null ? { class: "said" } : { class: "said named", fill: MILD, "font-style": "italic" };
  const told = called !== null || said !== whole ? [shape("title", {}, `${labelWords(name, grid)} ${percent(p)}`)] : [];
  const place = { y: round(y + 0.75), height: round(pitch - 1.5), rx: 2 };
  return [
    shape("rect", { class: "track", ...place, width: round(width), fill: INK, "fill-opacity": TRACK }),
    shape("rect", { class: "bar", ...place, width: round(Math.max(LEAST, barLength(p) * width)), fill: colourOf(grid, name), "fill-opacity": TINT }),
    shape("text", { x: INSET, y: base, "unicode-bidi": "isolate", "data-label": name, "font-size": size, ...face,
      ...(weight === 400 ? {} : { "font-weight": weight }),
      ...(wide ? { textLength: round(room), lengthAdjust: "spacingAndGlyphs" } : {}) }, said, ...told),
    ...(value ? [label(width - INSET, base, value, { class: "value", fill: MILD, "font-size": small, "text-anchor": "end" })] : []),
  ];
}

/**
 * The most probable labels of a state, one under the other.
 * @param {Coloured} grid @param {Pick<State, "top">} state @param {number} bars @param {BarLook} look
 * @returns {Shape[]}
 */
export function drawBars(grid, state, bars, look) {
  return state.top.slice(0, bars).flatMap(([name, p], k) => drawLabel(grid, name, p, k * look.pitch, k ? { ...look, off: false } : look));
}
