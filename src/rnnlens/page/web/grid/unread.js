// A state that no word was read into, not yet or because none stands in its line: hatched, since it says nothing.

import { shape } from "../base/markup.js";
import { label, round } from "./bars.js";

/** @typedef {import("./layout.js").Layout} Layout */
/** @typedef {import("./layout.js").Slot} Slot */

const HATCH = 5; // pixels from one slanted line to the next
const GREY = "#9a9aa3";

/** @param {Slot} slot @param {Layout} layout @param {Record<string, string | number>} more @param {boolean} [yet] whether a word stands in its row */
export function drawUnread(slot, layout, more, yet = true) {
  const width = layout.mark, height = layout.state, compact = layout.density === "compact";
  const strokes = Array.from({ length: Math.floor((width + height) / HATCH) }, (_, k) => {
    const reach = (k + 1) * HATCH, low = Math.min(reach, height), right = Math.min(reach, width);
    return `M${reach - low} ${low}L${right} ${reach - right}`;
  });
  const x = round(width + 5 * layout.scale), size = layout.label;
  const lines = compact || !yet ? [] : height > 2.2 * size ? ["nothing", "read yet"] : ["nothing"];
  const said = lines.map((line, k) => label(x, round(size + k * size * 1.25), line, { class: "soft", fill: GREY, "font-size": size }));
  return shape("g", { class: "state", transform: `translate(${slot.x} 0)`, ...more },
    shape("rect", { class: "mark", width, height, rx: compact ? 2 : 3, fill: "none", stroke: GREY, "stroke-opacity": 0.4,
      "--dusk": "none" }),
    shape("path", { class: "hatch", d: strokes.join(""), fill: "none", stroke: GREY, "stroke-width": 0.8 }), ...said);
}
