import assert from "node:assert/strict";
import { test } from "node:test";
import { drawTraining, learntBy, ways } from "../../../src/rnnlens/page/web/frame/overtraining.js";
import { checkpoints, stage } from "../../../src/rnnlens/page/web/frame/runs.js";
import { all } from "../drawing.js";

const point = (epoch, own, x, h) => ({ run: `r-${epoch}`, epoch, own, semantics: { output: { x, h } } });
const points = [point(1, 400, 500, 500), point(2, 200, 499, 300), point(4, 100, 498, 110), point(8, 90, 497, 100)];
const epochs = points.map(({ epoch }) => epoch);

test("each kind has a way through the epochs, and so has the model itself", () => {
  assert.deepEqual(ways(points, "output").map(({ kind }) => kind), ["x", "h", "y"]);
  assert.deepEqual(ways(points, "output")[2].values, [400, 200, 100, 90]);
  assert.deepEqual(ways(points, "input"), []);
});

test("a kind has learnt by the epoch with nine tenths of its gain; one that gains nothing has not", () => {
  const [x, h, y] = ways(points, "output").map((way) => learntBy(way, epochs));
  assert.deepEqual([x, h, y], [null, 4, 4]);
});

test("lines fall from left to right, and no name covers another", () => {
  const drawn = drawTraining(ways(points, "output"), epochs, (kind) => ({ name: kind, symbol: kind, layer: "" }), 600);
  const lines = all(drawn, "polyline", "line").map((line) => line.attributes.points.split(" ").map((at) => at.split(",").map(Number)));
  for (const line of lines) for (let k = 1; k < line.length; k++) assert.ok(line[k][0] > line[k - 1][0] && line[k][1] >= line[k - 1][1]);
  assert.equal(all(drawn, "polyline", "line own").length, 1);
});

test("checkpoints of one training stand in their order, others do not", () => {
  const run = (id, of, epoch) => ({ id, training: of && { of, epoch, perplexity: epoch === 2 ? null : 99.4 } });
  const runs = [run("a", "a", 9), run("b", null), run("a-2", "a", 2), run("c-1", "c", 1), run("a-1", "a", 1)];
  assert.deepEqual(checkpoints(runs, runs[0]).map(({ id }) => id), ["a-1", "a-2", "a"]);
  assert.deepEqual(checkpoints(runs, runs[1]), []);
  assert.deepEqual([stage(runs[0]), stage(runs[2])], ["after epoch 9, perplexity 99", "after epoch 2"]);
});
