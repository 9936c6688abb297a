import assert from "node:assert/strict";
import { test } from "node:test";
import { moved } from "../../../src/rnnlens/page/web/grid/movement.js";

test("keys move, stop at the edges, and begin where nothing is in view", () => {
  const at = { slot: 1, row: 1 }, go = (key, far = false, from = at) => moved(key, far, from, 4, 50, 10);
  assert.deepEqual(go("ArrowLeft"), { slot: 0, row: 1 });
  assert.deepEqual(go("ArrowRight", false, { slot: 3, row: 1 }), { slot: 3, row: 1 });
  assert.deepEqual(go("PageDown"), { slot: 1, row: 11 });
  assert.deepEqual(go("PageUp"), { slot: 1, row: 0 });
  assert.deepEqual(go("End"), { slot: 3, row: 1 });
  assert.deepEqual(go("Home", true), { slot: 0, row: 0 });
  assert.deepEqual(go("End", true), { slot: 3, row: 49 });
  assert.deepEqual(go("ArrowDown", false, null), { slot: 0, row: 0 });
  assert.equal(go("a"), null);
});
