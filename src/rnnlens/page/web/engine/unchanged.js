// Which rows of a grid that is at hand are those of another text, too.

/** @typedef {import("../base/edits.js").Edit} Edit */

/**
 * The first row whose states or whose wanted labels are not those of a text before. `shift` says how many words after a
 * row's own the label is that it is asked about.
 * @param {readonly number[]} ids @param {readonly number[]} previous @param {number} shift
 */
export function firstNew(ids, previous, shift) {
  const least = Math.min(ids.length, previous.length);
  let same = 0;
  while (same < least && ids[same] === previous[same]) same++;
  if (same === ids.length && same === previous.length) return same;
  return Math.max(0, same - Math.max(1, shift)); // rows that ask about the first other word
}

/** The first row that some edits change otherwise than others do. @param {readonly Edit[]} edits @param {readonly Edit[]} others */
export function firstOther(edits, others) {
  const ours = edits.map(String), theirs = others.map(String);
  const apart = [...edits.filter((edit) => !theirs.includes(String(edit))), ...others.filter((edit) => !ours.includes(String(edit)))];
  const changed = apart.length || ours.join() === theirs.join() ? apart : edits; // the same in another order
  return changed.reduce((first, { step }) => Math.min(first, step), Infinity);
}
