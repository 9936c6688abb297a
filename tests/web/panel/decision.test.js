import assert from "node:assert/strict";
import { test } from "node:test";
import { hold } from "../../../src/rnnlens/page/web/base/held.js";
import { estimate } from "../../../src/rnnlens/page/web/base/text.js";
import { answerOf, decidingColumns, drawLines, sinceRow, toldBy } from "../../../src/rnnlens/page/web/panel/decision.js";
import { all } from "../drawing.js";
import { grid, IDS, state } from "../sample.js";

const OWN = IDS.indexOf("y");

/** A grid whose prediction says these numbers of pos. @param {number[]} sure @param {string} answer */
function told(sure, answer = "last") {
  const made = { ...grid(sure.map((_, k) => `w${k}`).join(" ")), answer };
  made.rows = sure.map((p) => IDS.map(() => state([["pos", p], ["neg", 1 - p]].sort((a, b) => b[1] - a[1]))));
  return hold(made, null);
}

test("the answer is what is said last, or the mean where everything was read at each word", () => {
  assert.equal(answerOf(told([0.9, 0.8, 0.4])), "neg");
  assert.equal(answerOf(told([0.9, 0.8, 0.4], "mean")), "pos");
  assert.equal(answerOf(told([0.9], null)), null);
  const partly = told([0.9, 0.8]);
  assert.equal(answerOf({ ...partly, rows: partly.rows.slice(1) }), null);
});

test("a kind turns at the word from which on the label stays the most probable", () => {
  assert.equal(sinceRow(told([0.9, 0.2, 0.7, 0.8]), OWN, "pos"), 2);
  assert.equal(sinceRow(told([0.6, 0.7]), OWN, "pos"), 0);
  assert.equal(sinceRow(told([0.6, 0.3]), OWN, "pos"), null);
});

test("a line for each kind goes down the words, and the turning word is marked", () => {
  const held = told([0.25, 0.5, 0.75]), columns = [IDS.indexOf("h1"), OWN];
  const look = { answer: "pos", valueOf: toldBy(held, "pos"), shown: new Set(IDS), measure: estimate, onChoose: () => {} };
  const drawn = drawLines(held, look, columns, 1);
  const lines = all(drawn, "polyline", "sure");
  assert.equal(lines.length, 2);
  const points = lines[1].attributes.points.split(" ").map((pair) => pair.split(",").map(Number));
  assert.deepEqual(points.map(([x]) => x), [0.25, 0.5, 0.75].map((p) => 80 + p * 154));
  assert.ok(points[0][1] < points[1][1] && points[1][1] < points[2][1]);
  assert.ok(lines[1].attributes["stroke-width"] > lines[0].attributes["stroke-width"]);
  const bold = all(drawn, "text").filter((one) => one.attributes["font-weight"] === 700);
  assert.deepEqual(bold.map((one) => one.children[0]), ["w1"]);
});

test("parts that say nothing make up no mind", () => {
  const held = told([0.25, 0.5]), first = IDS.indexOf("h1");
  held.columns = held.columns.map((column, k) => ({ ...column, silent: k === first }));
  assert.deepEqual(decidingColumns(held, new Set(["h1", "y"])), [OWN]);
});

test("where a label is not among those that a state names, its line has a gap", () => {
  const held = told([0.25, 0.5]);
  held.rows[0][OWN].top = [["neg", 0.75]];
  assert.equal(toldBy(held, "pos")(0, OWN), null);
  assert.equal(toldBy(held, "pos")(1, OWN), 0.5);
});
