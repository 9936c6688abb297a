import assert from "node:assert/strict";
import { test } from "node:test";
import { numbersOf } from "../../../src/rnnlens/page/web/frame/memory.js";

test("the numbers of a memory are told with what they are of", () => {
  const told = { norm: [3, 4], rank: [1, 2], half_life: [1.234, 10, null], lasting: 2, asked: null };
  assert.equal(numbersOf(told), "norm 5; effective rank 1.5, a mean over 2 heads; half-life 1.23 to ∞ words of 2 heads, median 10");
  assert.match(numbersOf({ ...told, lasting: 300 }), /half-life 1\.23 to ∞ words of the middle four fifths of 300 units, median 10$/);
  assert.match(numbersOf({ ...told, half_life: [10, 10, 10] }), /half-life 10 words$/);
  assert.equal(numbersOf({ norm: [2], rank: [], half_life: null, lasting: 0, asked: null }), "norm 2");
});
