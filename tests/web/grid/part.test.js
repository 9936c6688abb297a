import assert from "node:assert/strict";
import { test } from "node:test";

import { boxes, parseKinds, parseRows, spanText } from "../../../src/rnnlens/page/web/grid/part.js";
import { column } from "../sample.js";

const columns = [["x", 0], ["l1", 1], ["h1", 1], ["l2", 2], ["h2", 2], ["y", 3]].map(([id, layer]) =>
  column(String(id), { layer }));

test("rows are typed as on the command line", () => {
  assert.deepEqual(parseRows("", 3), [0, 1, 2]);
  assert.deepEqual(parseRows(" 7-8, 2", 9), [1, 6, 7]);
  assert.deepEqual(parseRows("8-", 9), [7, 8]);
  for (const wrong of ["0", "8-7", "10", "a", "1,,2", "-3"]) assert.equal(parseRows(wrong, 9), null, wrong);
  assert.equal(spanText(6, 7), "7-8");
  assert.equal(spanText(6, 6), "7");
});

test("kinds are typed as on the command line", () => {
  const ids = (/** @type {string} */ typed) => parseKinds(typed, columns, columns.slice(1))?.map((column) => column.id);
  assert.deepEqual(ids(""), ["l1", "h1", "l2", "h2", "y"]);
  assert.deepEqual(ids("h2, layer1"), ["l1", "h1", "h2"]);
  assert.deepEqual(ids("l, y"), ["l1", "l2", "y"]);
  assert.equal(ids("layer3"), undefined); // the prediction is no layer
  assert.equal(ids("q"), undefined);
});

test("a box for each run of rows and of columns", () => {
  const slots = columns.map((column, k) => ({ column, index: k, x: 50 * k, width: 50 }));
  const layout = /** @type {any} */ ({ slots, words: 100, row: 20, splits: [2], split: 7 });
  const found = boxes(layout, [0, 1, 4], new Set(["l1", "h1", "y"]));
  assert.deepEqual(found.map((box) => [box.left, box.width]), [[145, 100], [345, 50], [145, 100], [345, 50]]);
  assert.deepEqual(found.map((box) => [box.top, box.height]), [[-1, 39], [-1, 39], [86, 19], [86, 19]]);
});
