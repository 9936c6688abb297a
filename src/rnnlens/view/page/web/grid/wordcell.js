// A word at the left of its row, as an element that says what it is.

import { groupName, visible } from "../base/format.js";
import { shape, toDom } from "../base/markup.js";
import { drawWord, textStyle } from "./draw.js";

/** @typedef {import("../base/held.js").Held} Held */
/** @typedef {import("./layout.js").Layout} Layout */

/** @param {Held} grid @param {number} row @param {Layout} layout */
export function wordCell(grid, row, layout) {
  const word = grid.words[row], { words: width, row: height } = layout;
  const read = word.unknown ? `, unknown: read as ${visible(word.label)}` : "";
  return toDom(shape("svg", { width, height, overflow: "visible", ...textStyle(), class: "word", role: "rowheader",
    "aria-label": visible(word.text) + (word.unknown ? ", unknown word" : "") },
    shape("title", {}, `${visible(word.text)}, ${groupName(word.group)}${read}`), drawWord(grid, row, layout)));
}
