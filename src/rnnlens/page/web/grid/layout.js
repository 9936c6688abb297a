// Where everything stands: sizes and positions of a grid's drawing, from the room there is.

import { lastLayer, layerName, semanticName, visible } from "../base/format.js";
import { LABEL, PITCH, round } from "./bars.js";
import { LANES } from "./lanes.js";

/** @typedef {{column: Column, index: number, x: number, width: number}} Slot */
/**
 * `own` is the prediction's column, where it stands last; `splits` are the rows after which texts part, with a line of their
 * own, `split` high, below them.
 * @typedef {{slots: Slot[], own: Slot | null, groups: {name: string, layer: number, x: number, width: number}[], density: string, splits: number[], split: number,
 *   naming: string, bars: number, row: number, state: number, mark: number, pitch: number,
 *   scale: number, label: number, values: boolean, header: number, slanted: boolean, words: number, numbers: number, wordSize: number,
 *   width: number, surprisal: {x: number, width: number} | null, measure: Measure,
 *   series: {x: number, width: number, least: number, span: number} | null}} Layout
 */

/**
 * The columns that a view shows, in the grid's order.
 * @param {Pick<Held, "columns">} grid
 * @param {View["kinds"]} kinds
 */
export function shownColumns(grid, kinds) {
  const chosen = (/** @type {Column} */ column) => {
    if (kinds === null) return column.shown;
    if (kinds === "all") return true;
    if (kinds === "outputs") return isOutput(column, grid.columns);
    return kinds.includes(column.id);
  };
  return grid.columns.filter(chosen);
}

/** What a view shows of one layer alone: the columns of it that are shown by default. @param {Pick<Held, "columns">} grid @param {number} layer */
export function layerAlone({ columns }, layer) {
  const own = columns.filter((column) => column.layer === layer), shown = own.filter((column) => column.shown);
  return (shown.length ? shown : own).map((column) => column.id);
}

/**
 * The columns whose states a view needs: those that it shows, the prediction, and those of pins; null: all.
 * @param {Held | null} grid that is drawn @param {Pick<View, "kinds" | "pins" | "edits" | "beside">} view
 */
export function neededColumns(grid, { kinds, pins, edits, beside }) {
  if (!grid || grid.answer || edits.length || beside !== null) return null;
  const needed = new Set([...shownColumns(grid, kinds), ...grid.columns.filter((column) => column.letter === "y")].map((column) => column.id));
  for (const pin of pins) needed.add(pin.column);
  return needed.size < grid.columns.length ? [...needed] : null;
}

/**
 * The input, each layer's last kind, in both directions unless these are joined, the prediction.
 * @param {Column} column @param {Column[]} all
 */
function isOutput(column, all) {
  const layer = all.filter((other) => other.layer === column.layer), joined = layer.some(({ letter }) => letter === "j");
  const beside = layer.filter((other) => other.reverse === column.reverse);
  return beside[beside.length - 1].id === column.id && !(column.reverse && joined);
}

const NARROW = 520;
const SERIES = 64; // the width of the line that numbers are drawn as
const SURPRISAL = 46; // the width of its column at the usual size, with the gap before it
const LAYERS = 22; // the height of the line with their names
const HEADING = 38; // and of that with the columns' symbols and names
const COLUMN = 72; // the width of a column whose labels have their usual size
const ROWS = [10, 14, 18]; // that stay in view while type grows, for texts of up to as many words
const LEAST = 1.15; // times the usual size, where columns are wide and words many
const LARGEST = 1.7; // times the usual size
const BETWEEN = 10; // from one state to the one below it
const VALUES = 4.2; // how wide labels need to be, in their own size, for values to stand beside them
const MARK = 12; // the width of a rectangle that has labels beside it
export const BEFORE = 4; // from a rectangle to what stands beside it
export const AFTER = 7; // and from there to the next
const SLACK = 32; // how much wider than needed words' column stays, so that a letter less moves nothing
const TALLEST = 26; // a row without bars

/** @param {number} value @param {number} low @param {number} high */
function between(value, low, high) {
  return Math.max(low, Math.min(high, value));
}

/**
 * How much larger than usual type and rows are: as the columns are wide, and so that a sentence stays in view as a
 * whole. In few steps of its length, so that sizes seldom change while it is typed.
 * @param {number} columns @param {number} bars @param {number} words @param {{width: number, height: number}} room
 */
function scaleOf(columns, bars, words, room) {
  const wide = (room.width - 150) / Math.max(1, columns) / COLUMN - 1;
  const rows = ROWS.find((count) => words <= count) ?? ROWS[ROWS.length - 1];
  const byHeight = (room.height - LAYERS - 6) / (HEADING + rows * (bars * PITCH + BETWEEN));
  // Columns grow faster than their type, so that there comes to be room for values.
  const large = Math.min(1 + 0.5 * wide, byHeight), least = Math.min(1 + 0.2 * wide, LEAST);
  return room.height ? Math.floor(between(Math.max(large, least), 1, LARGEST) * 20) / 20 : 1;
}

/**
 * @param {Held} grid @param {{compact: boolean, size: number, scale: number}} look @param {number} room
 * @param {Measure} measure @param {number} now how wide it is
 */
function wordColumn(grid, { compact, size, scale }, room, measure, now) {
  const digits = Math.max(2, String(grid.words.length).length) * (compact ? 5 : 6.3 * scale);
  const numbers = room > NARROW ? digits + 8 : 0;
  const longest = grid.words.reduce((most, word) => {
    const mark = word.unknown ? measure("?", size) + 3 : 0;
    return Math.max(most, measure(visible(word.text), size, compact ? 500 : 600) + mark);
  }, 0);
  const most = room > NARROW ? size * (compact ? 11 : 9) : room * 0.27;
  // In steps, so that the columns stand still while a word is typed; lines of two texts are joined at the left.
  const width = between(Math.ceil((longest + 14 + (grid.lines.length ? LANES : 0)) / 16) * 16, 48, most);
  const series = seriesIn(grid, numbers + 8, room);
  const needed = Math.round(width + (numbers ? numbers + 8 : 4) + (series ? series.width + 14 : 0));
  return { width: needed <= now && now <= needed + SLACK ? now : needed, size, numbers, series };
}

/**
 * Where the numbers that are read are drawn beside them: one a step as a line, several as a strip.
 * @param {Held} grid @param {number} x @param {number} room
 */
function seriesIn(grid, x, room) {
  if (room <= NARROW) return null;
  if (grid.words.some((word) => word.picture?.length)) return { x: x + 6, width: SERIES, least: 0, span: 1 };
  const values = grid.words.flatMap((word) => word.value ?? []);
  if (values.length < 2) return null;
  const least = Math.min(...values), span = Math.max(...values) - least || 1;
  return { x: x + 6, width: SERIES, least, span };
}

/**
 * Rows that show all words at once, where that is possible: low ones where there are many words.
 * @param {number} words @param {number} room
 */
function compactRow(words, room) {
  const each = Math.floor(room / Math.max(1, words));
  return each < 9 ? 11 : Math.min(TALLEST, each);
}

/**
 * Columns side by side, layers apart.
 * @param {Held} grid @param {Column[]} columns @param {number} width @param {number} gap
 */
function placed(grid, columns, width, gap) {
  const last = lastLayer(grid.columns);
  /** @type {Slot[]} */ const slots = [];
  /** @type {Layout["groups"]} */ const groups = [];
  let x = 0, layer = NaN;
  for (const column of columns) {
    if (column.layer !== layer) {
      x += gap;
      layer = column.layer;
      // The model itself is asked about the next word, whatever its states are asked about.
      const name = layer >= last && grid.semantic !== "output" && grid.follows ? semanticName("output", true, grid.numbers) : layerName(layer, last);
      groups.push({ name, layer, x, width: 0 });
    }
    slots.push({ column, index: grid.columns.indexOf(column), x, width });
    x += width;
    groups[groups.length - 1].width += width;
  }
  const end = slots[slots.length - 1];
  return { slots, groups, width: x + 2, own: end?.column.letter === "y" ? end : null };
}

/**
 * @param {Held} grid
 * @param {View} view
 * @param {{width: number, height: number, most?: number, words?: number}} room with the widest a column may be, and how
 *   wide that of words is now
 * @param {Measure} measure
 * @returns {Layout}
 */
export function layOut(grid, view, room, measure) {
  const compact = view.density === "compact";
  const columns = shownColumns(grid, view.kinds);
  const scale = compact ? 1 : scaleOf(columns.length, view.bars, grid.words.length, room);
  const low = compactRow(grid.words.length, room.height - 44);
  const size = compact ? between(low * 0.62, 10, 15) : 14 * scale;
  const word = wordColumn(grid, { compact, size, scale }, room.width, measure, room.words ?? 0);
  const layers = new Set(columns.map((column) => column.layer)).size;
  const gap = compact ? 8 : 11;
  const surprising = view.turns && grid.follows && columns[columns.length - 1]?.letter === "y";
  const surprisal = surprising ? Math.round(SURPRISAL * scale) : 0;
  const left = room.width - word.width - gap * layers - 2 - surprisal;
  const most = room.most ?? (compact ? 96 : columns.length < 5 ? 300 : 200);
  const width = between(Math.floor(left / Math.max(1, columns.length)), compact ? 13 : 66, most);
  const slanted = view.naming === "names" && width < 60;
  const header = Math.round(LAYERS + (slanted ? 62 : view.naming === "both" && !compact ? HEADING : 22) * scale);
  const pitch = round(PITCH * scale), tall = Math.round(view.bars * pitch);
  const state = compact ? compactRow(grid.words.length, room.height - header) - 1 : tall;
  const type = round(LABEL * scale), beside = MARK * scale;
  const across = placed(grid, columns, width, gap);
  return {
    ...across, surprisal: surprisal ? { x: across.width + 4, width: surprisal - 12 } : null, width: across.width + surprisal,
    density: view.density, naming: view.naming, bars: view.bars, pitch, scale,
    label: type, values: width - beside - (BEFORE + AFTER) * scale >= VALUES * type,
    row: compact ? state + 1 : state + Math.round(BETWEEN * scale), state,
    mark: compact ? width - (width > 20 ? 2 : 1) : Math.round(beside),
    splits: grid.lines.flatMap(({ then }, row) => (then ? [row] : [])), split: Math.round((compact ? 13 : 16 * scale)),
    header, slanted, words: word.width, numbers: word.numbers, series: word.series, wordSize: round(word.size), measure,
  };
}

/** Where a row begins. @param {Layout} layout @param {number} at */
export function topOf({ row, splits, split }, at) {
  return at * row + split * splits.filter((one) => one < at).length;
}

/** The row at a height; the line in which texts part belongs to the row above it. @param {Layout} layout @param {number} y */
export function rowAt({ row, splits, split }, y) {
  const above = splits.filter((one, k) => y >= (one + 1) * row + k * split), past = above.filter((one, k) => y >= (one + 1) * row + (k + 1) * split);
  return above.length > past.length ? above[above.length - 1] : Math.floor((y - past.length * split) / row);
}

const SPARE = 4; // rows drawn beyond what is in view

/**
 * The rows in view, first and one after the last, and a few around them.
 * @param {Layout} layout @param {number} words @param {number} top how far is scrolled @param {number} height
 */
export function rowsBetween(layout, words, top, height) {
  // Where something covers the end of the grid, the last rows are scrolled up to above it.
  const most = Math.max(0, topOf(layout, words) + layout.header - layout.row);
  const first = rowAt(layout, Math.min(top, most)) - SPARE;
  const count = Math.ceil(height / layout.row) + 2 * SPARE;
  return [Math.max(0, first), Math.min(words, first + count)];
}

/**
 * How far the prediction's column is moved to the left to stay in sight, where that leaves room for others.
 * @param {Layout} layout @param {number} room @param {number} scrolled
 */
export function overhang({ own, words, width }, room, scrolled) {
  return own && room > 2 * words + own.width ? Math.max(0, Math.round(words + width - room - scrolled)) : 0;
}

/**
 * How many rows are in view from one on, and the one before it; a windowful where it is not in view.
 * @param {Layout} layout @param {number} from @param {number} top @param {number} height
 */
export function rowsFrom(layout, from, top, height) {
  const { row, header } = layout, first = rowAt(layout, top), count = Math.ceil((height - header) / row) + 1;
  return from < first ? count : Math.min(count, first + count - from + 1);
}

/**
 * The state at a position in the rows; gaps belong to the nearest one.
 * @param {Layout} layout @param {number} x @param {number} y @param {number} rows
 * @param {number} over how far the prediction's column is moved to the left, to stay in sight
 */
export function placeAt(layout, x, y, rows, over = 0) {
  const row = rowAt(layout, y + (layout.row - layout.state) / 2), right = x - layout.words, { own } = layout;
  if (own && over && right > own.x - over - 7 && row >= 0 && row < rows) return { column: own.column.id, row };
  if (!layout.slots.length || right < 0 || right > layout.width + 8 || row < 0 || row >= rows) return null;
  const slot = layout.slots.find((one) => right < one.x + one.width) ?? layout.slots[layout.slots.length - 1];
  return { column: slot.column.id, row };
}
