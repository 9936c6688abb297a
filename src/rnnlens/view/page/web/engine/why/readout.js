// The linear map from a state to the model's own logits.

/** @typedef {import("../network.js").Network} Network */

/** What the logit of a label is of the state that the prediction is made of. @param {Network} network @param {number} label */
export function readoutRow({ maps, machine }, label) {
  const { floats } = machine;
  let weights = Float64Array.of(1), constant = 0, first = label; // the row of the last map; of those before, all
  for (const { weight, bias } of [...maps].reverse()) {
    const below = new Float64Array(weight.columns);
    weights.forEach((x, row) => {
      const at = weight.at + (first + row) * weight.stride;
      constant += x * (bias?.[first + row] ?? 0);
      for (let k = 0; k < weight.columns; k++) below[k] += x * floats[at + k];
    });
    [weights, first] = [below, 0];
  }
  return { weights, constant };
}
