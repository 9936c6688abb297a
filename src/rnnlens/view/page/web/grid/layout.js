// Where everything stands: sizes and positions of a grid's drawing, from the room there is.

import { lastLayer, layerName, visible } from "../base/format.js";

/** @typedef {import("../base/schema.d.ts").Column} Column */
/** @typedef {import("../base/held.js").Held} Held */
/** @typedef {import("../base/schema.d.ts").View} View */
/** @typedef {import("../base/text.js").Measure} Measure */
/** @typedef {{column: Column, index: number, x: number, width: number}} Slot */
/**
 * @typedef {{slots: Slot[], groups: {name: string, x: number, width: number}[], density: string,
 *   naming: string, bars: number, row: number, state: number, mark: number, pitch: number,
 *   header: number, slanted: boolean, words: number, numbers: number, wordSize: number,
 *   width: number, surprisal: {x: number, width: number} | null, measure: Measure}} Layout
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

/** The input, each layer's last kind, the prediction. @param {Column} column @param {Column[]} all */
function isOutput(column, all) {
  const layer = all.filter((other) => other.layer === column.layer);
  return layer[layer.length - 1].id === column.id;
}

const NARROW = 520;
const SURPRISAL = 46; // the width of its column, with the gap before it
const PITCH = 13; // from one mini bar to the next

/** @param {number} value @param {number} low @param {number} high */
function between(value, low, high) {
  return Math.max(low, Math.min(high, value));
}

/** @param {Held} grid @param {boolean} compact @param {number} room @param {Measure} measure */
function wordColumn(grid, compact, room, measure) {
  const size = compact ? 10 : 14;
  const numbers = room > NARROW ? Math.max(2, String(grid.words.length).length) * (compact ? 5 : 6.3) + 8 : 0;
  const longest = grid.words.reduce((most, word) => {
    const mark = word.unknown ? measure("?", size) + 3 : 0;
    return Math.max(most, measure(visible(word.text), size, compact ? 500 : 600) + mark);
  }, 0);
  const most = room > NARROW ? (compact ? 110 : 124) : room * 0.27;
  // In steps, so that the columns stand still while a word is typed.
  const width = between(Math.ceil((longest + 14) / 16) * 16, 48, most);
  return { width: Math.round(width + (numbers ? numbers + 8 : 4)), size, numbers };
}

/**
 * Rows as low as they need to be to show all words at once, where that is possible.
 * @param {number} words @param {number} room
 */
function compactRow(words, room) {
  const each = Math.floor(room / Math.max(1, words));
  return each < 9 ? 11 : Math.min(16, each);
}

/**
 * @param {Held} grid
 * @param {View} view
 * @param {{width: number, height: number, most?: number}} room and the widest a column may be
 * @param {Measure} measure
 * @returns {Layout}
 */
export function layOut(grid, view, room, measure) {
  const compact = view.density === "compact";
  const columns = shownColumns(grid, view.kinds);
  const word = wordColumn(grid, compact, room.width, measure);
  const last = lastLayer(grid.columns);
  const layers = new Set(columns.map((column) => column.layer)).size;
  const gap = compact ? 8 : 11;
  const surprising = view.turns && grid.follows && columns.some((column) => column.letter === "y");
  const left = room.width - word.width - gap * layers - 2 - (surprising ? SURPRISAL : 0);
  const most = room.most ?? (compact ? 64 : columns.length < 4 ? 300 : 140);
  const width = between(Math.floor(left / Math.max(1, columns.length)), compact ? 13 : 66, most);
  const slanted = view.naming === "names" && width < 60;
  const header = 22 + (slanted ? 62 : view.naming === "both" && !compact ? 38 : 22);
  /** @type {Slot[]} */ const slots = [];
  /** @type {Layout["groups"]} */ const groups = [];
  let x = 0, layer = NaN;
  for (const column of columns) {
    if (column.layer !== layer) {
      x += gap;
      layer = column.layer;
      // The model itself is asked about the next word, whatever its states are asked about.
      const name = layer >= last && grid.semantic !== "output" && grid.follows ? "next word" : layerName(layer, last);
      groups.push({ name, x, width: 0 });
    }
    slots.push({ column, index: grid.columns.indexOf(column), x, width });
    x += width;
    groups[groups.length - 1].width += width;
  }
  const state = compact ? compactRow(grid.words.length, room.height - header) - 1 : view.bars * PITCH - 1;
  return {
    slots, groups, density: view.density, naming: view.naming, bars: view.bars, pitch: PITCH,
    row: compact ? state + 1 : state + 11, state, mark: compact ? width - (width > 20 ? 2 : 1) : 15,
    header, slanted, words: word.width, numbers: word.numbers, wordSize: word.size,
    surprisal: surprising ? { x: x + 6, width: SURPRISAL - 12 } : null, width: x + 2 + (surprising ? SURPRISAL : 0),
    measure,
  };
}

/**
 * The state at a position in the rows; gaps belong to the nearest one.
 * @param {Layout} layout @param {number} x @param {number} y @param {number} rows
 */
export function placeAt(layout, x, y, rows) {
  const row = Math.floor((y + (layout.row - layout.state) / 2) / layout.row), right = x - layout.words;
  if (!layout.slots.length || right < 0 || right > layout.width + 8 || row < 0 || row >= rows) return null;
  const slot = layout.slots.find((one) => right < one.x + one.width) ?? layout.slots[layout.slots.length - 1];
  return { column: slot.column.id, row };
}
