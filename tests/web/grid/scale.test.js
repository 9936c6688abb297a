import assert from "node:assert/strict";
import { test } from "node:test";
import { amount, drawAxis, drawSeries, drawStrip, numberWords } from "../../../src/rnnlens/page/web/grid/scale.js";
import { hold } from "../../../src/rnnlens/page/web/base/held.js";
import { layOut } from "../../../src/rnnlens/page/web/grid/layout.js";
import { grid as sample, state } from "../sample.js";

const SCALE = { edges: [0, 1, 2, 4], names: ["below 1", "1 to 2", "2 or more"], calibrated: true };
const TOP = [["1 to 2", 0.5], ["below 1", 0.3], ["2 or more", 0.2]];
const measure = (/** @type {string} */ text, /** @type {number} */ size) => text.length * size * 0.5;
const VIEW = { density: "bars", kinds: null, naming: "both", bars: 3, turns: false };

function held(values = [0.5, 3, 1]) {
  const given = sample("0.5 3 1");
  return hold({ ...given, scale: SCALE, numbers: true, words: given.words.map((word, k) => ({ ...word, value: values[k] })) }, null);
}

test("numbers are short, with a real minus", () => {
  assert.deepEqual([0.123456, -2, 1234.5, 0, 1e-7, 12345678].map(amount), ["0.123", "\u22122", "1230", "0", "1.0e\u22127", "1.2e+7"]);
  assert.equal(numberWords(state(TOP, { number: [1.2034, 0.004, -0.001] }), SCALE), "1.2, 80% from 0 to 0");
  assert.equal(numberWords(state(TOP, { number: [1.2034, 0.004, -0.001] }), { ...SCALE, calibrated: false }), "1.2, 80% from 0 to 0 (not calibrated)");
});

test("bins stand in the order of the axis, as tall as they are probable", () => {
  const shapes = drawStrip(held(), SCALE, state(TOP, { number: [1.2, 0.4, 3] }), 45, { width: 90, size: 10, pitch: 15, values: false, measure });
  const bars = shapes.filter(({ attributes }) => attributes.class === "bar");
  assert.deepEqual(bars.map(({ attributes }) => attributes.x), [0, 30, 60]);
  const [below, middle, above] = bars.map(({ attributes }) => Number(attributes.height));
  assert.ok(middle > below && below > above);
});

test("on the axis areas are probabilities", () => {
  const { shapes } = drawAxis(held(), SCALE, state(TOP, { number: [1.2, 0.4, 3], wanted: ["2 or more", 0.2, 3] }), 400, measure);
  const bars = shapes.filter(({ attributes }) => attributes.class === "bar").map(({ attributes }) => attributes);
  const areas = bars.map(({ width, height }) => (Number(width) + 0.5) * Number(height));
  assert.ok(Math.abs(areas[2] / areas[1] - 0.2 / 0.5) < 0.02 && Math.abs(areas[0] / areas[1] - 0.3 / 0.5) < 0.02);
  assert.ok(JSON.stringify(shapes).includes("what came: 2 or more"));
});

test("the series is one line from row to row", () => {
  const grid = held(), layout = layOut(grid, /** @type {any} */ (VIEW), { width: 1200, height: 600 }, measure);
  assert.ok(layout.series);
  const lines = grid.words.map((_, row) => drawSeries(grid, row, layout).filter(({ tag }) => tag === "line").map(({ attributes }) => attributes));
  assert.deepEqual(lines.map((some) => some.length), [1, 2, 1]);
  assert.ok(Math.abs(Number(lines[0][0].x2) - Number(lines[1][0].x2)) < 0.02);
  const words = layOut(hold(sample("a b c"), null), /** @type {any} */ (VIEW), { width: 1200, height: 600 }, measure);
  assert.equal(words.series, null);
});
