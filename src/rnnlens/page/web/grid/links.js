// The attention of a decoder, drawn beside the words: from a word of the target to those of the source, and back.

import { percent } from "../base/format.js";
import { attention } from "../base/pairs.js";
import { shape } from "../base/markup.js";
import { label, round, SOFT } from "./bars.js";
import { LANES } from "./lanes.js";
import { linksWidth, topOf } from "./layout.js";

const COLOUR = "#5b3f9e"; // of no group
const LEAST = 0.02; // of the attention: fainter links are not drawn
const NUMBERED = 0.1; // and those from here on have their number

/**
 * The links of a row: the wider, the more attention.
 * @param {Held} grid @param {number} row @param {Layout} layout @returns {Shape[]}
 */
export function drawLinks(grid, row, layout) {
  const found = attention(grid, row, layout.head), room = linksWidth(grid);
  if (!found || !room || !layout.below) return [];
  const left = (layout.numbers ? layout.numbers + 4 : 2) + (grid.lines.length ? LANES : 0), right = left + room - 4;
  const middle = (/** @type {number} */ at) => topOf(layout, at) + 3 + layout.state / 2;
  const from = middle(row), size = round(9 * layout.scale);
  const drawn = found.links.filter(([at, weight]) => at >= 0 && weight >= LEAST).flatMap(([at, weight]) => {
    const to = middle(at), d = `M${right} ${round(from)}C${left} ${round(from)} ${left} ${round(to)} ${right} ${round(to)}`;
    const width = round(1 + 5 * weight), faint = round(0.25 + 0.6 * weight);
    const number = weight >= NUMBERED && layout.density !== "compact" ? [label(right - 2, round(to - width / 2 - 2), percent(weight),
      { class: "soft", fill: SOFT, "font-size": size, "text-anchor": "end" })] : [];
    return [shape("rect", { class: "attended", x: right, y: round(to - layout.state / 2), width: round(layout.words - right - 6), height: layout.state, rx: 4, fill: COLOUR, "fill-opacity": round(0.22 * weight) }),
      shape("path", { class: "link", d, fill: "none", stroke: COLOUR, "stroke-width": width, "stroke-opacity": faint, "stroke-linecap": "round" }), ...number];
  });
  return drawn.length ? [shape("svg", { width: layout.words, height: topOf(layout, grid.words.length), overflow: "visible" }, ...drawn)] : [];
}
