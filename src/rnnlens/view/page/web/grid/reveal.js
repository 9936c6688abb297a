// Scrolling a grid so that something in it can be seen.

/** @typedef {import("./gridview.js").GridView} GridView */

/** Up or down, as far as it takes for a row. @param {GridView} view @param {number} row */
export function revealRow(view, row) {
  const { layout, scroller } = view;
  if (!layout) return;
  const top = row * layout.row, bottom = top + layout.row + layout.header + 8;
  if (scroller.scrollTop > top) scroller.scrollTop = top;
  else if (scroller.scrollTop + scroller.clientHeight < bottom) scroller.scrollTop = bottom - scroller.clientHeight;
  view.top = scroller.scrollTop;
}

/** To all sides, as far as it takes for a state. @param {GridView} view @param {import("../base/schema.d.ts").Place} place */
export function reveal(view, place) {
  const { layout, scroller } = view;
  const slot = layout?.slots.find((one) => one.column.id === place.column);
  if (!layout || !slot) return;
  revealRow(view, place.row);
  if (slot !== layout.own) {
    const kept = view.overhang && layout.own ? layout.width - layout.own.x + 6 : 0; // by the column that stays in sight
    const right = slot.x + slot.width + layout.words + 6 + kept;
    if (scroller.scrollLeft > slot.x - 6) scroller.scrollLeft = slot.x - 6;
    else if (scroller.scrollLeft + scroller.clientWidth < right) scroller.scrollLeft = right - scroller.clientWidth;
    view.keepInSight();
  }
  view.draw();
}
