import assert from "node:assert/strict";
import { test } from "node:test";
import { shape, toText } from "../../../src/rnnlens/page/web/base/markup.js";

test("shapes become text, attributes escaped", () => {
  assert.equal(toText(shape("text", { x: 1, "aria-label": '"<&>' }, "a<b")), '<text x="1" aria-label="&quot;&lt;&amp;&gt;">a&lt;b</text>');
  assert.equal(toText(shape("g")), "<g/>");
});
