import assert from "node:assert/strict";
import { test } from "node:test";
import { hold } from "../../../src/rnnlens/page/web/base/held.js";
import { estimate } from "../../../src/rnnlens/page/web/base/text.js";
import { drawTop } from "../../../src/rnnlens/page/web/panel/detail.js";
import { all } from "../drawing.js";
import { grid } from "../sample.js";

test("the panel draws twenty bars and makes bold what really came", () => {
  const top = Array.from({ length: 20 }, (_, k) => [`w${k}`, 0.2 / (k + 1)]);
  const held = hold(grid(), null), state = { ...held.rows[0][0], top, wanted: ["w3", 0.05, 4] };
  const drawn = drawTop(held, state, 208, estimate);
  assert.equal(all(drawn, "rect", "bar").length, 20);
  // On the same scale as everywhere: the track is 100%, the bar the square root.
  assert.deepEqual(all(drawn, "rect", "track").map((one) => one.attributes.width), top.map(() => 208));
  top.forEach(([, p], k) => assert.ok(Math.abs(all(drawn, "rect", "bar")[k].attributes.width - Math.max(1, 208 * Math.sqrt(p))) < 0.01));
  const bold = all(drawn, "text").filter((one) => one.attributes["font-weight"] === 700);
  assert.deepEqual(bold.map((one) => one.children[0]), ["w3"]);
});
