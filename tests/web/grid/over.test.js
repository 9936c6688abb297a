import assert from "node:assert/strict";
import { test } from "node:test";
import { hold } from "../../../src/rnnlens/page/web/base/held.js";
import { round } from "../../../src/rnnlens/page/web/grid/bars.js";
import { drawRow } from "../../../src/rnnlens/page/web/grid/draw.js";
import { drawSurprisal, drawTurns, ranked, sourceName } from "../../../src/rnnlens/page/web/grid/over.js";
import { plainView } from "../../../src/rnnlens/page/web/net/address.js";
import { compact, laidOut, ROOM } from "../drawing.js";
import { grid, IDS } from "../sample.js";

const EDGES = [["x", "f1"], ["h1@-1", "f1"], ["f1", "l1"], ["c1@-1", "l1"], ["l1", "c1"], ["s1", "c1"], ["h1", "y"]];

/** @param {any} given @returns {any[]} every shape in it */
function all(given) {
  return typeof given === "string" ? [] : [given, ...given.children.flatMap(all)];
}

function sample() {
  const given = grid();
  return hold({ ...given, edges: EDGES }, null);
}

const turns = (/** @type {(number | null)[]} */ ...edges) => ({ edges, above: IDS.map(() => 0.5), surprisal: 3 });

test("a followed number stands instead of the bars, and a line goes on to the next row of its text", () => {
  const held = sample(), layout = laidOut(held);
  const values = (/** @type {number} */ p) => IDS.map(() => p);
  const below = (/** @type {number} */ many, /** @type {boolean} */ second) => ({ numbers: values(0), below: many, second });
  const over = { scale: { odds: false, full: 0.5 }, here: values(0.25), after: [below(1, false), below(2, true)], turns: null };
  const row = drawRow(held, 1, layout, (k) => `s${k}`, over), shapes = all(row);
  assert.equal(shapes.filter((one) => one.attributes.class === "bar").length, 0);
  const numbers = shapes.filter((one) => one.attributes.class === "number").map((one) => one.children[0]);
  assert.deepEqual(numbers, layout.slots.map(() => "25%"));
  const lines = shapes.filter((one) => one.tag === "polyline").slice(0, 2); // of both texts, which part here
  const ends = lines.map((one) => one.attributes.points.split(" ").map((/** @type {string} */ point) => Number(point.split(",")[1])));
  assert.deepEqual(ends.map(([from, to]) => round((to - from) / layout.row)), [1, 2]);
  assert.deepEqual(lines.map((one) => "stroke-dasharray" in one.attributes), [false, true]);
  const last = all(drawRow(held, 1, layout, () => "", { ...over, after: [{ numbers: null, below: 1, second: false }] }));
  assert.equal(last.filter((one) => one.tag === "polyline").length, 0); // what comes next is not known yet
  const said = shapes.find((one) => one.attributes.id === "s0").attributes["aria-label"];
  assert.match(said, /; followed 25%$/);
});

test("odds are drawn to either side of the middle", () => {
  const held = sample(), layout = laidOut(held);
  const at = (/** @type {number} */ value) => {
    const over = { scale: { odds: true, full: 1 }, here: IDS.map(() => value), after: [], turns: null };
    return all(drawRow(held, 0, layout, () => "", over)).find((one) => one.tag === "circle").attributes.cx;
  };
  assert.ok(at(-1) < at(0) && at(0) < at(1));
  assert.ok(Math.abs(at(0) - at(-1) - (at(1) - at(0))) < 0.02);
});

test("compact states are shaded by what is followed", () => {
  const held = sample(), layout = laidOut(held, compact);
  const fill = (/** @type {number[] | null} */ here) => all(drawRow(held, 0, layout, () => "", { scale: { odds: true, full: 1 },
    here, after: [], turns: null })).find((one) => one.attributes.class === "mark").attributes;
  assert.equal(fill(IDS.map(() => 0.5))["fill-opacity"], 0.5);
  assert.notEqual(fill(IDS.map(() => 0.5)).fill, fill(IDS.map(() => -0.5)).fill);
  assert.equal(fill(null).fill, "none");
});

test("a state has a mark for each state that feeds it and for the row above", () => {
  const held = sample(), layout = laidOut(held, { ...plainView(), turns: true });
  const slot = layout.slots.find((one) => one.column.id === "c1");
  const drawn = all(drawTurns(held, turns(0.1, 0.2, 0.3, null, 0.5, 0.05, 0.01), slot, layout)[0]);
  const lengths = drawn.filter((one) => one.attributes.class === "turn").map((one) => one.attributes.width);
  assert.deepEqual(lengths, [0.5, 0.05].map((bits) => round(bits * layout.mark)));
  assert.equal(drawn.find((one) => one.attributes.class === "turn above").attributes.width, 0.5 * layout.mark);
  assert.match(drawn.find((one) => one.tag === "title").children[0], /0\.50 bits from l1\n0\.05 bits from s1\n0\.50 bits from the row above/);
});

test("turns between columns that are shown are ranked", () => {
  const held = sample(), rows = [turns(0.9, null, 0.9, 0.3, 0.5, 0.05, 0.01), turns(0.9, 0.9, 0.9, 0.6, 0.2, 0.1, 0.02), null];
  const shown = new Set(["x", "c1@-1", "l1", "s1", "c1", "h1", "y"]);
  const list = ranked(held, (row) => rows[row], shown);
  assert.deepEqual(list[0], { source: "c1@-1", target: "l1", row: 1, bits: 0.6 });
  assert.equal(list.length, 8);
  assert.ok(list.every(({ source }) => source !== "f1"));
  assert.equal(ranked(held, (row) => rows[row], new Set(["h1", "f1"])).length, 1); // h1 one row up is h1
  assert.equal(sourceName("c1@-1"), "c1₋₁");
});

test("the surprisal of what came stands beside the prediction, where turns are shown", () => {
  const held = sample();
  held.rows[0][IDS.length - 1].wanted = ["said", 0.125, 2];
  assert.deepEqual(drawSurprisal(held, 0, laidOut(held)), []);
  const layout = laidOut(held, { ...plainView(), turns: true });
  assert.ok(layout.words + layout.width <= ROOM.width);
  const [drawn] = drawSurprisal(held, 0, layout);
  assert.ok(all(drawn).some((one) => one.children.includes("3.0")));
  assert.deepEqual(drawSurprisal(held, 1, layout), []);
});
