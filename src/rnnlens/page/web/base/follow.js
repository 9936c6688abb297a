// Labels that are followed: how they are typed, told and scaled.

import { percent, visible } from "./format.js";
import { COUNTS, LISTS, NUMBERS } from "./rules.js";

/** @typedef {{odds: boolean, full: number}} Scale what a full bar stands for */

const { odds: MOST } = COUNTS; // to 1: beyond, they are drawn alike
const STEPS = [...LISTS.odds_steps, 10];

/** A label as it is typed: a space cannot be, its sign can. @param {string} typed */
function meant(typed) {
  return /^\u2423+$/.test(typed) ? " ".repeat(typed.length) : typed;
}

/**
 * What somebody typed: labels, or labels / those they stand against; she/he too, unless that is a label.
 * @param {string} typed @param {(label: string) => boolean} isLabel as far as that is known
 * @returns {Follow | null} null: nothing
 */
export function parseFollow(typed, isLabel = () => false) {
  const given = typed.split(/\s+/).filter(Boolean), joined = given.filter((word) => /^[^/]+\/[^/]+$/.test(word) && !isLabel(word));
  const apart = !given.includes("/", 1) && joined.length === 1;
  const words = apart ? given.flatMap((word) => (word === joined[0] ? word.split(/(\/)/) : [word])) : given;
  const bar = words.indexOf("/", 1); // a slash in front is a label
  const [labels, against] = bar < 0 ? [words, []] : [words.slice(0, bar), words.slice(bar + 1)];
  if (!labels.length) return null;
  return { labels: [...new Set(labels.map(meant))], against: [...new Set(against.map(meant))] };
}

/** The same the other way round. @param {Follow | null} follow */
export function followText(follow) {
  if (!follow) return "";
  const ours = follow.labels.map(visible).join(" ");
  return follow.against.length ? `${ours} / ${follow.against.map(visible).join(" ")}` : ours;
}

/** What is followed, in words. @param {Follow} follow */
export function followTitle({ labels, against }) {
  const [ours, theirs] = [labels, against].map((some) => some.map((label) => `\u201c${visible(label)}\u201d`).join(" + "));
  return against.length ? `odds of ${ours} against ${theirs}` : `probability of ${ours}`;
}

/** Odds as people read them: 3.2:1. @param {number} value their natural logarithm */
export function odds(value) {
  const ratio = Math.exp(Math.min(Math.abs(value), Math.log(MOST)));
  const said = ratio >= MOST * NUMBERS.certain ? `>${MOST - 1}`
    : ratio < 9.95 ? ratio.toFixed(1).replace(/\.0$/, "") : ratio.toFixed(0);
  return value >= 0 || said === "1" ? `${said}:1` : `1:${said}`;
}

/** @param {number} value @param {boolean} isOdds */
export function followed(value, isOdds) {
  return isOdds ? odds(value) : percent(value);
}

/**
 * How much a followed number has changed, in points of a percent or as a factor; empty: by less than can be told.
 * @param {number} now @param {number} was @param {boolean} isOdds
 */
export function followedChange(now, was, isOdds) {
  if (isOdds) {
    const factor = Math.exp(now - was), said = factor < 9.95 ? factor.toPrecision(2) : factor.toFixed(0);
    return Math.abs(now - was) < 0.005 ? "" : `×${said}`;
  }
  const points = (now - was) * 100, said = Math.abs(points).toFixed(1);
  return said === "0.0" ? "" : `${points > 0 ? "+" : "−"}${said}`;
}

/** The next 1, 2 or 5 with any number of zeros. @param {number} value @param {number} least @param {number} most */
function roundUp(value, least, most) {
  if (value >= most) return most;
  const from = Math.max(value, least), power = 10 ** Math.floor(Math.log10(from) + 1e-9);
  return power * (STEPS.find((step) => from / power <= step * (1 + 1e-9)) ?? 10);
}

/** One scale that holds all of these. @param {Iterable<number>} values @param {boolean} isOdds @returns {Scale} */
export function scaleOf(values, isOdds) {
  let most = 0;
  for (const value of values) most = Math.max(most, Math.abs(value));
  return { odds: isOdds, full: isOdds ? Math.log(roundUp(Math.exp(most), 2, MOST)) : roundUp(most, 0.01, 1) };
}

/** What a full bar stands for, in words. @param {Scale} scale */
export function fullText(scale) {
  return scale.odds ? `${Math.round(Math.exp(scale.full))}:1` : percent(scale.full);
}

/** How much of a full bar a value is, -1 to 1. @param {number} value @param {Scale} scale */
export function part(value, scale) {
  return Math.max(-1, Math.min(1, value / scale.full));
}
