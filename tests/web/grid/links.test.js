import assert from "node:assert/strict";
import { test } from "node:test";
import { hold } from "../../../src/rnnlens/page/web/base/held.js";
import { drawHeader, drawRow } from "../../../src/rnnlens/page/web/grid/draw.js";
import { placeAt, rowAt, slotsAt, topOf } from "../../../src/rnnlens/page/web/grid/layout.js";
import { drawLinks } from "../../../src/rnnlens/page/web/grid/links.js";
import { all, laidOut, texts } from "../drawing.js";
import { grid, sourceAndTarget } from "../sample.js";

const held = hold(sourceAndTarget(), null), layout = laidOut(held);

test("the target stands below its source, with columns of its own under a header of its own", () => {
  assert.equal(layout.below, 3);
  assert.deepEqual(slotsAt(layout, 0).map(({ column }) => column.id), ["x", "c1"]);
  assert.deepEqual(slotsAt(layout, 3).map(({ column }) => column.id), ["l1", "s1", "h1", "y"]);
  assert.equal(slotsAt(layout, 3)[0].x, slotsAt(layout, 0)[0].x);
  assert.deepEqual([layout.groups[0].name, layout.groups.at(-1).name], ["input", "model"]);
  assert.equal(texts(drawHeader(layout)).filter((text) => text === "c").length, 1);
  assert.equal(texts(drawHeader(layout, () => ({}), false)).filter((text) => text === "c").length, 0);
  assert.equal(all(drawRow(held, 0, layout, () => ""), "g", "state").length, 2);
  assert.equal(all(drawRow(held, 3, layout, () => ""), "g", "state").length, 4);
});

test("rows are found again where they stand", () => {
  for (let row = 0; row < 5; row++) assert.equal(rowAt(layout, topOf(layout, row) + layout.state / 2), row);
  assert.equal(rowAt(layout, topOf(layout, 3) - layout.header / 2), 3); // its header
  const slot = slotsAt(layout, 3)[1];
  assert.deepEqual(placeAt(layout, layout.words + slot.x + 5, topOf(layout, 3) + 5, 5), { column: "s1", row: 3 });
  const above = slotsAt(layout, 1)[1];
  assert.deepEqual(placeAt(layout, layout.words + above.x + 5, topOf(layout, 1) + 5, 5), { column: "c1", row: 1 });
});

test("links are as wide as there is attention, and end at their words", () => {
  const [drawn] = drawLinks(held, 4, layout), links = all(drawn, "path", "link");
  assert.deepEqual(links.map((one) => one.attributes["stroke-width"]), [4.5, 2, 1.5]);
  assert.deepEqual(texts(drawn), ["70%", "20%", "10%"]);
  const middle = topOf(layout, 0) + 3 + layout.state / 2;
  assert.ok(links[0].attributes.d.endsWith(` ${middle}`));
  assert.deepEqual(drawLinks(hold(grid(), null), 1, laidOut(hold(grid(), null))), []);
});
