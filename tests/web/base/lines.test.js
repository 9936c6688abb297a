import assert from "node:assert/strict";
import { test } from "node:test";
import { rowSentence } from "../../../src/rnnlens/page/web/base/format.js";
import { hold, isUnfinished } from "../../../src/rnnlens/page/web/base/held.js";
import { besideOf, columnsAt, halfTyped, isGap, joinsAt, otherName, readingAt, rowBeside, rowShowing, rowsAfter } from "../../../src/rnnlens/page/web/base/lines.js";
import { swapped } from "../../../src/rnnlens/page/web/frame/sides.js";
import { carried, keep, lives, pinOf, placeOf } from "../../../src/rnnlens/page/web/panel/pins.js";
import { grid, pair } from "../sample.js";

const one = hold(grid("we said so"), null), two = hold(pair(), null);

test("a row of one text is that row, and nothing stands beside it", () => {
  assert.deepEqual([readingAt(one, 2).row, readingAt(one, 2).text, besideOf(one), rowBeside(one, 1)], [2, "we said so", null, null]);
  assert.deepEqual([rowsAfter(one, 1, -1), rowsAfter(one, 0, -1), rowsAfter(one, 2, 1)], [[0], [], []]);
  assert.equal(rowShowing(one, { run: "tiny", text: "we said so", row: 3 }), null);
});

test("a line is a row of its text, and leads to the one before it there", () => {
  assert.deepEqual(two.lines.map((_, row) => readingAt(two, row).row), [0, 1, 1, 2, 2, 3, 3, null, 4]);
  assert.equal(readingAt(two, 4).text, "oh we ran so now");
  assert.deepEqual([rowsAfter(two, 8, -1), rowsAfter(two, 3, -1), rowsAfter(two, 1, -1), rowsAfter(two, 7, -1)], [[6], [1], [0], []]);
  assert.deepEqual([3, 4, 7, 8, 0].map((row) => rowBeside(two, row)), [4, 3, null, null, null]);
  assert.ok(isGap(two, 7) && !isGap(two, 8) && !isGap(one, 0));
});

test("a pin of a line is of its text alone, and is found again in either", () => {
  const pin = pinOf(two, { column: "h1", row: 4 });
  assert.deepEqual([pin.text, pin.row], ["oh we ran so now", 2]);
  assert.deepEqual(placeOf(pin, two), { column: "h1", row: 4 });
  assert.equal(keep(pin, two).after, "ran");
  assert.ok(!lives({ ...pin, text: "oh we left" }, two));
  const alone = hold(grid("oh we ran so now"), null);
  assert.deepEqual(placeOf(pin, alone), { column: "h1", row: 2 });
  assert.deepEqual(carried([pin], two, hold(grid("oh we ran off"), null))[0].text, "oh we ran off");
  assert.equal(carried([pin], two, one)[0].text, "oh we ran so now");
  assert.equal(placeOf({ ...pin, row: 0 }, two).row, 0, "what both begin with is of both");
});

test("lines say whose they are", () => {
  assert.match(rowSentence(two, 4), /^Second: word 3, ran: the model expects said next, 50%/);
  assert.match(rowSentence(two, 0), /^Word 1, oh/);
  assert.equal(rowSentence(two, 7), "First: no word stands here.");
  assert.equal(otherName(two, 3), "the second text");
  const runs = { ...two, sides: two.sides.map((side, k) => ({ ...side, run: ["a", "b"][k] })) };
  assert.deepEqual([besideOf(runs), otherName(runs, 3)], ["b", "b"]);
  const other = runs.columns.map((column) => ({ ...column, equation: "h = other" }));
  const described = { ...runs, sides: [runs.sides[0], { ...runs.sides[1], columns: other }] };
  assert.deepEqual([3, 4].map((row) => columnsAt(described, row)[0].equation), [runs.columns[0].equation, "h = other"]);
  assert.equal(keep(pinOf(described, { column: "h1", row: 4 }), described).column.equation, "h = other");
});

test("a word that is being typed is unfinished in both texts", () => {
  const typed = hold({ ...pair(), text: "oh we {said|ran} so" }, null), last = typed.lines.length - 1;
  const words = typed.words.map((word) => ({ ...word, unknown: true })), typing = { ...typed, words, typing: true };
  assert.deepEqual([last - 2, last - 1, last].map((row) => isUnfinished(typing, row)), [false, true, true]);
});

test("alternatives change places", () => {
  assert.equal(swapped("the {key|keys} here {is|}"), "the {keys|key} here {|is}");
});

test("braces are half typed while one is open, or the caret stands between them", () => {
  const half = (typed) => halfTyped(typed.replace("^", ""), typed.indexOf("^"));
  for (const typed of ["the {^", "the {is^", "the {is|ar^", "the {is^}", "{^}", "the {is^ on", "is|are}^", "{a|b} {c^"]) assert.ok(half(typed), typed);
  for (const typed of ["the^", "the {is|are}^", "the {is}^", "\\{^", "{a|b} c^"]) assert.ok(!half(typed), typed);
});

test("brackets of pieces go past the rows of the other text, as rnnlens/draw/look.py has them", () => {
  const rows = [["both", 0, "first"], ["both", 1, "last"], ["both", 2, "first"], ["first", 3, "inner"], ["second", 3, "last"], ["first", 4, "last"], ["second", null, ""], ["second", 4, "mark"]];
  const grid = { lines: rows.map(([side, row]) => ({ side, row })), words: rows.map(([, , piece]) => ({ piece })) };
  assert.deepEqual(rows.map((_, row) => joinsAt(grid, row)), [["first", ""], ["last", ""], ["first", "first"], ["inner", "inner"], ["inner", "last"], ["last", ""], ["", ""], ["", ""]]);
  assert.deepEqual(joinsAt({ lines: [], words: grid.words }, 3), ["inner"]);
});
