import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { COUNTS } from "../../../src/rnnlens/page/web/base/rules.js";
import { columnNames, hasMany, isOpen, shownColumns, turned } from "../../../src/rnnlens/page/web/base/columns.js";
import { column } from "../sample.js";

const CASES = JSON.parse(readFileSync(new URL("../../golden/columns.json", import.meta.url), "utf-8"));

for (const { about, columns, names } of CASES) {
  test(`names stand for columns as in Python: ${about}`, () => {
    const known = columnNames(columns);
    for (const [name, ids] of Object.entries(names)) assert.deepEqual(known.get(name)?.map(({ id }) => id) ?? null, ids, name);
  });
}

/** A network of so many layers, of which outputs are shown at first. @param {number} layers */
function deep(layers) {
  const inside = Array.from({ length: layers }, (_, k) => k + 1).flatMap((layer) => ["f", "c", "h"].map((letter) =>
    column(`${letter}${layer}`, { layer, shown: letter === "h", sources: letter === "f" && layer > 1 ? [[`h${layer - 1}`, 0]] : [] })));
  return { columns: [column("x"), ...inside, column("y", { layer: layers + 1, sources: [[`h${layers}`, 0]] })] };
}

const ids = (grid, kinds) => shownColumns(grid, kinds).map(({ id }) => id);

test("a layer opens into its kinds and closes to what was shown of it before", () => {
  const grid = deep(14), usual = ids(grid, null);
  assert.ok(hasMany(grid) && !hasMany(deep(12)) && grid.columns.length > COUNTS.columns_at_first);
  assert.deepEqual(usual, ["x", ...Array.from({ length: 14 }, (_, k) => `h${k + 1}`), "y"]);
  const one = turned(grid, null, 3), two = turned(grid, one, 7);
  assert.deepEqual([one, two], [["default", "layer3"], ["default", "layer3", "layer7"]]);
  assert.equal(ids(grid, two).length, usual.length + 4);
  assert.ok(isOpen(grid, two, 3) && isOpen(grid, two, 7) && !isOpen(grid, two, 4));
  assert.deepEqual(turned(grid, two, 3), ["default", "layer7"]);
  assert.equal(turned(grid, turned(grid, two, 3), 7), null);
});

test("beside a kind of every layer, layers are opened and closed, too", () => {
  const grid = deep(14), strip = ["c", "y"], open = turned(grid, strip, 2);
  assert.deepEqual(ids(grid, strip), [...Array.from({ length: 14 }, (_, k) => `c${k + 1}`), "y"]);
  assert.deepEqual(ids(grid, open).slice(0, 5), ["c1", "f2", "c2", "h2", "c3"]);
  assert.deepEqual(turned(grid, open, 2), strip);
  assert.equal(turned(grid, turned(grid, "outputs", 1), 1), "outputs");
});

test("a layer opens and closes where a kind of another is called as it is", () => {
  const grid = deep(14);
  grid.columns[1] = column("layer2", { layer: 1, shown: false });
  const open = turned(grid, null, 2);
  assert.ok(!isOpen(grid, null, 2) && isOpen(grid, open, 2) && !isOpen(grid, open, 1));
  assert.equal(turned(grid, open, 2), null);
  assert.ok(!isOpen(grid, turned(grid, "all", 2), 2) && isOpen(grid, turned(grid, "all", 2), 1));
});

test("whatever is shown, a layer that is closed keeps a column and others stay", () => {
  const grid = deep(14);
  for (const kinds of ["all", ["f2", "c2", "h2", "y"], ["layer2"], ["default", "f2", "c2"], ["f", "c", "h"]]) {
    const closed = turned(grid, kinds, 2), shown = ids(grid, closed), other = (/** @type {string} */ id) => !/^[fch]2$/.test(id);
    assert.ok(ids(grid, kinds).filter(other).every((id) => shown.includes(id)), String(kinds));
    assert.ok(shown.some((id) => /^[fch]2$/.test(id)), String(kinds));
  }
  assert.ok(!isOpen(grid, turned(grid, "all", 2), 2));
});
