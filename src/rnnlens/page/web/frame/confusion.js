// Which labels a network takes for which: a square for each label and answer, the darker the more often.

import { percent, visible } from "../base/format.js";
import { shape } from "../base/markup.js";
import { fitted } from "../base/text.js";
import { label, round, SOFT } from "../grid/bars.js";
import { textStyle } from "../grid/draw.js";

const NAMES = 96, LARGEST = 26, SIZE = 11, NUMBERED = 20; // the last: pixels of a square that has room for a number

/**
 * A row for each label, a column for each answer; what a square says of its row in hundredths.
 * @param {Confusion} confusion @param {number} width @param {Measure} measure
 * @returns {Shape}
 */
export function drawConfusion({ labels, counts }, width, measure) {
  const side = round(Math.min(LARGEST, (width - NAMES) / labels.length)), readable = side >= SIZE;
  const end = NAMES + side * labels.length;
  const names = !readable ? [] : labels.flatMap((name, k) => {
    const said = fitted(visible(name), NAMES - 10, SIZE, measure), middle = round(NAMES + (k + 0.5) * side);
    return [label(NAMES - 6, round(middle + 4), said, { "font-size": SIZE, "text-anchor": "end" }),
      label(0, 0, said, { "font-size": SIZE, transform: `translate(${round(middle + 4)} ${NAMES - 6}) rotate(-90)` })];
  });
  const squares = counts.flatMap((row, y) => {
    const all = row.reduce((sum, count) => sum + count, 0);
    return row.flatMap((count, x) => {
      const share = count / Math.max(1, all);
      if (!count) return [];
      const told = `\u201c${visible(labels[y])}\u201d taken for \u201c${visible(labels[x])}\u201d: ${count} of ${all}, ${percent(share)}`;
      const at = { x: round(NAMES + x * side), y: round(NAMES + y * side) };
      const number = side >= NUMBERED && share >= 0.005 ? [label(round(at.x + side / 2), round(at.y + side / 2 + 3.5),
        (100 * share).toFixed(0), { "font-size": 10, "text-anchor": "middle" })] : [];
      const fill = x === y ? "#0072b2" : "#d55e00";
      return [shape("g", {}, shape("title", {}, told), shape("rect", { class: "taken", ...at, width: side, height: side,
        fill, "fill-opacity": round(0.08 + 0.62 * share) }), ...number)];
    });
  });
  const frame = shape("rect", { class: "rule", x: NAMES, y: NAMES, width: round(end - NAMES), height: round(end - NAMES), fill: "none", stroke: SOFT });
  return shape("svg", { width: round(end + 4), height: round(end + 4), role: "img", ...textStyle(), fill: "currentColor",
    "aria-label": "how often each label (rows) is taken for each other (columns)" }, frame, ...names, ...squares);
}
