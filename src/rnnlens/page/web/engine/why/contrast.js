// Two sets of labels that stand against each other in what a state says.

import { repr } from "../../base/python.js";
import { refusal } from "../../base/refusal.js";
import { numberOf } from "../labels.js";

/** Labels and those against them; of several the mean of their logits counts. */
export class Contrast {
  /**
   * A contrast of labels by name; a side without any is the most probable label that does not stand on the other, given a
   * state's distribution.
   * @param {readonly string[]} labels @param {readonly string[]} against @param {ArrayLike<number>} distribution
   * @param {readonly string[]} names
   */
  constructor(labels, against, distribution, names) {
    const sides = [labels, against].map((side) => [...new Set(side)].map((label) => numberOf(label, names)));
    const both = sides[0].filter((number) => sides[1].includes(number));
    if (both.length) throw refusal("against_itself", { label: repr(names[Math.min(...both)]) });
    for (const side of sides) {
      if (side.length) continue;
      const first = mostProbable(distribution, new Set(sides.flat()));
      if (first !== null) side.push(first);
    }
    if (!sides.every((side) => side.length)) throw refusal("one_label");
    this.labels = sides[0].map((number) => names[number]);
    this.against = sides[1].map((number) => names[number]);
    /** The numbers of all labels of both sides. */
    this.every = sides.flat();
    /** What the logits of `every` are multiplied by, so that their sum is the contrast. */
    this.weights = sides.flatMap((side, k) => side.map(() => (k ? -1 : 1) / side.length));
  }
}

/** The first of the most probable labels that are not taken. @param {ArrayLike<number>} distribution @param {Set<number>} taken */
function mostProbable(distribution, taken) {
  /** @type {number | null} */ let best = null;
  for (let v = 0; v < distribution.length; v++) {
    if (!taken.has(v) && (best === null || distribution[v] > distribution[best])) best = v;
  }
  return best;
}
