import assert from "node:assert/strict";
import { test } from "node:test";
import { estimate, fitted } from "../../../src/rnnlens/view/page/web/base/text.js";

test("text is cut to its width, whole characters at a time", () => {
  assert.equal(fitted("government", 100, 10, estimate), "government");
  assert.equal(fitted("government", 34, 10, estimate), "gover…");
  assert.equal(fitted("\u{1f600}\u{1f600}\u{1f600}\u{1f600}", 17, 10, estimate), "\u{1f600}\u{1f600}…");
  assert.equal(fitted("abc", 1, 10, estimate), "…");
});
