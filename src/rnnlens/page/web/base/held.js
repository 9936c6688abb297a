// A grid as the page holds it. Python decides every number and colour of it.

/**
 * Labels and groups are maps, so that no name of theirs can be mistaken for anything else; rows are
 * those from the first on, fewer than words while more are on their way; a state that was not asked for is null.
 * @typedef {Omit<Grid, "labels" | "from" | "groups" | "placeholders"> &
 *   {labels: Map<string, string>, groups: Map<string, string>, placeholders: Map<string, string>, typing?: boolean}} Held
 */

/**
 * Whether a row is of a word that is being typed: the last one, which is no word yet.
 * @param {Held} grid `typing`: while its text is typed at the end @param {number} row
 */
export function isUnfinished(grid, row) {
  const end = grid.words.length - 1, both = grid.lines[end]?.side === "second" && row === end - 1;
  const last = (row === end || both) && !grid.left_out;
  return last && grid.typing === true && grid.words[row].unknown && !/\s$/.test(grid.text);
}

/**
 * A grid as Python gave it, made ready to be held. Rows before `from` come from the one before; where there are edits,
 * each row has its changes, and one that came before the edits is as it was; so have lines of two readings.
 * @param {Grid} given
 * @param {Held | null} before
 * @returns {Held}
 */
export function hold(given, before) {
  const { labels, from, groups, placeholders, ...rest } = given;
  const rows = before ? before.rows.slice(0, from).concat(given.rows) : given.rows;
  const known = new Map(before ? before.labels : []);
  for (const [label, group] of Object.entries(labels)) known.set(label, group);
  const compared = given.sides.length > 0, alike = (before?.sides.length ?? 0) > 0 === compared;
  const changes = !given.edits.length && !compared ? [] : rows.map((states, row) =>
    given.changes[row - from] ?? (alike ? before?.changes[row] : null) ?? (compared ? [] : states.map(unchanged)));
  const then = rows.map((_, row) => given.then?.[row - from] ?? (alike ? before?.then[row] : null) ?? []);
  return { ...rest, rows, changes, then: compared ? then : [], labels: known, groups: new Map(Object.entries(groups)),
    placeholders: new Map(Object.entries(placeholders)) };
}

/** A state that no edit has changed. @param {State | null} state */
function unchanged(state) {
  const before = state?.top[0] ?? /** @type {[string, number]} */ (["", 0]);
  return { bits: 0, before, now: before[1] };
}

/**
 * The same grid as JSON that can be embedded and read again.
 * @param {Held} grid
 * @returns {Grid}
 */
export function release(grid) {
  const { labels, groups, placeholders, typing: _, ...rest } = grid;
  return { ...rest, from: 0, labels: Object.fromEntries(labels), groups: Object.fromEntries(groups),
    placeholders: Object.fromEntries(placeholders) };
}
