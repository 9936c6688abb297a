// Pairs: a source and its target, whose words are rows one after the other, each side with columns of its own.

import { readingAt } from "./lines.js";

/** What is needed of a grid. @typedef {Pick<Held, "run" | "title" | "text" | "words" | "lines" | "sides" | "pairs">} Paired */

/** Of the reading that a row is of, where it is a pair. @param {Paired} grid @param {number} row @returns {Pair | null} */
function pairAt({ pairs, lines }, row) {
  return pairs?.[lines[row]?.side === "second" ? 1 : 0] ?? null;
}

/** How many rows are of a source, the first ones; 0: there is none. @param {Paired} grid */
export function sourceRows(grid) {
  if (!grid.pairs?.length) return 0;
  if (!grid.lines.length) return grid.pairs[0].source;
  const first = grid.lines.findIndex(({ row }, k) => row !== null && row >= (pairAt(grid, k)?.source ?? 0));
  return first < 0 ? grid.lines.length : first - (grid.lines[first - 1]?.row === null ? 1 : 0);
}

/** The columns of the source. @param {Pick<Paired, "pairs">} grid */
export function sourceColumns({ pairs }) {
  return new Set((pairs ?? []).flatMap(({ columns }) => columns));
}

/** The row of the grid that shows a word of the same text as another row. @param {Paired} grid @param {number} row @param {number} word */
function rowOf(grid, row, word) {
  if (!grid.lines.length) return word;
  const side = grid.lines[row].side;
  return grid.lines.findIndex((line) => line.row === word && (line.side === side || line.side === "both"));
}

/** How many heads the attention has, where these are told apart; else 0. @param {Pick<Paired, "pairs">} grid */
export function heads({ pairs }) {
  return Math.min(...(pairs?.length ? pairs : [null]).map((pair) => pair?.heads?.length ?? 0)); // older files have none
}

/**
 * The attention between a row and those of the other side: of a word of the target to the source, or of the target's
 * words to a word of the source; the largest first. Null: there is none. `head`: of several, which, from 1; 0: their mean.
 * @param {Paired} grid @param {number} row @param {number} head @returns {{of: string, words: number, links: [number, number][], back: boolean} | null}
 */
export function attention(grid, row, head = 0) {
  const pair = pairAt(grid, row), { row: at } = readingAt(grid, row);
  if (!pair?.attention || at === null) return null;
  const every = pair.heads?.[head - 1] ?? pair.links;
  if (at >= pair.source) {
    const links = (every[at - pair.source] ?? []).map(([word, weight]) => /** @type {[number, number]} */ ([rowOf(grid, row, word), weight]));
    return { of: pair.attention, words: pair.source, links, back: false };
  }
  const links = every.flatMap((some, k) => some.filter(([word]) => word === at)
    .map(([, weight]) => /** @type {[number, number]} */ ([rowOf(grid, row, pair.source + k), weight])));
  return { of: pair.attention, words: every.length, links: links.sort((a, b) => b[1] - a[1]), back: true };
}

/** What a side is called, with whose words it is. @param {Paired} grid @param {boolean} source */
export function sideName(grid, source) {
  if (source) return "source";
  return grid.pairs.every(({ generated }) => generated) ? "target, generated" : "target";
}
