import assert from "node:assert/strict";
import { test } from "node:test";
import { hold } from "../../../src/rnnlens/page/web/base/held.js";
import { brief, numberOf } from "../../../src/rnnlens/page/web/base/memories.js";
import { drawHeader, drawRow } from "../../../src/rnnlens/page/web/grid/draw.js";
import { fullOf } from "../../../src/rnnlens/page/web/grid/memorycell.js";
import { plainView } from "../../../src/rnnlens/page/web/net/address.js";
import { all, laidOut, texts } from "../drawing.js";
import { grid as sample } from "../sample.js";

/** @param {number} norm @param {number | null} life @returns {import("../../../src/rnnlens/page/web/base/schema.d.ts").MemoryTold} */
const told = (norm, life) => ({ norm: [norm, 0], rank: [1, 2], half_life: [1, life, null],
  asked: { word: "b", read: "r1", labels: [["said", 0.98], ["it", 0.01]], seen: null, agree: 3, contexts: 5 } });

/** A grid whose third column is a memory that is a matrix. */
function held() {
  const made = sample("we said so");
  made.columns[2].letter = "S";
  return hold(made, null);
}

/** What is drawn of a row and above it, where the memory is such a one. @param {Partial<View>} view @param {ReturnType<typeof told> | null} memory */
function drawn(view, memory) {
  const grid = held(), whole = /** @type {View} */ ({ ...plainView(), kinds: "all", ...view }), layout = laidOut(grid, whole, { width: 3000, height: 800 });
  const cells = { which: whole.asked ? null : whole.memories, full: () => 8, of: () => memory };
  const row = drawRow(grid, 1, layout, (k) => `at${k}`, { scale: null, here: null, after: [], turns: null, cells });
  const others = all(row, "g", "state").filter((one) => !("data-told" in one.attributes)), [cell] = all(row, "g", "state").filter((one) => "data-told" in one.attributes);
  return { others, cell, heads: texts(drawHeader(layout)) };
}

test("a number stands over a bar that is as long as it is of the largest in its column", () => {
  const { cell, others, heads } = drawn({ memories: "norm" }, told(4, 10));
  assert.ok(heads.includes("norm"));
  assert.equal(others.length, 10); // which are as they were
  assert.deepEqual(texts(cell), ["4"]);
  assert.match(cell.attributes["aria-label"], /; norm 4$/);
  const [track] = all(cell, "rect", "track"), [bar] = all(cell, "rect", "bits");
  assert.ok(Math.abs(bar.attributes.width / track.attributes.width - 0.5) < 0.01);
});

test("labels that a memory answers with stand in its cell, and are told", () => {
  const { cell, heads } = drawn({ asked: "b", memories: "norm" }, told(4, 10));
  assert.ok(heads.includes("asked by b"));
  assert.match(cell.attributes["aria-label"], /; asked by b: said 98%, it 1.0%$/);
  assert.deepEqual(texts(cell).filter((text) => /[a-z]/.test(text)), ["said", "it"]);
});

test("while it is on its way a cell is empty, and without a choice it says what its probe says", () => {
  assert.deepEqual(texts(drawn({ memories: "norm" }, null).cell), []);
  const { cell, others } = drawn({}, told(4, 10));
  assert.deepEqual([cell, others.length], [undefined, 11]);
});

test("what has no end is written so and fills its bar; the scale goes by what has one", () => {
  assert.equal(numberOf(told(3, null), "half_life"), Infinity);
  assert.equal(brief(Infinity), "∞");
  assert.equal(brief(284123), "284K");
  assert.equal(fullOf([told(3, null), null, told(3, 20)], "half_life"), 20);
  assert.equal(fullOf([told(3, null)], "half_life"), 1);
  assert.equal(fullOf([told(0, 1)], "norm"), 1);
});
