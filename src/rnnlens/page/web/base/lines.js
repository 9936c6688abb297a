// Lines: where two readings are compared, each line is of one of them, or of both where all is the same.

/** @typedef {import("./schema.d.ts").Line} Line */
/** @typedef {import("./schema.d.ts").Side} Side */
/** One of the readings that a grid shows, and a row of its text. @typedef {Side & {row: number | null}} Reading */
/** What is needed of a grid. @typedef {Pick<Held, "run" | "title" | "text" | "words" | "lines" | "sides">} Lined */

/** The readings that a grid shows: one or two. @param {Pick<Held, "run" | "title" | "text" | "sides">} grid @returns {Side[]} */
export function readings({ run, title, text, sides }) {
  return sides.length ? sides : [{ run, title, text, columns: [] }];
}

/** The run that reads beside the grid's own; null: none. @param {Pick<Held, "sides">} grid */
export function besideOf({ sides }) {
  return sides.length && sides[1].run !== sides[0].run ? sides[1].run : null;
}

/** @param {Line} line */
function sideNumber(line) {
  return line.side === "second" ? 1 : 0;
}

/** What a row of the grid shows: the reading, and the row of its text. @param {Lined} grid @param {number} row @returns {Reading} */
export function readingAt(grid, row) {
  const line = grid.lines[row];
  return line ? { ...grid.sides[sideNumber(line)], row: line.row } : { ...readings(grid)[0], row };
}

/** The columns of a row, as the run has them that it is of. @param {Pick<Held, "columns" | "lines" | "sides">} grid @param {number} row */
export function columnsAt(grid, row) {
  const line = grid.lines[row], own = line ? grid.sides[sideNumber(line)].columns : [];
  return own.length ? own : grid.columns;
}

/** Whether no word stands in a row of the grid. @param {Pick<Held, "lines">} grid @param {number} row */
export function isGap({ lines }, row) {
  return lines.length > 0 && lines[row]?.row === null;
}

/**
 * The row of the grid that shows a row of a text; null: it shows none such.
 * @param {Lined} grid @param {{run: string | null, text: string | null, row: number}} wanted
 * @returns {number | null}
 */
export function rowShowing(grid, wanted) {
  /** @param {Side | undefined} side */
  const is = (side) => side?.run === wanted.run && side?.text === wanted.text;
  if (!grid.lines.length) return is(readings(grid)[0]) && wanted.row < grid.words.length ? wanted.row : null;
  const found = grid.lines.findIndex((line) => line.row === wanted.row
    && (line.side === "both" ? grid.sides.some(is) : is(grid.sides[sideNumber(line)])));
  return found < 0 ? null : found;
}

/**
 * The rows of the grid that show the word so many after, or before, that of a row; none where there is none. The last
 * line of both is followed by one of each.
 * @param {Pick<Held, "lines" | "words">} grid @param {number} row @param {number} step
 * @returns {number[]}
 */
export function rowsAfter({ lines, words }, row, step) {
  const to = row + step, line = lines[row];
  if (!line) return to < 0 || to >= words.length ? [] : [to];
  if (!step) return [row];
  const { row: from } = line;
  if (from === null) return [];
  return lines.flatMap((other, k) => (other.row === from + step
    && (line.side === "both" || other.side === "both" || other.side === line.side) ? [k] : []));
}

/** The row that stands beside a row; null: none, or nothing to compare. @param {Pick<Held, "lines">} grid @param {number} row */
export function rowBeside({ lines }, row) {
  const line = lines[row];
  if (!line || line.side === "both") return null;
  const other = line.side === "first" ? row + 1 : row - 1;
  return line.row === null || lines[other].row === null ? null : other;
}

/** What the other reading is called. @param {Pick<Held, "sides" | "lines">} grid @param {number} row of this one */
export function otherName(grid, row) {
  const other = 1 - sideNumber(grid.lines[row]);
  return besideOf(grid) === null ? `the ${["first", "second"][other]} text` : grid.sides[other].run;
}

/** @typedef {"" | "first" | "inner" | "last"} Join what a row has of a bracket */

/**
 * The parts that a row has of the brackets that join the pieces of one word. Of two texts there are two, as the pieces of a word
 * of the one may have rows of the other between them, past which its bracket goes.
 * @param {Pick<Held, "lines" | "words">} grid @param {number} row @returns {Join[]}
 */
export function joinsAt(grid, row) {
  if (!grid.lines.length) return [pieceAt(grid, row)];
  const parts = /** @type {const} */ (["first", "second"]).map((side) => joinOf(grid, side, row));
  return parts[1] && !leavesBoth(grid, row) ? [parts[0], ""] : parts;
}

/** @param {Pick<Held, "words">} grid @param {number} row @returns {Join} */
function pieceAt({ words }, row) {
  const { piece } = words[row];
  return piece === "mark" || !piece ? "" : piece;
}

/** Whether a row has a word of one of two texts. @param {Pick<Held, "lines">} grid @param {"first" | "second"} side @param {number} row */
function isOf({ lines }, side, row) {
  return lines[row].row !== null && (lines[row].side === side || lines[row].side === "both");
}

/** @param {Pick<Held, "lines" | "words">} grid @param {"first" | "second"} side @param {number} row @returns {Join} */
function joinOf(grid, side, row) {
  if (isOf(grid, side, row)) return pieceAt(grid, row);
  let above = row, below = row;
  while (above >= 0 && !isOf(grid, side, above)) above--;
  while (below < grid.lines.length && !isOf(grid, side, below)) below++;
  const joined = above >= 0 && below < grid.lines.length && ["first", "inner"].includes(pieceAt(grid, above)) && ["inner", "last"].includes(pieceAt(grid, below));
  return joined ? "inner" : "";
}

/** Whether the word of the second text whose bracket a row has is not wholly in rows of both. @param {Pick<Held, "lines" | "words">} grid @param {number} row */
function leavesBoth(grid, row) {
  let first = row, last = row;
  while (first > 0 && joinOf(grid, "second", first) !== "first") first--;
  while (last < grid.lines.length - 1 && joinOf(grid, "second", last) !== "last") last++;
  return grid.lines.slice(first, last + 1).some(({ side }) => side !== "both");
}

/**
 * Whether a text that is being typed has braces that are not finished: one is open, or the caret stands inside.
 * @param {string} text @param {number} caret
 */
export function halfTyped(text, caret) {
  const bare = text.replace(/\\[{}]/g, "  "), before = bare.slice(0, caret);
  if (before.lastIndexOf("{") > before.lastIndexOf("}")) return true;
  return /[{}]/.test(bare.replace(/\{[^{}]*\}/g, ""));
}

/** Whether there is a network that could read on: of states that were recorded there is none. Grids of older files do not say. @param {Held | null} grid */
export function hasNetwork(grid) {
  return grid?.reads !== false;
}
