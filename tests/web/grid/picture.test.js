import assert from "node:assert/strict";
import { test } from "node:test";
import { hold } from "../../../src/rnnlens/page/web/base/held.js";
import { toText } from "../../../src/rnnlens/page/web/base/markup.js";
import { estimate } from "../../../src/rnnlens/page/web/base/text.js";
import { drawSheet } from "../../../src/rnnlens/page/web/grid/picture.js";
import { plainView } from "../../../src/rnnlens/page/web/net/address.js";
import { all, texts } from "../drawing.js";
import { grid } from "../sample.js";

test("a saved sheet holds every row and escapes what it says", () => {
  const given = grid("we <script>alert(1)</script> \"so\" & \u0007");
  const { drawing, width, height } = drawSheet(hold(given, null), plainView(), estimate);
  const text = toText(drawing);
  assert.ok(!text.includes("<script"));
  assert.ok(text.includes("&lt;script&gt;"));
  assert.ok(text.includes("\u2407") && !text.includes("\u0007"));
  assert.equal(all(drawing, "g", "state").length, given.words.length * 7);
  assert.ok(height > given.words.length * 40 && width > 7 * 70);
  assert.ok(texts(drawing).includes("faded = groups mixed · bar = √probability, numbers in %"));
});
