// What feeds a state and what it feeds, through columns that are not shown.

import { rowsAfter } from "../base/lines.js";

/**
 * For each column the columns beside it, and how many rows up they are.
 * @typedef {Map<string, [string, number][]>} Beside
 * @param {{columns: Pick<Column, "id" | "kind" | "back" | "sources">[]}} grid
 * @returns {{sources: Beside, targets: Beside}}
 */
export function neighbours({ columns }) {
  /** @type {Beside} */ const sources = new Map(columns.map(({ id }) => [id, []]));
  /** @type {Beside} */ const targets = new Map(columns.map(({ id }) => [id, []]));
  /** @param {string} kind @param {number} back */
  const columnOf = (kind, back) => columns.find((one) => one.kind === kind && one.back === back)?.id;
  /** @param {string | undefined} source @param {string} target @param {number} up */
  const join = (source, target, up) => {
    if (source === undefined) return; // a kind without a probe is not drawn
    sources.get(target)?.push([source, up]);
    targets.get(source)?.push([target, up]);
  };
  for (const column of columns) {
    // A column of the step before is the very state one row up; what feeds that stands there.
    if (column.back) join(columnOf(column.kind, 0), column.id, column.back);
    else {
      for (const [kind, back] of column.sources) {
        const earlier = columnOf(kind, back);
        join(earlier ?? columnOf(kind, 0), column.id, earlier === undefined ? back : 0);
      }
    }
  }
  return { sources, targets };
}

/**
 * The nearest shown states along the edges, in one direction.
 * @param {Beside} beside
 * @param {number} sign -1: towards earlier rows, 1: towards later ones
 * @param {Set<string>} shown
 * @param {Pick<Held, "rows" | "lines" | "words">} grid
 * @param {Place} from
 * @returns {Place[]}
 */
function walk(beside, sign, shown, grid, from) {
  /** @type {Place[]} */ const found = [];
  const seen = new Set([`${from.column} ${from.row}`]);
  const open = [from];
  for (let at = open.pop(); at; at = open.pop()) {
    for (const [column, up] of beside.get(at.column) ?? []) {
      for (const row of rowsAfter(grid, at.row, sign * up)) {
        const next = { column, row }, key = `${column} ${row}`;
        if (row >= grid.rows.length || seen.has(key)) continue;
        seen.add(key);
        (shown.has(column) ? found : open).push(next);
      }
    }
  }
  return found;
}

/**
 * The shown states that feed a state and that it feeds.
 * @param {{sources: Beside, targets: Beside}} joined what neighbours() gave
 * @param {Set<string>} shown ids of the columns that are drawn
 * @param {Pick<Held, "rows" | "lines" | "words">} grid
 * @param {Place} place
 * @returns {{feeds: Place[], fed: Place[]}}
 */
export function flow(joined, shown, grid, place) {
  return {
    feeds: walk(joined.sources, -1, shown, grid, place),
    fed: walk(joined.targets, 1, shown, grid, place),
  };
}
