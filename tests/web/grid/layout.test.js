import assert from "node:assert/strict";
import { test } from "node:test";
import { hold } from "../../../src/rnnlens/page/web/base/held.js";
import { neededColumns, shownColumns } from "../../../src/rnnlens/page/web/base/columns.js";
import { placeAt } from "../../../src/rnnlens/page/web/grid/layout.js";
import { plainView } from "../../../src/rnnlens/page/web/net/address.js";
import { compact, laidOut, ROOM } from "../drawing.js";
import { column, grid, IDS } from "../sample.js";

test("columns stand side by side, layers apart, and fill the room there is", () => {
  const held = hold(grid(), null), layout = laidOut(held);
  assert.deepEqual(layout.slots.map((slot) => slot.column.id), IDS.filter((id) => !/^[fiog]1$/.test(id)));
  layout.slots.slice(1).forEach((slot, k) => {
    const before = layout.slots[k], apart = slot.x - before.x - before.width;
    assert.equal(apart, slot.column.layer === before.column.layer ? 0 : 11);
  });
  assert.deepEqual(layout.groups.map((group) => group.name), ["input", "layer 1", "model"]);
  assert.ok(layout.words + layout.width <= ROOM.width);
  assert.ok(layout.words + layout.width > ROOM.width - 14);
});

test("seventeen kinds and sixty words fit one screen when compact", () => {
  const held = hold(grid(Array(60).fill("government").join(" ")), null);
  held.columns = [...held.columns.slice(0, 10), ...held.columns.slice(1, 10).map((column) => ({ ...column, layer: 2, id: `${column.id}b` })), held.columns[10]];
  const layout = laidOut(held, { ...compact, kinds: "all" }, { width: 1030, height: 660 });
  assert.equal(layout.slots.length, 20);
  assert.ok(layout.words + layout.width <= 1030);
  assert.ok(layout.header + 60 * layout.row <= 660);
  assert.ok(layout.row >= 9);
});

test("compact rows are low where there are few words, too, and as high as can be read where there are many", () => {
  const rows = (count) => laidOut(hold(grid(Array(count).fill("a").join(" ")), null), compact).row;
  assert.deepEqual([rows(1), rows(10), rows(30), rows(1000)], [26, 26, 21, 11]);
});

test("type and rows grow with the window while a sentence stays in view as a whole", () => {
  const held = (words) => hold(grid(Array(words).fill("so").join(" ")), null), room = { width: 1600, height: 980 };
  const usual = laidOut(held(3), plainView(), { width: 700, height: 620 });
  assert.deepEqual([usual.scale, usual.label, usual.values], [1, 10.5, true]);
  const scales = [1, 10, 11, 14, 15, 60].map((words) => laidOut(held(words), plainView(), room).scale);
  assert.deepEqual(scales, [...scales].sort().reverse());
  assert.ok(new Set(scales).size <= 3); // few steps
  for (const words of [10, 14]) {
    const large = laidOut(held(words), plainView(), room);
    assert.ok(large.header + words * large.row <= room.height);
    assert.ok(large.scale > 1.1 && large.label > 11.5 && large.wordSize > 15 && large.values);
  }
  assert.equal(laidOut(held(60), plainView(), { width: 700, height: 400 }).scale, 1);
});

test("many columns in a narrow window keep a width that can be read", () => {
  const layout = laidOut(hold(grid(), null), { ...plainView(), kinds: "all" }, { width: 380, height: 500 });
  assert.equal(layout.slots[0].width, 66);
  assert.ok(layout.words < 120 && !layout.values); // no room for numbers
});

test("presets choose columns", () => {
  const held = hold(grid(), null), ids = (kinds) => shownColumns(held, kinds).map((column) => column.id);
  assert.deepEqual(ids("all"), IDS);
  assert.deepEqual(ids("outputs"), ["x", "h1", "y"]);
  const back = column("h1<", { layer: 1, letter: "h", reverse: true }), joined = column("j1", { layer: 1, letter: "j" });
  const both = (/** @type {any[]} */ ...more) => shownColumns({ columns: [column("h1", { layer: 1, letter: "h" }), ...more] }, "outputs").map(({ id }) => id);
  assert.deepEqual([both(back), both(back, joined)], [["h1", "h1<"], ["j1"]]);
  assert.deepEqual(ids(["y", "x"]), ["x", "y"]);
  assert.deepEqual(ids([]), []);
});

test("a view needs what it shows, the prediction and what is pinned", () => {
  const held = hold(grid(), null), view = { kinds: ["x"], pins: [] };
  assert.deepEqual(neededColumns(held, view), ["x", "y"]);
  assert.deepEqual(neededColumns(held, { ...view, pins: [{ column: "h1", row: 0 }] }), ["x", "y", "h1"]);
  assert.equal(neededColumns(held, { ...view, kinds: "all" }), null);
  assert.equal(neededColumns({ ...held, answer: "last" }, view), null);
  assert.deepEqual(neededColumns(null, view), ["x", "y"]);
  assert.deepEqual(neededColumns(null, { ...view, kinds: null }), ["default", "y"]); // what it shows is not known yet
  assert.equal(neededColumns(null, { ...view, kinds: "all" }), null);
});

test("the state at a position: gaps belong to the nearest, and outside there is none", () => {
  const layout = laidOut(hold(grid(), null)), at = (x, y) => placeAt(layout, layout.words + x, y, 3);
  for (const { x, width, column } of layout.slots) {
    for (const row of [0, 2]) assert.deepEqual(at(x + width / 2, row * layout.row + 5), { column: column.id, row });
  }
  assert.equal(at(1, 5).column, "x");
  assert.equal(at(layout.width, layout.row - 2).row, 1);
  assert.deepEqual([at(-1, 5), at(layout.width + 20, 5), at(20, 3 * layout.row), at(20, -20)], [null, null, null, null]);
});
