import assert from "node:assert/strict";
import { test } from "node:test";
import { hold } from "../../../src/rnnlens/page/web/base/held.js";
import { estimate } from "../../../src/rnnlens/page/web/base/text.js";
import { plainView } from "../../../src/rnnlens/page/web/net/address.js";
import { embeddable, fileName, savePng, standalonePage } from "../../../src/rnnlens/page/web/net/save.js";
import { grid } from "../sample.js";

test("too many words for a PNG are counted as people read them", async () => {
  const held = hold(grid(Array(1001).fill("we").join(" ")), null);
  await assert.rejects(savePng(held, plainView(), estimate), /^Error: 1,001 words are too long for a PNG/);
});

test("the page of its own holds the grid, whatever its words are", () => {
  const held = hold(grid("we </script><script>alert(1)// $& $1"), null);
  const foreign = { column: "c1", row: 0, text: "else", semantic: "output" };
  const page = standalonePage('<body><script type="application/json" id="embedded">null</script></body>', held, { ...plainView(), pins: [foreign] }, [["c1", 0, "h1", 1, 0.5]]);
  assert.equal(page.match(/<\/script>/g).length, 1);
  const inside = JSON.parse(page.slice(page.indexOf('">') + 2, page.indexOf("</script>")));
  assert.equal(inside.grid.text, held.text);
  assert.equal(inside.grid.from, 0);
  assert.deepEqual(inside.bits, [["c1", 0, "h1", 1, 0.5]]);
  assert.deepEqual(inside.view.pins, []);
  assert.throws(() => standalonePage("<body></body>", held, plainView(), []), /no place/);
});

test("embedded JSON cannot be taken for markup", () => {
  assert.equal(embeddable({ a: "<b>\u2028" }), '{"a":"\\u003cb>\\u2028"}');
});

test("files are named after their text", () => {
  assert.equal(fileName("`` We stand, in solidarity!", "svg"), "rnnlens-we-stand-in-solidarity.svg");
  assert.equal(fileName("?!", "png"), "rnnlens-grid.png");
  assert.equal(fileName("../../etc", "html"), "rnnlens-etc.html");
});
