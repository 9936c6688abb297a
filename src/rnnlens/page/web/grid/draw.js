// Drawing a grid as shapes. Python decides every number and colour; here they are only placed.

import { followed, followedChange } from "../base/follow.js";
import { describe, columnName, groupName, lastLayer, offHere, visible, wordAfter } from "../base/format.js";
import { isUnfinished } from "../base/held.js";
import { joinsAt, readingAt } from "../base/lines.js";
import { shape } from "../base/markup.js";
import { FONT, SERIF, fitted, tail } from "../base/text.js";
import { changeOf, drawChanged } from "./changed.js";
import { drawBars, INK, label, LABEL, NONE, round, SOFT } from "./bars.js";
import { drawLanes, drawNextPair, drawNextWords, LANES, thenHeight } from "./lanes.js";
import { AFTER, BEFORE, linksWidth, topOf } from "./layout.js";
import { drawMemory, memoryWords } from "./memorycell.js";
import { drawFollowed, drawSurprisal, drawTurns, followedFill } from "./over.js";
import { drawSeries, drawStrip, numberWords } from "./scale.js";

const RULE = "#d9d9d3";
const SHADE = [3, 7, 12]; // how far the shade reaches of a column that others slide under, in steps

/**
 * A state: its rectangle and, where there is room for them, its bars.
 * @param {Held} grid @param {State} state @param {Slot} slot @param {Layout} layout
 * @param {Record<string, string | number>} more
 * @param {Over | null} over what takes the place of the bars, and marks upon the rectangle
 * @param {Shape[]} editing what edits did to it
 * @returns {Shape}
 */
export function drawState(grid, state, slot, layout, more = {}, over = null, editing = []) {
  const compact = layout.density === "compact";
  if (state.unread) return drawHatched(slot, layout, more, state.top.length ? ["nothing", "read yet"] : []);
  if (slot.told) return drawMemory(grid, slot, layout, more, over?.cells ?? null, [...(over?.turns ? drawTurns(grid, over.turns, slot, layout) : []), ...editing]);
  const colour = { fill: state.colour, "--group": grid.groups.get(state.group) ?? NONE, "--share": state.share };
  const mark = shape("rect", { class: "mark", width: layout.mark, height: layout.state,
    rx: compact ? 2 : 3, stroke: "#000", "stroke-opacity": 0.1,
    ...(over?.scale && compact ? followedFill(over, slot) : colour) });
  const rival = state.rival !== null && !over?.scale ? [drawRival(layout.mark, layout.state, grid.groups.get(state.rival) ?? NONE)] : [];
  const turns = [...rival, ...(over?.turns ? drawTurns(grid, over.turns, slot, layout) : []), ...editing];
  if (state.outside && !over?.scale) return drawHatched(slot, layout, { ...more, "data-outside": "" }, ["outside what", "the probe", "has seen"], turns);
  if (slot.column.silent && !over?.scale) return drawHatched(slot, layout, { ...more, "data-silent": "" }, ["says", "nothing"], turns);
  const place = { class: "state", transform: `translate(${slot.x} 0)`, ...more };
  if (compact) return shape("g", place, mark, ...turns);
  if (over?.scale) return shape("g", place, mark, ...turns, ...drawFollowed(over, slot, layout));
  const x = round(layout.mark + BEFORE * layout.scale), width = round(slot.width - x - AFTER * layout.scale);
  const look = { width, size: layout.label, pitch: layout.pitch, values: layout.values, short: true, off: offHere(slot.column, state) !== null, measure: layout.measure };
  const inside = grid.scale ? drawStrip(grid, grid.scale, state, layout.state, look) : drawBars(grid, state, layout.bars, look);
  const bars = shape("svg", { x, width, height: layout.state, "aria-hidden": "true" }, ...inside);
  return shape("g", place, mark, ...turns, bars);
}

/** The corner of a rectangle, in the colour of a group that is close to the leading one. @param {number} width @param {number} height @param {string} colour */
export function drawRival(width, height, colour) {
  const side = round(Math.min(7, width * 0.6, height * 0.6)), [x, y] = [round(width - side), round(height - side)];
  return shape("path", { class: "rival", d: `M${width} ${y}V${height}H${x}Z`, fill: colour });
}

/** @param {Layout} layout @param {number} height @param {number} top */
function rules(layout, height, top = 0, source = false) {
  const groups = layout.groups.filter((group) => !layout.below || group.source === source), gap = layout.density === "compact" ? 8 : 11;
  const open = groups.filter((group) => group.open).map(({ x, width }) => shape("rect", { class: "opened", x: x - 6.5, y: top, width: width + gap, height: height - top,
    fill: RULE, "fill-opacity": 0.35 }));
  return [...open, ...groups.filter((group) => group.apart).map((group) => shape("line", { class: "rule", x1: group.x - 6.5, x2: group.x - 6.5,
    y1: top, y2: height, stroke: RULE }))];
}

/**
 * What belongs to the prediction's column, which stays in sight where there are more columns than fit: on a ground of
 * its own, moved as far as `--over` says.
 * @param {Layout} layout @param {number} height @param {number} top @param {Shape[]} inside
 */
function inSight({ own, width }, height, top, ...inside) {
  const x = (own?.x ?? 0) - 7, paper = { class: "paper", x, y: top, width: width - x + 12, height: height - top, fill: "none" };
  const line = { class: "rule edge", x1: x + 0.5, x2: x + 0.5, y1: top, y2: height, stroke: "none" };
  const shade = SHADE.map((width) => shape("rect", { class: "shade", x: x - width, y: top, width, height, fill: "none" }));
  return shape("g", { class: "insight" }, ...shade, shape("rect", paper), shape("line", line), ...inside);
}

/** What a followed number was before the edits, where it was another. @param {Over} over @param {number} index */
function wasFollowed({ scale, here, unedited }, index) {
  const other = scale && here && unedited && followedChange(here[index], unedited[index], scale.odds);
  return other ? `, was ${followed(unedited[index], scale.odds)}` : "";
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
  const last = lastLayer(grid.columns), between = layout.state - layout.row;
  const lower = over && { ...over, after: over.after.map((one) => ({ ...one, below: (topOf(layout, row + one.below) - topOf(layout, row)) / layout.row })) };
  const drawn = !states ? [] : layout.slots.flatMap((slot, k) => {
    const { column } = slot, state = states[slot.index];
    if (!state) return []; // on its way
    const named = id(k);
    const changed = changeOf(grid, row, slot);
    const words = slot.told ? memoryWords(grid, slot, over?.cells ?? null) : "";
    const told = slot.told ? words && `; ${words}` : over?.scale && over.here && !state.unread ? `; followed ${followed(over.here[slot.index], over.scale.odds)}${wasFollowed(over, slot.index)}` : "";
    const said = named ? { id: named, role: "gridcell", "aria-colindex": k + 2, "aria-label":
      describe(grid, state, columnName(column, last), wordAfter(grid, column, row), layout.bars, numberWords(state, grid.scale), column.silent) + told + (changed.said && `; ${changed.said}`) } : {};
    const made = drawState(grid, state, slot, layout, said, lower, drawChanged(changed, layout)), then = drawNextPair(grid, row, slot, layout);
    return slot !== layout.own ? [made, ...then]
      : [inSight(layout, layout.row + thenHeight(layout, row), between / 2, made, ...then, ...drawSurprisal(grid, row, layout))];
  });
  // Never above its own row, whose words would be struck through while columns are scrolled beneath them.
  const first = !row || row === layout.below;
  return shape("g", {}, ...rules(layout, layout.row + thenHeight(layout, row), first ? between : 0, row < layout.below), ...drawn);
}

/**
 * A word at the left of its row, underlined in the colour of its group, where words have one.
 * @param {Held} grid @param {number} row @param {Layout} layout
 * @returns {Shape}
 */
export function drawWord(grid, row, layout) {
  const word = grid.words[row], compact = layout.density === "compact";
  const size = layout.wordSize, weight = compact ? 500 : 600, right = layout.words - 10;
  const middle = layout.state / 2;
  const sign = isUnfinished(grid, row) ? "…" : word.unknown ? "?" : "";
  const mark = sign ? layout.measure(sign, size) + (sign === "?" ? 3 : 0) : 0;
  const room = right - (layout.numbers ? layout.numbers + 6 : 0) - mark - (layout.series ? layout.series.width + 12 : 0)
    - (grid.lines.length ? LANES : 0) - linksWidth(grid);
  const said = fitted(visible(word.text), room, size, layout.measure, weight);
  const width = round(layout.measure(said, size, weight));
  const colour = word.group === null ? null : grid.groups.get(word.group) ?? NONE;
  /** @type {Shape[]} */ const parts = [...drawLanes(grid, row, layout), ...drawNextWords(grid, row, layout)];
  const { row: number } = readingAt(grid, row), small = compact ? 8.5 : round(11 * layout.scale);
  const brackets = drawBrackets(grid, row, layout, right + (compact ? 7.5 : 4.5), middle);
  if (number === null) return shape("g", {}, ...parts, ...brackets);
  // Where rows are low, every fifth has its number.
  if (layout.numbers && (!compact || layout.row > 13 || (number + 1) % 5 === 0)) {
    parts.push(label(round(layout.numbers), round(middle + small * 0.32), String(number + 1), { class: "soft", fill: SOFT,
      "font-size": small, "text-anchor": "end" }));
  }
  const baseline = round(middle + (compact ? size * 0.34 : size * 0.22));
  const face = sign === "?" ? { class: "unknown", "font-style": "italic" } : word.piece === "mark" ? { class: "soft", fill: SOFT, "font-style": "italic" } : {};
  parts.push(label(right - mark, baseline, said, { "font-size": size, "font-weight": word.piece === "mark" ? 400 : weight,
    "text-anchor": "end", direction: "ltr", ...face }), ...brackets);
  if (sign) {
    parts.push(label(right, baseline, sign, { class: "soft", fill: SOFT, "font-size": size, "text-anchor": "end" }));
  }
  const line = compact ? { x: right + 3, y: 0.5, width: 3, height: layout.state - 1 }
    : { x: round(right - mark - width), y: round(baseline + size * 0.3), width, height: round(size * 0.2), rx: 1 };
  if (colour) parts.push(shape("rect", { ...line, fill: colour }));
  return shape("g", {}, ...drawSeries(grid, row, layout), ...parts);
}

/**
 * Parts of the brackets that join the pieces of one word: each begins beside the first, and ends beside the last; of two texts
 * either has its own.
 * @param {Held} grid @param {number} row @param {Layout} layout @param {number} at @param {number} middle @returns {Shape[]}
 */
function drawBrackets(grid, row, layout, at, middle) {
  return joinsAt(grid, row).flatMap((part, lane) => {
    if (!part) return [];
    const x = at + 2.5 * lane, top = part === "first" ? middle : 0, bottom = part === "last" ? middle : layout.row + thenHeight(layout, row);
    const end = part === "inner" ? "" : `M${round(x - 2.5)} ${round(middle)}H${x}`;
    return [shape("path", { class: "soft piece", d: `${end}M${x} ${round(top)}V${round(bottom)}`, fill: "none", stroke: SOFT, "stroke-width": 1.2 })];
  });
}

/**
 * The same as an element of its row, for the screen.
 * @typedef {{share: number, said: string}} Part of a word in what a state says: -1 to 1, and in words
 * @param {Held} grid @param {number} row @param {Layout} layout @param {Part | null} part
 */
export function drawRowHead(grid, row, layout, part = null) {
  const word = grid.words[row], gap = readingAt(grid, row).row === null, half = isUnfinished(grid, row);
  const name = gap ? "no word" : visible(word.text), read = word.unknown ? `, unknown: read as ${visible(word.label)}` : "";
  const title = gap ? "no word of this text stands here" : half ? `${name}…, not finished yet` : `${name}${word.group === null ? "" : `, ${groupName(word.group)}`}${read}`;
  const said = name + (half ? ", not finished" : word.unknown ? ", unknown word" : "");
  const shade = !part ? [] : [shape("rect", { class: `part ${part.share < 0 ? "against" : "for"}`, width: layout.words - 6,
    height: layout.state, rx: 4, "fill-opacity": round(0.35 * Math.abs(part.share)) })];
  const told = part ? `, ${part.said}` : "";
  return drawing(layout.words, layout.row + thenHeight(layout, row), { class: "word", role: "rowheader", "aria-label": said + told },
    shape("title", {}, title + told), ...shade, drawWord(grid, row, layout));
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
  if (!column.letter) return tail(name, width, layout.label, layout.measure);
  if (layout.measure(name, layout.label) <= width) return name;
  const short = name.replace(/ \S+$/, "");
  return fitted(short, width, layout.label, layout.measure);
}

/**
 * The header: layers, symbols, names; of a pair, that of either side.
 * @param {Layout} layout
 * @param {(slot: number) => Record<string, string | number>} more attributes of a column's heading
 * @param {boolean} source
 */
export function drawHeader(layout, more = () => ({}), source = layout.below > 0) {
  const groups = layout.groups.filter((group) => !layout.below || group.source === source).flatMap(({ name: whole, layer, x, width, open }) => {
    const room = width + (open === null ? 6 : -6), fits = (/** @type {string} */ text) => layout.measure(text, 11) <= room;
    // Where there is no room for more, the number of a layer that can be opened.
    const name = open === null ? whole : [`${open ? "▾" : "▸"} ${whole}`, whole].find(fits) ?? String(layer);
    const size = open === null || fits(name) ? 11 : 9;
    const line = shape("line", { class: "rule", x1: x, x2: x + width - 4, y1: 20.5, y2: 20.5, stroke: RULE });
    // Its name stays in sight while some of its columns do.
    const stays = { "--from": `${x}px`, "--room": `${Math.max(0, round(width - layout.measure(name, 11) - 14))}px` };
    return fits(name) || size < 11 ? [shape("g", { "data-layer": layer }, label(x, 14, name, { class: "soft layername", fill: SOFT, "font-size": size, ...stays })), line] : [line];
  });
  const small = layout.density === "compact", { scale } = layout;
  const named = { class: "soft", fill: SOFT, "font-size": layout.label };
  const surprisal = !layout.surprisal ? [] : [label(layout.surprisal.x, 14, "came", { ...named, "font-size": 11 }),
    label(layout.surprisal.x, round(22 + (small ? 15 : 18) * scale), "bits", named)];
  const columns = layout.slots.flatMap((slot, k) => {
    const { column, x, width } = slot;
    if (layout.below && slot.source !== source) return [];
    /** @type {Shape[]} */ const parts = [];
    const size = width < 20 ? 12 : small ? 15 : round(19 * scale), y = round(22 + (small ? 15 : 18) * scale);
    const names = layout.naming === "names" || (layout.naming === "both" && !small);
    if (column.letter && layout.naming !== "names") parts.push(drawSymbol(column, x, y, size, width < 28));
    // A submodule's output has no symbol but its name, which is told once.
    if (!column.letter && !names) parts.push(label(x, y, shortName(column, width - 2, layout), { "font-size": layout.label }));
    if (layout.slanted) {
      const at = `rotate(-48 ${x + 6} ${layout.header - 6})`;
      parts.push(label(x + 6, layout.header - 6, slot.told || shortName(column, 74, layout),
        { ...named, transform: at }));
    } else if (names) {
      parts.push(label(x, round(22 + (layout.naming === "names" ? 14 : 32) * scale), slot.told ? fitted(slot.told, width - 9, layout.label, layout.measure) : shortName(column, width - 9, layout),
        slot.told ? { ...named, "font-weight": 600 } : named));
    }
    const made = shape("g", more(k), ...parts);
    return [slot === layout.own ? inSight(layout, layout.header, 0, made, ...surprisal) : made];
  });
  return shape("g", {}, ...rules(layout, layout.header, 4, source), ...groups, ...columns);
}

/** A ring around a state. @param {Slot} slot @param {Layout} layout @param {string} kind */
export function drawRing(slot, layout, kind) {
  const compact = layout.density === "compact", out = compact ? 0.5 : 3.5;
  const width = compact ? layout.mark : slot.width - 8;
  return shape("rect", { class: `ring ${kind}`, x: slot.x - out, y: -out, width: round(width + 2 * out),
    height: layout.state + 2 * out, rx: compact ? 2 : 6, fill: "none", stroke: INK });
}

/**
 * From a state of an earlier row to one that reads it, in the coordinates of the latter's row: through the gaps between
 * states, so that it strikes through none.
 * @param {Slot} from @param {Slot} to @param {number} rise from the row of the one to that of the other @param {Layout} layout
 * @param {number} split how high what stands under the one is: the next words, where texts part, which it passes on their left
 */
export function drawArrow(from, to, rise, layout, split = 0) {
  const gap = layout.row - layout.state, below = round(layout.state + split + gap / 2 - rise), above = round(-gap / 2), top = -3.5;
  const end = to.x + layout.mark / 2, beside = (/** @type {Slot} */ slot) => round(slot.x - AFTER * layout.scale / 2 - 1);
  const out = split ? `M${round(from.x - 3.5)} ${round(layout.state - rise - 6)}H${beside(from)}` : `M${round(from.x + layout.mark / 2)} ${round(layout.state - rise + 3.5)}`;
  const way = Math.abs(below - above) < 1 ? "" : `H${beside(to)}V${above}`; // past the rows between them
  return shape("g", { class: "ring arrow", fill: "none", stroke: INK },
    shape("path", { d: `${out}V${below}${way}H${round(end)}V${top - 3}` }),
    shape("path", { class: "tip", d: `M${round(end - 3.2)} ${top - 4}h6.4l-3.2 5z`, fill: INK, stroke: "none" }));
}

/**
 * A drawing for the screen.
 * @param {number} width @param {number} height @param {Record<string, string | number>} more @param {Shape[]} inside
 */
export function drawing(width, height, more, ...inside) {
  return shape("svg", { width, height, overflow: "visible", ...textStyle(), ...more }, ...inside);
}

/** What every drawing's text looks like. */
export function textStyle() {
  return { "font-family": FONT, "font-size": LABEL, fill: INK };
}

const HATCH = 5; // pixels from one slanted line to the next

/**
 * A state whose prediction means nothing, and why, as far as there is room for it.
 * @param {Slot} slot @param {Layout} layout @param {Record<string, string | number>} more @param {string[]} why @param {Shape[]} upon it
 */
function drawHatched(slot, layout, more, why, upon = []) {
  const width = layout.mark, height = layout.state, compact = layout.density === "compact";
  const strokes = Array.from({ length: Math.floor((width + height) / HATCH) }, (_, k) => {
    const reach = (k + 1) * HATCH, low = Math.min(reach, height), right = Math.min(reach, width);
    return `M${reach - low} ${low}L${right} ${reach - right}`;
  });
  const x = round(width + (BEFORE + 1) * layout.scale), size = layout.label;
  const lines = compact ? [] : why.slice(0, Math.max(1, Math.floor((height / size - 1) / 1.25) + 1));
  const said = lines.map((line, k) => label(x, round(size + k * size * 1.25), fitted(line, slot.width - x - 4, size, layout.measure), { class: "soft", fill: NONE, "font-size": size }));
  return shape("g", { class: "state", transform: `translate(${slot.x} 0)`, ...more },
    shape("rect", { class: "mark", width, height, rx: compact ? 2 : 3, fill: "none", stroke: NONE, "stroke-opacity": 0.4,
      "--dusk": "none" }),
    shape("path", { class: "hatch", d: strokes.join(""), fill: "none", stroke: NONE, "stroke-width": 0.8 }), ...upon, ...said);
}
