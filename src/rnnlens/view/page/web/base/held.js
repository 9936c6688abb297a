// The words everything here speaks in. Python decides every number and colour of a grid.

/**
 * @typedef {{id: string, kind: string, back: number, layer: number, name: string, symbol: string,
 *   equation: string, shown: boolean, perplexity: number | null}} Column
 * @typedef {{text: string, label: string, unknown: boolean, group: string}} Word
 * @typedef {{colour: string, group: string, share: number, entropy: number,
 *   top: [string, number][], wanted: [string, number, number] | null}} State
 * @typedef {{format: string, version: number, run: string, title: string, text: string,
 *   follows?: boolean, semantic: string, semantics: string[], palette: string, palettes: string[],
 *   groups: Record<string, string>, columns: Column[], edges: [string, string][], words: Word[],
 *   labels: Record<string, string>, from: number, rows: State[][]}} Grid
 *
 * A grid as it is held: labels as a map, so that no label can be mistaken for anything else, and
 * rows from the first on; fewer rows than words while more are on their way.
 * @typedef {Omit<Grid, "labels" | "from" | "groups"> &
 *   {labels: Map<string, string>, groups: Map<string, string>}} Held
 *
 * @typedef {{column: string, row: number}} Place
 * A pinned state; without text or semantic it is one of the view's own.
 * @typedef {{column: string, row: number, text: string | null, semantic: string | null}} Pin
 * What a pin shows, kept when its text is no longer the one drawn.
 * @typedef {{state: State, after: string, labels: Map<string, string>}} Kept
 *
 * @typedef {{run: string | null, text: string | null, semantic: string | null,
 *   palette: string | null, density: "bars" | "compact", kinds: null | "all" | "outputs" | string[],
 *   naming: "both" | "names" | "symbols", bars: number, pins: Pin[], focus: Place | null,
 *   page: "grid" | "accuracy"}} View
 *
 * @typedef {{id: string, title: string, cell: string, labels: number, semantics: string[],
 *   palettes: string[], examples: string[], probes: boolean}} RunInfo
 * @typedef {{kind: string, perplexity: number, ratio: number, accuracy: number, kl: number,
 *   calibration: number}} Score
 * `unigrams` per semantic, where the server gives them.
 * @typedef {{run: string, title: string, own: number, unigram: number,
 *   follows?: boolean, unigrams?: Record<string, number>, semantics: Record<string, Score[]>}} Accuracy
 *
 * Jensen-Shannon divergence; `exact` is false where it is a lower bound.
 * @typedef {{bits: number, exact: boolean}} Divergence
 */

export const FORMAT = "rnnlens-grid";

/**
 * A grid as Python gave it, made ready to be held. Rows before `from` come from the one before.
 * @param {Grid} given
 * @param {Held | null} before
 * @returns {Held}
 */
export function hold(given, before) {
  const { labels, from, groups, ...rest } = given;
  const rows = before ? before.rows.slice(0, from).concat(given.rows) : given.rows;
  const known = new Map(before ? before.labels : []);
  for (const [label, group] of Object.entries(labels)) known.set(label, group);
  return { ...rest, rows, labels: known, groups: new Map(Object.entries(groups)) };
}

/**
 * The same grid as JSON that can be embedded and read again.
 * @param {Held} grid
 * @returns {Grid}
 */
export function release(grid) {
  const { labels, groups, ...rest } = grid;
  return { ...rest, from: 0, labels: Object.fromEntries(labels), groups: Object.fromEntries(groups) };
}
