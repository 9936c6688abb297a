import assert from "node:assert/strict";
import { test } from "node:test";
import { estimate } from "../../../src/rnnlens/page/web/base/text.js";
import { drawConfusion } from "../../../src/rnnlens/page/web/frame/confusion.js";
import { all, texts } from "../drawing.js";

test("a square for each answer that was given, the darker the larger its share of the label", () => {
  const drawn = drawConfusion({ labels: ["pos", "neg"], counts: [[3, 1], [0, 4]] }, 900, estimate);
  const squares = all(drawn, "rect", "taken").map(({ attributes }) => attributes);
  assert.deepEqual(squares.map(({ x, y }) => [(x - 96) / 26, (y - 96) / 26]), [[0, 0], [1, 0], [1, 1]]);
  assert.deepEqual(squares.map((one) => one["fill-opacity"]), [0.54, 0.24, 0.7]);
  assert.notEqual(squares[0].fill, squares[1].fill);
  assert.equal(squares[0].fill, squares[2].fill);
  assert.ok(["75", "25", "100"].every((share) => texts(drawn).includes(share)));
  assert.ok(all(drawn, "title").some((one) => one.children[0] === "\u201cpos\u201d taken for \u201cneg\u201d: 1 of 4, 25%"));
});

test("many labels have squares without names", () => {
  const labels = Array.from({ length: 200 }, (_, k) => `l${k}`);
  const drawn = drawConfusion({ labels, counts: labels.map((_, y) => labels.map((_, x) => Number(x === y))) }, 900, estimate);
  assert.equal(all(drawn, "text").length, 0);
  assert.equal(all(drawn, "rect", "taken").length, 200);
});
