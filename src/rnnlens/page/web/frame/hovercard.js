// What a state says while it is pointed at: a small card beside it, which is no part of the view and catches nothing.

import { groupWords, OUTSIDE, percent } from "../base/format.js";
import { columnsAt } from "../base/lines.js";
import { html } from "../base/markup.js";
import { numberWords } from "../grid/scale.js";
import { labelled } from "../panel/compare.js";
import { momentName, partName } from "../panel/subject.js";

const LABELS = 4, GAP = 6; // pixels from the state

export class HoverCard {
  /** @param {HTMLElement} place where the grid stands @param {GridView} gridView */
  constructor(place, gridView) {
    this.place = place;
    this.gridView = gridView;
    this.root = html("div", { class: "hovercard", "aria-hidden": "true", hidden: true }); // the grid itself is heard
    place.append(this.root);
  }

  /** @param {Held} grid @param {Place | null} at */
  show(grid, at) {
    const index = grid.columns.findIndex((column) => column.id === at?.column), state = at ? grid.rows[at.row]?.[index] : null;
    const box = at && state ? this.gridView.boxOf(at) : null;
    this.root.hidden = !box;
    if (!at || !state || !box) return;
    const columns = columnsAt(grid, at.row), column = columns[index];
    const told = this.gridView.layout?.slots.find((slot) => slot.column.id === at.column)?.told; // then its cell shows something else
    this.root.replaceChildren(html("b", {}, `${partName(column, columns)}, ${momentName(grid, at, column)}`), ...(told ? [html("p", { class: "soft" }, "its probe says")] : []), ...this.says(grid, state));
    this.put(box);
  }

  /** @param {Held} grid @param {State} state @returns {Node[]} */
  says(grid, state) {
    if (state.unread) return [html("p", {}, state.top.length ? "nothing read yet" : "no word stands here")];
    if (grid.scale) return [html("p", {}, numberWords(state, grid.scale))];
    const said = state.top.slice(0, LABELS).map(([name, p]) => html("li", {}, labelled(name, grid), html("span", {}, percent(p))));
    return [html("ul", {}, ...said), html("p", { class: "soft" }, state.outside ? OUTSIDE : groupWords(state))];
  }

  /** Below a state and beside it, where there is room, else above or on the other side: never over it, nor over its row. @param {DOMRect} box */
  put(box) {
    const outer = this.place.getBoundingClientRect(), { offsetWidth: wide, offsetHeight: tall } = this.root;
    const right = box.right - outer.left, under = box.bottom - outer.top + GAP;
    const x = right + wide <= outer.width ? right : box.left - outer.left - wide, y = under + tall <= outer.height ? under : box.top - outer.top - tall - GAP;
    this.root.style.left = `${Math.round(Math.max(4, Math.min(x, outer.width - wide - 4)))}px`;
    this.root.style.top = `${Math.round(y)}px`;
  }
}
