// What two readings that are shown at once are called.

import { editsOf } from "./edits.js";

const NAMED = 3; // words of a lane's name

/**
 * What the two readings are called: runs by their names, texts by the words that differ first, one text by its edits.
 * @param {Held} grid @returns {[string, string]}
 */
export function laneNames(grid) {
  const { lines, words, sides: [a, b] } = grid;
  if (a.run !== b.run) return [a.run, b.run];
  const begin = lines.findIndex((line, row) => line.side === "first" && differs(grid, row));
  if (begin < 0) return editNames(grid);
  let end = begin;
  while (lines[end]?.side === "first" && differs(grid, end)) end += 2;
  const [first, second] = [0, 1].map((k) => {
    const some = lines.slice(begin, end).flatMap((line, at) => (at % 2 === k && line.row !== null ? [words[begin + at].text] : []));
    return some.slice(0, NAMED).join(" ") + (some.length > NAMED ? " …" : "");
  });
  return [first || `without ${second}`, second || `without ${first}`];
}

/** Whether other words stand in a row of the first and in that of the second below it. @param {Pick<Held, "lines" | "words">} grid @param {number} row */
function differs({ lines, words }, row) {
  return lines[row].row === null || lines[row + 1].row === null || words[row].text.toLowerCase() !== words[row + 1].text.toLowerCase();
}

/** @param {Held} grid @returns {[string, string]} */
function editNames(grid) {
  const [first, second] = (/** @type {const} */ (["first", "second"])).map((side) => editsOf(grid, side).length > 0);
  return first === second ? ["first", "second"] : first ? ["edited", "without edits"] : ["before", "edited"];
}
