import assert from "node:assert/strict";
import { test } from "node:test";
import { flow, neighbours } from "../../../src/rnnlens/page/web/grid/flow.js";
import { column, grid, IDS, pair } from "../sample.js";

const joined = neighbours(grid());
const said = (places) => places.map(({ column, row }) => `${column}:${row}`).sort();
const rowsOf = (count) => ({ rows: Array.from({ length: count }), words: Array.from({ length: count }), lines: [] });
const around = (column, row, shown = IDS, grid = rowsOf(3)) => {
  const { feeds, fed } = flow(joined, new Set(shown), grid, { column, row });
  return [said(feeds), said(fed)];
};

test("with every column shown the flow is the edges themselves", () => {
  assert.deepEqual(around("c1", 1), [["l1:1", "s1:1"], ["c1@-1:2", "h1:1"]]);
  assert.deepEqual(around("y", 0), [["h1:0"], []]);
});

test("a column of the step before is fed by its kind one row up, and feeds its own row", () => {
  assert.deepEqual(around("c1@-1", 2), [["c1:1"], ["l1:2"]]);
  assert.deepEqual(around("c1@-1", 0), [[], ["l1:0"]]);
});

test("a source without a column of its own is the kind one row up", () => {
  assert.deepEqual(around("f1", 1), [["h1:0", "x:1"], ["l1:1"]]);
  assert.deepEqual(around("h1", 1), [["c1:1", "o1:1"], ["f1:2", "g1:2", "i1:2", "o1:2", "y:1"]]);
});

test("the first row has nothing above it, the last nothing below", () => {
  assert.deepEqual(around("f1", 0), [["x:0"], ["l1:0"]]);
  assert.deepEqual(around("h1", 2), [["c1:2", "o1:2"], ["y:2"]]);
});

test("hidden columns are walked through to the nearest shown ones", () => {
  const usual = IDS.filter((id) => !["f1", "i1", "o1", "g1"].includes(id));
  assert.deepEqual(around("s1", 1, usual), [["h1:0", "x:1"], ["c1:1"]]);
  assert.deepEqual(around("x", 1, usual), [[], ["h1:1", "l1:1", "s1:1"]]);
  const few = ["x", "c1", "y"];
  // y:2 by way of h1:1, o1:2 and h1:2, none of them shown
  assert.deepEqual(around("c1", 1, few), [["c1:0", "x:0", "x:1"], ["c1:2", "y:1", "y:2"]]);
});

test("a hidden column of the step before is walked through, too", () => {
  assert.deepEqual(around("l1", 2, ["f1", "l1", "c1"])[0], ["c1:1", "f1:2"]);
});

test("nothing shown but the prediction: the whole past is walked, and ends", () => {
  assert.deepEqual(around("y", 999, ["y"], rowsOf(1000)), [[], []]);
});

test("a layer that reads backwards comes from the row below", () => {
  const reverse = [column("x"), column("h1<", { sources: [["x", 0], ["h1<", -1]] })];
  const { feeds, fed } = flow(neighbours({ columns: reverse }), new Set(["x", "h1<"]), rowsOf(3), { column: "h1<", row: 1 });
  assert.deepEqual([said(feeds), said(fed)], [["h1<:2", "x:1"], ["h1<:0"]]);
});

test("what a kind is called says nothing of what feeds it", () => {
  const odd = [column("a@-1", { kind: "a@-1" }), column("a"), column("b", { sources: [["a@-1", 0]] })];
  const { feeds } = flow(neighbours({ columns: odd }), new Set(["a@-1", "a", "b"]), rowsOf(2), { column: "b", row: 1 });
  assert.deepEqual(said(feeds), ["a@-1:1"]);
});

test("sources named twice, or without a column, do no harm", () => {
  const odd = [column("a"), column("b", { sources: [["a", 0], ["a", 0], ["q", 0], ["q", 1]] })];
  const { feeds } = flow(neighbours({ columns: odd }), new Set(["a", "b"]), rowsOf(1), { column: "b", row: 0 });
  assert.deepEqual(said(feeds), ["a:0"]);
});

test("of two texts, a state is fed by the row above of its own text, and the last that both have feeds both", () => {
  const two = pair();
  assert.deepEqual(around("c1@-1", 4, IDS, two)[0], ["c1:2"]); // after ran comes from the second line of we
  assert.deepEqual(around("c1@-1", 8, IDS, two)[0], ["c1:6"]); // after now from the second so
  assert.deepEqual(around("c1", 0, IDS, two)[1], ["c1@-1:1", "c1@-1:2", "h1:0"]);
  assert.deepEqual(around("c1", 5, IDS, two)[1], ["h1:5"]); // the first text ends
});
