// Which rows of a grid that is at hand are those of another text, too.

const NONE = 1e9; // a row that no text has

/**
 * The first row whose states or whose wanted labels are not those of `previous`; `shift` says how many words after a
 * row's own the label is that it is asked about.
 * @param {number[]} ids @param {number[]} previous @param {number} shift
 */
export function firstNew(ids, previous, shift) {
  const shorter = Math.min(ids.length, previous.length);
  let same = 0;
  while (same < shorter && ids[same] === previous[same]) same++;
  if (same === ids.length && same === previous.length) return same;
  return Math.max(0, same - Math.max(1, shift)); // rows that ask about the first other word
}

/**
 * The first row that some edits change otherwise than others do.
 * @template {{step: number, toString(): string}} E
 * @param {readonly E[]} edits @param {readonly E[]} others
 */
export function firstOther(edits, others) {
  const [ours, theirs] = [edits, others].map((some) => some.map(String));
  let steps = [...edits.filter((edit) => !theirs.includes(String(edit))), ...others.filter((edit) => !ours.includes(String(edit)))];
  if (!steps.length && ours.join("\n") !== theirs.join("\n")) steps = [...edits]; // in another order
  return steps.reduce((least, { step }) => Math.min(least, step), NONE);
}
