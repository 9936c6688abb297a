// The heads of a grid's columns, as elements.

import { columnName, lastLayer } from "../base/format.js";
import { html, shape, toDom } from "../base/markup.js";
import { drawHeader, drawing } from "./draw.js";

/** @typedef {import("../base/schema.d.ts").Column} Column */
/** @typedef {import("./layout.js").Layout} Layout */

/** @param {Layout} layout @param {Column[]} columns all that the grid has @returns {Element[]} */
export function headCells(layout, columns) {
  const last = lastLayer(columns);
  const drawn = drawHeader(layout, (k) => ({ role: "columnheader", "aria-colindex": k + 2,
    "aria-label": columnName(layout.slots[k].column, last), "data-column": layout.slots[k].column.id }));
  const corner = html("div", { class: "corner", role: "columnheader", "aria-label": "word" });
  corner.style.width = `${layout.words}px`;
  const heads = toDom(drawing(layout.width, layout.header, { role: "none" }, drawn));
  heads.querySelectorAll("[data-column]").forEach((head, k) => {
    const { x, width } = layout.slots[k]; // so that the whole head is clicked, not its letters alone
    head.prepend(toDom(shape("rect", { class: "reach", x, y: 22, width: width - 4, height: layout.header - 22, rx: 4 })));
  });
  return [corner, heads];
}
