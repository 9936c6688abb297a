import assert from "node:assert/strict";
import { test } from "node:test";
import { hold } from "../../../src/rnnlens/page/web/base/held.js";
import { changeOf, drawChanged } from "../../../src/rnnlens/page/web/grid/changed.js";
import { drawRow } from "../../../src/rnnlens/page/web/grid/draw.js";
import { all, laidOut } from "../drawing.js";
import { grid, IDS, pair } from "../sample.js";

const given = grid("we said so");
const change = (bits) => ({ bits, before: ["said", 0.5], now: 0.25 });
const held = hold({ ...given, edits: ["c1@2=0"], changes: given.rows.map((_, row) => IDS.map((id) => change(row && id === "c1" ? 0.5 : 0))) }, null);
const layout = laidOut(held);
const slot = (id) => layout.slots.find((one) => one.column.id === id);

test("an edited state is marked, also where it is the cell of the row before, and no other", () => {
  const marked = (row) => layout.slots.filter((one) => changeOf(held, row, one).edited).map((one) => one.column.id);
  assert.deepEqual([0, 1, 2].map(marked), [[], ["c1"], ["c1@-1"]]);
  assert.equal(all(drawRow(held, 1, layout, () => ""), "path", "edited corner").length, 1);
});

test("the mark is as tall as the state lies far from before, and nothing stands where nothing changed", () => {
  const [group] = drawChanged(changeOf(held, 1, slot("c1")), layout), [bar] = all(group, "rect", "changed");
  assert.equal(bar.attributes.height, layout.state / 2);
  assert.deepEqual(drawChanged(changeOf(held, 1, slot("h1")), layout), []);
  assert.equal(changeOf(held, 1, slot("c1")).said, "changed by you, 0.50 bits from before: \u201csaid\u201d 50% before, 25% now");
  assert.equal(changeOf(held, 0, slot("c1")).said, "");
  const cells = all(drawRow(held, 1, layout, (k) => `s${k}`), "g", "state").map((one) => one.attributes["aria-label"]);
  assert.equal(cells.filter((told) => /changed by you, 0\.50 bits/.test(told)).length, 1);
});

test("of two texts, how far apart states are is drawn once, on the second's line, and told on both", () => {
  const two = hold(pair(), null), out = laidOut(two), at = { column: two.columns[0], index: 0 };
  const bars = two.lines.map((_, row) => all(drawRow(two, row, out, () => ""), "rect", "changed").length > 0);
  assert.deepEqual(bars, [false, false, true, false, true, false, true, false, false]);
  assert.match(changeOf(two, 3, at).said, /^0\.40 bits from the second text, where it says \u201csaid\u201d 50%$/);
  assert.match(changeOf(two, 4, at).said, /^0\.40 bits from the first text/);
  assert.equal(changeOf(two, 8, at).said, "", "nothing stands beside the last word");
});
