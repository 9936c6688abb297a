import assert from "node:assert/strict";
import { test } from "node:test";
import { hold } from "../../../src/rnnlens/page/web/base/held.js";
import { laneNames } from "../../../src/rnnlens/page/web/base/lanes.js";
import { drawRow, drawWord } from "../../../src/rnnlens/page/web/grid/draw.js";
import { distinct } from "../../../src/rnnlens/page/web/grid/lanes.js";
import { placeAt, rowAt, topOf } from "../../../src/rnnlens/page/web/grid/layout.js";
import { plainView } from "../../../src/rnnlens/page/web/net/address.js";
import { all, compact, laidOut, texts } from "../drawing.js";
import { pair } from "../sample.js";

const two = () => hold(pair(), null), RED = /** @type {any} */ ({ sides: [{ run: "a" }, { run: "b" }] });

test("a lane is called by its run, by the words that differ first, or by its edits", () => {
  const held = two(), same = held.lines.map((line, row) => ({ ...held.words[row], text: line.row === null ? "" : "so" }));
  assert.deepEqual(laneNames({ ...held, ...RED }), ["a", "b"]);
  assert.deepEqual(laneNames(held), ["said", "ran"]);
  const gap = { ...held, lines: held.lines.map((line, row) => (row === 4 ? { ...line, row: null } : line)) };
  assert.deepEqual(laneNames(gap), ["said", "without said"]);
  const edited = (edits) => laneNames({ ...held, words: same.slice(0, 7), lines: held.lines.slice(0, 7), edits });
  assert.deepEqual(edited(["h1@2:2=0"]), ["before", "edited"]);
  assert.deepEqual(edited(["h1@1:2=0"]), ["edited", "without edits"]);
  assert.deepEqual(edited(["h1@2=0"]), ["first", "second"]);
});

test("a name that is cut ends otherwise than the one it begins as", () => {
  const cut = (most) => (text) => (text.length <= most ? text : `${text.slice(0, most - 1)}…`);
  assert.equal(distinct("brackets-rglru", "brackets", cut(20)), "brackets-rglru");
  assert.equal(distinct("brackets-rglru", "brackets", cut(7)), "…rglru");
  assert.equal(distinct("brackets-rglru", "brackets", cut(5)), "rglru");
  assert.equal(distinct("brackets", "brackets-rglru", cut(5)), "brac…"); // of which nothing is left
  assert.equal(distinct("a-long-name", "another", cut(5)), "a-lo…"); // which begin otherwise
});

test("the names of two runs have room, unless the page is narrow", () => {
  const [first, second] = pair().sides, runs = { ...pair(), sides: [first, { ...second, run: "a-run-of-a-long-name" }] }, held = hold(/** @type {any} */ (runs), null);
  const named = (layout) => held.lines.flatMap((_, row) => texts(drawWord(held, row, layout)));
  assert.ok(named(laidOut(held)).includes("a-run-of-a-long-name"));
  const narrow = laidOut(held, plainView(), { width: 390, height: 700 });
  assert.ok(narrow.words < 0.3 * 390, "where there is little, it is the states'");
  const cut = held.lines.flatMap((_, row) => all(drawWord(held, row, narrow), "text", "lane second")).find((one) => one.children.length > 1);
  assert.equal(cut?.children[1].children[0], "a-run-of-a-long-name", "told whole where one points at it");
});

test("each row has the lane of its reading, thick, and the other one thin; common rows have none", () => {
  const held = two(), layout = laidOut(held);
  const widths = (row) => ["first", "second"].map((side) => all(drawWord(held, row, layout), "rect", `lane ${side}`).map((one) => one.attributes.width).filter((width) => width < 5));
  assert.deepEqual(widths(0), [[], []]);
  assert.deepEqual(widths(3), [[3], [1]]);
  assert.deepEqual(widths(4), [[1], [3]]);
  assert.ok(texts(drawWord(held, 1, layout)).includes("said"), "named where it begins");
  assert.ok(!texts(drawWord(held, 5, layout)).includes("said"), "and only there");
});

test("where texts part every state says how probable either next word is, or that one is unknown", () => {
  const held = two(), layout = laidOut(held);
  const pairs = all(drawRow(held, 1, layout, () => ""), "g", "then"), asked = layout.slots.filter(({ column }) => !column.back);
  assert.equal(pairs.length, asked.length);
  for (const one of pairs) assert.deepEqual(texts(one).map((text) => text.replace("%", "")).slice(-2, -1), ["25"]);
  assert.match(JSON.stringify(pairs[0]), /said 25%, ran \(unknown\)/);
  assert.ok(texts(drawWord(held, 1, layout)).includes("ran"));
  assert.equal(all(drawRow(held, 3, layout, () => ""), "g", "then").length, 0);
  assert.equal(all(drawRow(held, 1, laidOut(held, compact), () => ""), "g", "then").length, 0, "no room for numbers");
});

test("rows below the line in which texts part stand lower, and are found there", () => {
  const held = two(), layout = laidOut(held);
  assert.deepEqual(layout.splits, [1, 2]);
  assert.equal(topOf(layout, 1), layout.row);
  assert.equal(topOf(layout, 3), 3 * layout.row + 2 * layout.split);
  for (const row of held.words.keys()) {
    assert.equal(rowAt(layout, topOf(layout, row)), row);
    assert.equal(rowAt(layout, topOf(layout, row + 1) - 0.1), row);
    const { x } = layout.slots[1];
    assert.equal(placeAt(layout, layout.words + x + 2, topOf(layout, row) + 2, held.words.length)?.row, row);
  }
});
