// A whole grid as one drawing, with heading and legend: what is saved as SVG and PNG.

import { followTitle } from "../base/follow.js";
import { groupName, paleness, semanticName, visible } from "../base/format.js";
import { shape } from "../base/markup.js";
import { fitted } from "../base/text.js";
import { label, SOFT } from "./bars.js";
import { drawHeader, drawRow, drawWord, textStyle } from "./draw.js";
import { layOut, topOf } from "./layout.js";
import { amount, drawRamp } from "./scale.js";

const EDGE = 20, RAMP = 144;

/** @param {Held} grid @param {number} y @param {Measure} measure @param {boolean} bars whether there are some @returns {Shape[]} */
function legend(grid, y, measure, bars) {
  let x = EDGE;
  if (grid.scale) {
    const [least, most] = [grid.scale.edges[0], grid.scale.edges[grid.scale.edges.length - 1]].map(amount);
    const start = x + measure(least, 10.5) + 6;
    return [label(x, y, least), shape("g", { transform: `translate(${start} ${y - 10})` }, ...drawRamp(grid, grid.scale, RAMP)),
      label(start + RAMP + 6, y, most), label(start + RAMP + 20 + measure(most, 10.5), y, `faded = ${paleness(grid)}`, { fill: SOFT })];
  }
  /** @type {Shape[]} */ const parts = [];
  for (const [group, colour] of grid.groups) {
    const name = groupName(group);
    parts.push(shape("rect", { x, y: y - 9, width: 11, height: 11, rx: 2, fill: colour }), label(x + 16, y, name));
    x += 30 + measure(name, 10.5);
  }
  const faded = `faded = ${paleness(grid)}`;
  parts.push(label(x, y, bars ? `${faded} · bar = \u221aprobability, numbers in %` : faded, { fill: SOFT }));
  return parts;
}

/**
 * @param {Held} grid @param {View} view @param {Measure} measure
 * @param {(row: number) => Over | null} over what is drawn over a row
 * @returns {{drawing: Shape, width: number, height: number}}
 */
export function drawSheet(grid, view, measure, over = () => null) {
  const most = view.density === "compact" ? 26 : 104;
  const layout = layOut(grid, view, { width: Infinity, height: 0, most }, measure);
  const width = Math.max(420, Math.ceil(layout.words + layout.width + 2 * EDGE));
  const top = 84, height = top + layout.header + 6 + topOf(layout, grid.words.length) + EDGE;
  const rows = grid.words.map((_, row) => {
    const y = top + layout.header + 6 + topOf(layout, row);
    return shape("g", { transform: `translate(${EDGE} ${y})` }, drawWord(grid, row, layout),
      shape("g", { transform: `translate(${layout.words} 0)` }, drawRow(grid, row, layout, () => "", over(row))));
  });
  const followed = view.follow && over(0)?.scale ? ` · ${followTitle(view.follow)}` : "";
  const edited = grid.edits.length ? ` · edited: ${visible(grid.edits.join(", "))}` : "";
  const told = `${visible(grid.title)} · ${semanticName(grid.semantic, grid.follows, grid.numbers)}${followed}${edited}`;
  const drawing = shape("svg", { xmlns: "http://www.w3.org/2000/svg", width, height,
    viewBox: `0 0 ${width} ${height}`, ...textStyle() },
    shape("title", {}, `${told}: ${visible(grid.text)}`),
    shape("rect", { width, height, fill: "#fff" }),
    label(EDGE, 30, fitted(visible(grid.text), width - 2 * EDGE, 15, measure, 600),
      { "font-size": 15, "font-weight": 600 }),
    label(EDGE, 48, told, { fill: SOFT, "font-size": 12 }),
    ...legend(grid, 70, measure, view.density !== "compact" && !over(0)?.scale),
    shape("g", { transform: `translate(${EDGE + layout.words} ${top})` }, drawHeader(layout)),
    ...rows);
  return { drawing, width, height };
}
