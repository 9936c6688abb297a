// The one state that every key and every button is about: the selected one.

import { isEditable, targetOf } from "../base/edits.js";
import { lastLayer, visible, wordAfter } from "../base/format.js";
import { columnsAt, isGap, readingAt } from "../base/lines.js";
import { canAsk } from "./written.js";

/** @typedef {{place: Place, column: Column, index: number, state: State, name: string}} Subject as its row's run has it */
/** What is done with a state. @typedef {"change" | "explain" | "alike" | "follow" | "pin"} Act */

/** What a part of the network is called, with its layer. @param {Column} column @param {Column[]} columns of the same run */
export function partName(column, columns) {
  const inside = column.letter !== "" && column.layer > 0 && column.layer < lastLayer(columns);
  return [visible(column.name) + (inside ? ` ${column.layer}` : ""), ...(column.part ? [visible(column.part)] : [])].join(", ");
}

/** When a state is, in words. @param {Held} grid @param {Place} place @param {Column} column */
export function momentName(grid, { row }, column) {
  const side = grid.lines[row]?.side, word = wordAfter(grid, column, row);
  const of = !side || side === "both" ? "" : grid.sides[0].run === grid.sides[1].run ? ` in the ${side} text` : ` by ${visible(readingAt(grid, row).run)}`;
  return `${word === "the start" ? "before the first word" : `after “${word}”`}${of}`;
}

/** The selected state, where there is one. @param {Held} grid @param {View} view @returns {Subject | null} */
export function subjectOf(grid, { focus }) {
  if (!focus || isGap(grid, focus.row)) return null;
  const index = grid.columns.findIndex((column) => column.id === focus.column);
  const columns = columnsAt(grid, focus.row), column = columns[index], state = grid.rows[focus.row]?.[index];
  return column && state ? { place: focus, column, index, state, name: `${partName(column, columns)} ${momentName(grid, focus, column)}` } : null;
}

/**
 * Why something cannot be done with a state; "": it can.
 * @param {Act} act @param {Held} grid @param {Subject} subject @param {boolean} indexed whether states of a corpus are known
 */
export function whyNot(act, grid, { place, column, state }, indexed) {
  if (act === "pin") return "";
  if (state.unread) return "No word was read into this state yet";
  if (act === "change" && !targetOf(grid, place)) {
    return isEditable(column) ? "Nothing was read here that could be changed" : "The prediction cannot be changed: nothing goes on from it";
  }
  if (act === "explain" && !canAsk(column)) return "Only memories, what is read of them, outputs and the prediction are told by the words that wrote them";
  if (act === "alike" && column.letter === "y") return "The prediction is what the states say, and is no state itself";
  if (act === "alike" && !indexed) return "There is no index of a corpus for this network: rnnlens index makes one";
  return "";
}
