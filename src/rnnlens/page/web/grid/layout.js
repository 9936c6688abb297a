// Where everything stands: sizes and positions of a grid's drawing, from the room there is.

import { lastLayer, layerName, semanticName, visible } from "../base/format.js";
import { laneNames } from "../base/lanes.js";
import { besideOf } from "../base/lines.js";
import { cellsName, isMatrix } from "../base/memories.js";
import { sourceColumns, sourceRows } from "../base/pairs.js";
import { LABEL, PITCH, round } from "./bars.js";
import { hasMany, ofLayer, shownColumns } from "../base/columns.js";
import { LANES } from "./lanes.js";

/** Of a pair, `source` says of which side it is; `told` what its cells show where that is not what a probe says. @typedef {{column: Column, index: number, x: number, width: number, source: boolean, told: string}} Slot */
/**
 * Of a layer that can be opened, `open` says whether it is; layers of one column each do not stand `apart`, where there are many.
 * `below` is the first row of a target, which has a header of its own above it; 0: there is none. `own` is the prediction's column, where it stands last; `splits` are the rows after which texts part, with a line of their
 * own, `split` high, below them.
 * @typedef {{slots: Slot[], own: Slot | null, groups: {name: string, layer: number, x: number, width: number, source: boolean, open: boolean | null, apart: boolean}[], below: number, density: string, splits: number[], split: number,
 *   naming: string, bars: number, head: number, row: number, state: number, mark: number, pitch: number,
 *   scale: number, label: number, values: boolean, header: number, slanted: boolean, words: number, numbers: number, wordSize: number,
 *   width: number, surprisal: {x: number, width: number} | null, measure: Measure,
 *   series: {x: number, width: number, least: number, span: number} | null}} Layout
 */

const NARROW = 520;
const LINKS = 34;
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
 * @param {number} columns @param {number} bars @param {number} words @param {number} heads @param {{width: number, height: number}} room
 */
function scaleOf(columns, bars, words, heads, room) {
  const wide = (room.width - 150) / Math.max(1, columns) / COLUMN - 1;
  const rows = ROWS.find((count) => words <= count) ?? ROWS[ROWS.length - 1];
  const byHeight = (room.height - LAYERS * heads - 6) / (HEADING * heads + rows * (bars * PITCH + BETWEEN));
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
  const beside = (grid.lines.length ? LANES : 0) + linksWidth(grid);
  const lanes = besideOf(grid) === null || compact || room <= NARROW ? 0 : Math.max(...laneNames(grid).map((name) => measure(visible(name), 9.5 * scale, 600))) + 22; // of runs, which have no word to be told by
  const width = between(Math.ceil(Math.max(longest + 14 + beside, lanes) / 16) * 16, 48, most + linksWidth(grid));
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

/** How wide the links of attention are, beside the words. @param {Pick<Held, "pairs">} grid */
export function linksWidth({ pairs }) {
  return pairs?.some(({ attention }) => attention) ? LINKS : 0;
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
 * Which layers stand apart from what is before them: all, but where there are many those that have several columns, and their neighbours.
 * @param {Held} grid @param {Column[]} columns that are shown @returns {Map<number, boolean>}
 */
function apart(grid, columns) {
  const last = lastLayer(grid.columns), layers = [...new Set(columns.map((column) => column.layer))];
  const single = (/** @type {number} */ layer) => layer > 0 && layer < last && columns.filter((column) => column.layer === layer).length === 1;
  return new Map(layers.map((layer, k) => [layer, !hasMany(grid) || !(single(layer) && single(layers[k - 1] ?? 0))]));
}

/**
 * Columns side by side, layers apart.
 * @param {Held} grid @param {Column[]} columns @param {number} width @param {number} gap @param {Map<number, boolean>} stands @param {string} told what cells of memories show
 */
function placed(grid, columns, width, gap, stands, told) {
  const last = lastLayer(grid.columns), many = hasMany(grid), ofSource = sourceColumns(grid);
  /** @type {Slot[]} */ const slots = [];
  /** @type {Layout["groups"]} */ const groups = [];
  let x = 0, layer = NaN, widest = 0;
  for (const column of [...columns].sort((a, b) => Number(ofSource.has(b.id)) - Number(ofSource.has(a.id)))) {
    const source = ofSource.has(column.id);
    if (source !== (slots[slots.length - 1]?.source ?? source)) [x, layer] = [0, NaN]; // the other side stands below
    if (column.layer !== layer) {
      layer = column.layer;
      const begins = !x || (stands.get(layer) ?? true);
      x += begins ? gap : 0;
      const whole = ofLayer(grid.columns, layer), shown = columns.filter((one) => one.layer === column.layer).length;
      // The model itself is asked about the next word, whatever its states are asked about.
      const part = ofSource.size && layer < last ? partName(column, columns, source ? "encoder" : "decoder") : "";
      const name = part || (layer >= last && grid.semantic !== "output" && grid.follows ? semanticName("output", true, grid.numbers) : layerName(layer, last));
      groups.push({ name, layer, x, width: 0, source, open: many && whole.length > 1 ? shown === whole.length : null, apart: begins });
    }
    slots.push({ column, index: grid.columns.indexOf(column), x, width, source, told: isMatrix(column) ? told : "" });
    x += width;
    widest = Math.max(widest, x);
    groups[groups.length - 1].width += width;
  }
  const end = slots[slots.length - 1];
  return { slots, groups, width: widest + 2, own: end?.column.letter === "y" ? end : null };
}

/** What a layer of a pair is called: by its part, and its number where there are several. @param {Column} column @param {Column[]} columns @param {string} usual */
function partName({ part, layer }, columns, usual) {
  const name = visible(part || usual), several = new Set(columns.filter((one) => one.part === part && one.layer > 0).map((one) => one.layer)).size > 1;
  return layer === 0 ? "input" : several ? `${name}, layer ${layer}` : name;
}

/** The columns of the wider side of a pair, or all. @param {Held} grid @param {Column[]} columns */
function widerSide(grid, columns) {
  const ofSource = sourceColumns(grid);
  const [one, other] = [true, false].map((side) => columns.filter(({ id }) => ofSource.has(id) === side));
  return one.length > other.length ? one : other;
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
  const columns = shownColumns(grid, view.kinds), across = widerSide(grid, columns), heads = across.length < columns.length ? 2 : 1;
  const scale = compact ? 1 : scaleOf(across.length, view.bars, grid.words.length, heads, room);
  const low = compactRow(grid.words.length, room.height - 44 * heads);
  const size = compact ? between(low * 0.62, 10, 15) : 14 * scale;
  const word = wordColumn(grid, { compact, size, scale }, room.width, measure, room.words ?? 0);
  const layers = [...apart(grid, across).values()].filter(Boolean).length;
  const gap = compact ? 8 : 11;
  const surprising = view.turns && grid.follows && columns[columns.length - 1]?.letter === "y";
  const surprisal = surprising ? Math.round(SURPRISAL * scale) : 0;
  const left = room.width - word.width - gap * layers - 2 - surprisal;
  const most = room.most ?? (compact ? 96 : across.length < 5 ? 300 : 200);
  const width = between(Math.floor(left / Math.max(1, across.length)), compact ? 13 : 66, most);
  const slanted = view.naming === "names" && width < 60;
  const header = Math.round(LAYERS + (slanted ? 62 : view.naming === "both" && !compact ? HEADING : 22) * scale);
  const pitch = round(PITCH * scale), tall = Math.round(view.bars * pitch);
  const state = compact ? compactRow(grid.words.length, room.height - header * heads) - 1 : tall;
  const type = round(LABEL * scale), beside = MARK * scale;
  const set = placed(grid, columns, width, gap, apart(grid, columns), cellsName(view));
  return {
    ...set, surprisal: surprisal ? { x: set.width + 4, width: surprisal - 12 } : null, width: set.width + surprisal,
    below: new Set(set.slots.map(({ source }) => source)).size > 1 ? sourceRows(grid) : 0,
    density: view.density, naming: view.naming, bars: view.bars, head: view.head, pitch, scale,
    label: type, values: width - beside - (BEFORE + AFTER) * scale >= VALUES * type,
    row: compact ? state + 1 : state + Math.round(BETWEEN * scale), state,
    mark: compact ? width - (width > 20 ? 2 : 1) : Math.round(beside),
    splits: grid.lines.flatMap(({ then }, row) => (then ? [row] : [])), split: Math.round((compact ? 13 : 16 * scale)),
    header, slanted, words: word.width, numbers: word.numbers, series: word.series, wordSize: round(word.size), measure,
  };
}

/** Where a row begins. @param {Layout} layout @param {number} at */
export function topOf({ row, splits, split, below, header }, at) {
  return at * row + split * splits.filter((one) => one < at).length + (below && at >= below ? header + BETWEEN : 0);
}

/** The row at a height; the line in which texts part belongs to the row above it. @param {Layout} layout @param {number} y */
export function rowAt(layout, y) {
  const { row, splits, split, below, header } = layout;
  // The header of a target belongs to its first row.
  if (below && y >= topOf(layout, below) - header - BETWEEN) y = Math.max(y, topOf(layout, below)) - header - BETWEEN;
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
  const row = rowAt(layout, y + (layout.row - layout.state) / 2), right = x - layout.words, { own } = layout, slots = slotsAt(layout, row);
  if (own && slots.includes(own) && over && right > own.x - over - 7 && row >= 0 && row < rows) return { column: own.column.id, row };
  if (!slots.length || right < 0 || right > layout.width + 8 || row < 0 || row >= rows) return null;
  const slot = slots.find((one) => right < one.x + one.width) ?? slots[slots.length - 1];
  return { column: slot.column.id, row };
}

/** The columns that have states in a row: of a pair, those of its side. @param {Layout} layout @param {number} row */
export function slotsAt({ slots, below }, row) {
  return below ? slots.filter(({ source }) => source === row < below) : slots;
}
