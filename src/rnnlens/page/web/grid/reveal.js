// Scrolling a grid so that something in it can be seen.

/** @typedef {import("./gridview.js").GridView} GridView */

/**
 * Up or down, as far as it takes for a row.
 * @param {GridView} view @param {number} row
 * @param {number} height of what can be seen; the one that is known, since to ask for it lays the page out
 */
export function revealRow(view, row, height = view.height) {
  const { layout, scroller } = view;
  if (!layout) return;
  const top = row * layout.row, bottom = top + layout.row + layout.header + 6; // as far as the last row can be scrolled
  if (view.top > top) view.top = scroller.scrollTop = top;
  else if (view.top + height < bottom) {
    scroller.scrollTop = bottom - height;
    view.top = scroller.scrollTop;
  }
}

/** To all sides, as far as it takes for a state. @param {GridView} view @param {import("../base/schema.d.ts").Place} place */
export function reveal(view, place) {
  const { layout, scroller } = view;
  const slot = layout?.slots.find((one) => one.column.id === place.column);
  if (!layout || !slot) return;
  revealRow(view, place.row, scroller.clientHeight);
  if (slot !== layout.own) {
    const kept = view.overhang && layout.own ? layout.width - layout.own.x + 6 : 0; // by the column that stays in sight
    const right = slot.x + slot.width + layout.words + 6 + kept;
    if (scroller.scrollLeft > slot.x - 6) scroller.scrollLeft = slot.x - 6;
    else if (scroller.scrollLeft + scroller.clientWidth < right) scroller.scrollLeft = right - scroller.clientWidth;
    view.keepInSight();
  }
  view.draw();
}
