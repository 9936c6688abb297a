// The tab of what has changed: a state beside what it was before the edits, or beside the one of the other text.

import { percent, visible } from "../base/format.js";
import { otherName, rowBeside } from "../base/lines.js";
import { html, shape, toDom } from "../base/markup.js";
import { changeOf } from "../grid/changed.js";
import { colourOf, drawBar } from "../grid/bars.js";
import { differing, labelled, probabilityOf } from "./compare.js";
import { keep, pinOf } from "./pins.js";

/** @typedef {import("./subject.js").Subject} Subject */

const ROWS = 10;
const NOTHING = "There is nothing to compare it with yet. Change a state, and this shows what became of every other; or write two alternatives into the text, such as {is|are}.";
const SAME = "No edit has changed this state.";

/** Whether a state stands beside another one: before the edits, or in the other text. @param {Held} grid @param {Subject} subject */
export function isCompared(grid, { place }) {
  return grid.lines.length ? rowBeside(grid, place.row) !== null : grid.edits.length > 0;
}

/** The state of the other text beside it; null: none. @param {Held} grid @param {Subject} subject @returns {Kept | null} */
export function besideKept(grid, { place }) {
  const row = grid.lines.length ? rowBeside(grid, place.row) : null;
  return row === null ? null : keep(pinOf(grid, { ...place, row }), grid);
}

/**
 * @param {Held} grid @param {Subject} subject
 * @param {Kept | null | undefined} other what it is compared with; null while that is on its way, undefined: it cannot be had
 * @param {number} width
 * @returns {Node[]}
 */
export function drawBefore(grid, subject, other, width) {
  const { place, column, index } = subject, here = keep(pinOf(grid, place), grid);
  if (!isCompared(grid, subject) || !here) return [html("p", { class: "soft" }, NOTHING)];
  const said = changeOf(grid, place.row, { column, index }).said;
  const told = html("p", { class: "change" }, said ? `${said[0].toUpperCase()}${said.slice(1)}.` : SAME);
  if (!said || other === undefined) return [told];
  if (other === null) return [told, html("p", { class: "soft" }, "…")];
  const name = grid.lines.length ? visible(otherName(grid, place.row)) : "before", each = Math.floor((width - 92) / 2);
  const head = html("tr", {}, html("th", {}), html("th", { scope: "col" }, name), html("th", { scope: "col" }, grid.lines.length ? "here" : "now"));
  const rows = differing([other, here].filter(({ state }) => !state.unread), ROWS).map((label) => html("tr", {},
    html("th", { scope: "row" }, labelled(label, grid)), ...[other, here].map((kept) => cell(kept, label, each))));
  return [told, html("table", { class: "before", "aria-label": "what differs most" }, html("thead", {}, head), html("tbody", {}, ...rows))];
}

/** @param {Kept} kept @param {string} label @param {number} width */
function cell(kept, label, width) {
  if (kept.state.unread) return html("td", { title: "nothing was read into this state yet" }, "—");
  const { p, listed } = probabilityOf(kept, label), said = listed ? percent(p) : `<${percent(p).replace("<", "")}`;
  return html("td", {}, said, toDom(shape("svg", { width, height: 5, "aria-hidden": "true" }, ...drawBar(0, 1, width, 3, listed ? p : 0, colourOf(kept, label)).slice(0, listed ? 2 : 1))));
}
