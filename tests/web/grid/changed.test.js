import assert from "node:assert/strict";
import { test } from "node:test";
import { hold } from "../../../src/rnnlens/view/page/web/base/held.js";
import { changeWords, drawEdited, editedOf } from "../../../src/rnnlens/view/page/web/grid/changed.js";
import { drawRow } from "../../../src/rnnlens/view/page/web/grid/draw.js";
import { all, laidOut } from "../drawing.js";
import { grid, IDS } from "../sample.js";

const given = grid("we said so");
const change = (bits) => ({ bits, before: ["said", 0.5], now: 0.25 });
const held = hold({ ...given, edits: ["c1@2=0"], changes: given.rows.map((_, row) => IDS.map((id) => change(row && id === "c1" ? 0.5 : 0))) }, null);
const layout = laidOut(held);
const slot = (id) => layout.slots.find((one) => one.column.id === id);

test("an edited state is marked, also where it is the cell of the row before, and no other", () => {
  const marked = (row) => layout.slots.filter((one) => editedOf(held, row, one).edited).map((one) => one.column.id);
  assert.deepEqual([0, 1, 2].map(marked), [[], ["c1"], ["c1@-1"]]);
  assert.equal(all(drawRow(held, 1, layout, () => ""), "path", "edited corner").length, 1);
});

test("the mark is as tall as the state lies far from before, and nothing stands where nothing changed", () => {
  const [group] = drawEdited(editedOf(held, 1, slot("c1")), layout), [bar] = all(group, "rect", "changed");
  assert.equal(bar.attributes.height, layout.state / 2);
  assert.deepEqual(drawEdited(editedOf(held, 1, slot("h1")), layout), []);
  assert.equal(changeWords(editedOf(held, 1, slot("c1"))), "edited, 0.50 bits from before; said was 50%, is 25%");
  assert.equal(changeWords(editedOf(held, 0, slot("c1"))), "");
  const cells = all(drawRow(held, 1, layout, (k) => `s${k}`), "g", "state").map((one) => one.attributes["aria-label"]);
  assert.equal(cells.filter((told) => /edited, 0\.50 bits/.test(told)).length, 1);
});
