import assert from "node:assert/strict";
import { test } from "node:test";
import { numbersOf } from "../../../src/rnnlens/page/web/frame/memory.js";

test("the numbers of a memory are told with what they are of", () => {
  const told = { norm: [3, 4], rank: [1, 2], half_life: [1.234, 10, null], asked: null };
  assert.equal(numbersOf(told), "norm 5; effective rank 1.5, a mean over 2 heads; half-life 10 words (the median; a tenth have less than 1.23, a tenth more than ∞)");
  assert.equal(numbersOf({ norm: [2], rank: [], half_life: null, asked: null }), "norm 2");
});
