// Drawing a grid as shapes. Python decides every number and colour; here they are only placed.

import { describe, columnName, lastLayer, visible, wordAfter } from "../base/format.js";
import { shape } from "../base/markup.js";
import { FONT, SERIF, fitted, tail } from "../base/text.js";
import { followed } from "../base/follow.js";
import { drawUnread } from "./unread.js";
import { drawFollowed, drawSurprisal, drawTurns, followedFill } from "./over.js";

/** @typedef {import("../base/schema.d.ts").Column} Column */
/** @typedef {import("../base/held.js").Held} Held */
/** @typedef {import("../base/schema.d.ts").State} State */
/** @typedef {import("../base/schema.d.ts").Word} Word */
/** @typedef {import("./layout.js").Layout} Layout */
/** @typedef {import("./layout.js").Slot} Slot */
/** @typedef {import("./over.js").Over} Over */
/** @typedef {import("../base/markup.js").Shape} Shape */

export const INK = "#1b1b1f";
export const SOFT = "#6d6d75";
const RULE = "#d9d9d3";
const NONE = "#9a9aa3"; // of a group that has no colour
const LABEL = 10.5; // the size of a bar's label
const SQUEEZE = 0.8; // how narrow a label's letters may become before it is cut
const TINT = 0.6; // bars are lighter than rectangles, so that their labels can be read

/**
 * Text that keeps its direction to itself.
 * @param {number} x @param {number} y @param {string} text @param {Record<string, string | number>} more
 */
export function label(x, y, text, more = {}) {
  return shape("text", { x, y, "unicode-bidi": "isolate", ...more }, text);
}

/** @param {Held} grid @param {string} name */
export function colourOf(grid, name) {
  return grid.groups.get(grid.labels.get(name) ?? "") ?? NONE;
}

/**
 * The most probable labels of a state: a bar each, as long as it is probable, its label upon it.
 * @param {Held} grid @param {State} state @param {number} width @param {Layout} layout
 * @returns {Shape[]}
 */
export function drawBars(grid, state, width, layout) {
  const room = width - 3;
  return state.top.slice(0, layout.bars).flatMap(([name, p], k) => {
    const y = k * layout.pitch;
    const said = fitted(visible(name), room / SQUEEZE, LABEL, layout.measure);
    const wide = layout.measure(said, LABEL) > room;
    return [
      shape("rect", { class: "bar", y, width: round(Math.max(1.5, p * width)), height: layout.pitch - 2,
        rx: 2, fill: colourOf(grid, name), "fill-opacity": TINT }),
      label(3, y + 9.5, said, { "data-label": name,
        ...(wide ? { textLength: round(room), lengthAdjust: "spacingAndGlyphs" } : {}) }),
    ];
  });
}

/**
 * A state: its rectangle and, where there is room for them, its bars.
 * @param {Held} grid @param {State} state @param {Slot} slot @param {Layout} layout
 * @param {Record<string, string | number>} more
 * @param {Over | null} over what takes the place of the bars, and marks upon the rectangle
 * @returns {Shape}
 */
export function drawState(grid, state, slot, layout, more = {}, over = null) {
  const compact = layout.density === "compact";
  if (state.unread) return drawUnread(slot, layout, more);
  const mark = shape("rect", { class: "mark", width: layout.mark, height: layout.state,
    rx: compact ? 2 : 3, stroke: "#000", "stroke-opacity": 0.1,
    ...(over?.scale && compact ? followedFill(over, slot) : { fill: state.colour }) });
  const turns = over?.turns ? drawTurns(grid, over.turns, slot, layout) : [];
  const place = { class: "state", transform: `translate(${slot.x} 0)`, ...more };
  if (compact) return shape("g", place, mark, ...turns);
  if (over?.scale) return shape("g", place, mark, ...turns, ...drawFollowed(over, slot, layout));
  const x = layout.mark + 4, width = slot.width - x - 5;
  const bars = shape("svg", { x, width, height: layout.state }, ...drawBars(grid, state, width, layout));
  return shape("g", place, mark, ...turns, bars);
}

/** @param {Layout} layout @param {number} height @param {number} top */
function rules(layout, height, top = 0) {
  return layout.groups.map((group) => shape("line", { class: "rule", x1: group.x - 6.5, x2: group.x - 6.5,
    y1: top, y2: height, stroke: RULE }));
}

/**
 * The states of one row; empty while they are on their way.
 * @param {Held} grid @param {number} row @param {Layout} layout
 * @param {(slot: number) => string} id of a state's element; none: "" (for files)
 * @param {Over | null} over
 * @returns {Shape}
 */
export function drawRow(grid, row, layout, id, over = null) {
  const states = grid.rows[row];
  const last = lastLayer(grid.columns);
  const drawn = !states ? [] : layout.slots.map((slot, k) => {
    const { column } = slot, state = states[slot.index];
    const named = id(k);
    const told = over?.scale && over.here && !state.unread ? `; followed ${followed(over.here[slot.index], over.scale.odds)}` : "";
    const said = named ? { id: named, role: "gridcell", "aria-colindex": k + 2, "aria-label":
      describe(state, columnName(column, last), wordAfter(grid, column, row), layout.bars) + told } : {};
    return drawState(grid, state, slot, layout, said, over);
  });
  return shape("g", {}, ...rules(layout, layout.row, -(layout.row - layout.state)), ...drawn,
    ...drawSurprisal(grid, row, layout));
}

/**
 * A word at the left of its row, underlined in the colour of its group.
 * @param {Held} grid @param {number} row @param {Layout} layout
 * @returns {Shape}
 */
export function drawWord(grid, row, layout) {
  const word = grid.words[row], compact = layout.density === "compact";
  const size = layout.wordSize, weight = compact ? 500 : 600, right = layout.words - 10;
  const middle = layout.state / 2;
  const mark = word.unknown ? layout.measure("?", size) + 3 : 0;
  const room = right - (layout.numbers ? layout.numbers + 6 : 0) - mark;
  const said = fitted(visible(word.text), room, size, layout.measure, weight);
  const width = round(layout.measure(said, size, weight));
  const colour = grid.groups.get(word.group) ?? NONE;
  /** @type {Shape[]} */ const parts = [];
  // Where rows are low, every fifth has its number.
  if (layout.numbers && (!compact || layout.row > 13 || (row + 1) % 5 === 0)) {
    parts.push(label(round(layout.numbers), round(middle + 3.5), String(row + 1), { class: "soft", fill: SOFT,
      "font-size": compact ? 8.5 : 11, "text-anchor": "end" }));
  }
  const baseline = round(middle + (compact ? size * 0.34 : size * 0.22));
  parts.push(label(right - mark, baseline, said, { "font-size": size, "font-weight": weight,
    "text-anchor": "end", direction: "ltr", ...(word.unknown ? { class: "unknown", "font-style": "italic" } : {}) }));
  if (word.unknown) {
    parts.push(label(right, baseline, "?", { class: "soft", fill: SOFT, "font-size": size, "text-anchor": "end" }));
  }
  const line = compact ? { x: right + 3, y: 0.5, width: 3, height: layout.state - 1 }
    : { x: round(right - mark - width), y: baseline + 4, width, height: 3, rx: 1 };
  parts.push(shape("rect", { ...line, fill: colour }));
  return shape("g", {}, ...parts);
}

/**
 * A column's symbol, with the timestep where it is not the row's own.
 * @param {Column} column @param {number} x @param {number} y @param {number} size
 * @param {boolean} brief where there is hardly room
 */
function drawSymbol(column, x, y, size, brief = false) {
  const lowered = { "font-size": round(size * 0.62), dy: round(size * 0.2) };
  const step = column.back ? [shape("tspan", lowered, `${brief ? "" : "t"}−${column.back}`)] : [];
  return shape("text", { x, y, "font-family": SERIF, "font-style": "italic", "font-size": size },
    visible(column.symbol), ...step);
}

/**
 * A name that fits: whole, without its last word, or cut; of a submodule's path, the end.
 * @param {Column} column @param {number} width @param {Layout} layout
 */
function shortName(column, width, layout) {
  const name = visible(column.name);
  if (!column.letter) return tail(name, width, LABEL, layout.measure);
  if (layout.measure(name, LABEL) <= width) return name;
  const short = name.replace(/ \S+$/, "");
  return fitted(short, width, LABEL, layout.measure);
}

/**
 * The header: layers, symbols, names.
 * @param {Layout} layout
 * @param {(slot: number) => Record<string, string | number>} more attributes of a column's heading
 */
export function drawHeader(layout, more = () => ({})) {
  const groups = layout.groups.flatMap(({ name, x, width }) => {
    const line = shape("line", { class: "rule", x1: x, x2: x + width - 4, y1: 20.5, y2: 20.5, stroke: RULE });
    const fits = layout.measure(name, 11) <= width + 6;
    return fits ? [label(x, 14, name, { class: "soft", fill: SOFT, "font-size": 11 }), line] : [line];
  });
  const small = layout.density === "compact";
  const columns = layout.slots.map((slot, k) => {
    const { column, x, width } = slot;
    /** @type {Shape[]} */ const parts = [];
    const size = width < 20 ? 12 : small ? 15 : 19, y = small ? 37 : 40;
    const named = layout.naming === "names" || (layout.naming === "both" && !small);
    if (column.letter && layout.naming !== "names") parts.push(drawSymbol(column, x, y, size, width < 28));
    // A submodule's output has no symbol but its name, which is told once.
    if (!column.letter && !named) parts.push(label(x, y, shortName(column, width - 2, layout), { "font-size": LABEL }));
    if (layout.slanted) {
      const at = `rotate(-48 ${x + 6} ${layout.header - 6})`;
      parts.push(label(x + 6, layout.header - 6, shortName(column, 74, layout),
        { class: "soft", fill: SOFT, "font-size": LABEL, transform: at }));
    } else if (named) {
      parts.push(label(x, layout.naming === "names" ? 36 : 54, shortName(column, width - 9, layout),
        { class: "soft", fill: SOFT, "font-size": LABEL }));
    }
    return shape("g", more(k), ...parts);
  });
  const surprisal = layout.surprisal ? [label(layout.surprisal.x, small ? 37 : 40, "bits",
    { class: "soft", fill: SOFT, "font-size": LABEL }),
  label(layout.surprisal.x, 14, "came", { class: "soft", fill: SOFT, "font-size": 11 })] : [];
  return shape("g", {}, ...rules(layout, layout.header, 4), ...groups, ...columns, ...surprisal);
}

/** A ring around a state. @param {Slot} slot @param {Layout} layout @param {string} kind */
export function drawRing(slot, layout, kind) {
  const compact = layout.density === "compact", out = compact ? 0.5 : 3.5;
  const width = compact ? layout.mark : slot.width - 8;
  return shape("rect", { class: `ring ${kind}`, x: slot.x - out, y: -out, width: round(width + 2 * out),
    height: layout.state + 2 * out, rx: compact ? 2 : 6, fill: "none", stroke: INK });
}

/** What every drawing's text looks like. */
export function textStyle() {
  return { "font-family": FONT, "font-size": LABEL, fill: INK };
}

/** @param {number} value */
export function round(value) {
  return Math.round(value * 100) / 100;
}
