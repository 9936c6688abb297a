import assert from "node:assert/strict";
import { test } from "node:test";
import { inWords } from "../../../src/rnnlens/page/web/base/format.js";
import { differing, probabilityOf } from "../../../src/rnnlens/page/web/panel/compare.js";
import { state } from "../sample.js";

const kept = (top) => ({ state: state(top) });

test("labels that differ most come first, and what is not listed is not made to differ more than it must", () => {
  const a = kept([["said", 0.6], ["we", 0.2], ["so", 0.1]]), b = kept([["we", 0.5], ["said", 0.3], ["no", 0.12]]);
  assert.deepEqual(differing([a, b], 9), ["said", "we", "no", "so"]); // 0.3, 0.3, 0.02, at least 0
  assert.deepEqual(differing([a, b], 2), ["said", "we"]);
  assert.deepEqual(probabilityOf(a, "no"), { p: 0.1, listed: false });
  assert.deepEqual(probabilityOf(b, "no"), { p: 0.12, listed: true });
});

test("every divergence has its words, in order", () => {
  const said = [0, 0.01, 0.1, 0.3, 0.6, 0.9, 1].map(inWords);
  assert.deepEqual(said, ["the same", "alike", "close", "apart", "far apart", "unlike", "unlike"]);
});
