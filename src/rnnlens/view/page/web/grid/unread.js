// A state that no word was read into yet: hatched, since what a probe makes of it means nothing.

import { shape } from "../base/markup.js";

/** @typedef {import("./layout.js").Layout} Layout */
/** @typedef {import("./layout.js").Slot} Slot */

const HATCH = 5; // pixels from one slanted line to the next
const GREY = "#9a9aa3";

/** @param {Slot} slot @param {Layout} layout @param {Record<string, string | number>} more */
export function drawUnread(slot, layout, more) {
  const width = layout.mark, height = layout.state, compact = layout.density === "compact";
  const lines = Array.from({ length: Math.floor((width + height) / HATCH) }, (_, k) => {
    const reach = (k + 1) * HATCH, low = Math.min(reach, height), right = Math.min(reach, width);
    return `M${reach - low} ${low}L${right} ${reach - right}`;
  });
  const said = compact ? [] : [shape("text", { class: "soft", fill: GREY, x: width + 4, y: 10 }, "nothing"),
    ...(height > 20 ? [shape("text", { class: "soft", fill: GREY, x: width + 4, y: 23 }, "read yet")] : [])];
  return shape("g", { class: "state", transform: `translate(${slot.x} 0)`, ...more },
    shape("rect", { class: "mark", width, height, rx: compact ? 2 : 3, fill: "none", stroke: GREY, "stroke-opacity": 0.4 }),
    shape("path", { class: "hatch", d: lines.join(""), fill: "none", stroke: GREY, "stroke-width": 0.8 }), ...said);
}
