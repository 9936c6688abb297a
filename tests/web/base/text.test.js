import assert from "node:assert/strict";
import { test } from "node:test";
import { estimate, fitted, tail } from "../../../src/rnnlens/page/web/base/text.js";

test("text is cut to its width, whole characters at a time", () => {
  assert.equal(fitted("government", 100, 10, estimate), "government");
  assert.equal(fitted("government", 34, 10, estimate), "gover…");
  assert.equal(fitted("\u{1f600}\u{1f600}\u{1f600}\u{1f600}", 17, 10, estimate), "\u{1f600}\u{1f600}…");
  assert.equal(fitted("abc", 1, 10, estimate), "…");
});

test("dotted names are cut in front, where they are alike, and stay apart", () => {
  const names = [0, 1, 2].map((k) => `backbone.encoder.layers.${k}`);
  const cut = (letters) => names.map((name) => tail(name, letters * 5.5 + 0.1, 10, estimate));
  const ending = (start) => [0, 1, 2].map((k) => `${start}${k}`);
  assert.deepEqual(cut(25), names);
  assert.deepEqual(cut(24), ending("…encoder.layers."));
  assert.deepEqual(cut(16), ending("…layers."));
  assert.deepEqual(cut(9), ending("…layers."));
  assert.deepEqual(cut(8), ending("…"));
  assert.equal(tail("encoder.projection", 6 * 5.5, 10, estimate), "…ction");
  assert.equal(tail("\u{1f600}\u{1f600}\u{1f600}\u{1f600}", 17, 10, estimate), "…\u{1f600}\u{1f600}");
  assert.equal(tail("abc", 1, 10, estimate), "…");
});
