import assert from "node:assert/strict";
import { test } from "node:test";
import {
  followedChange, followText, followTitle, followed, fullText, odds, parseFollow, part, scaleOf } from "../../../src/rnnlens/page/web/base/follow.js";

test("labels are typed with spaces between, and a slash before those they stand against", () => {
  assert.deepEqual(parseFollow(" are  were "), { labels: ["are", "were"], against: [] });
  assert.deepEqual(parseFollow("are were / is was"), { labels: ["are", "were"], against: ["is", "was"] });
  assert.deepEqual(parseFollow("and/or", (label) => label === "and/or"), { labels: ["and/or"], against: [] });
  assert.deepEqual(parseFollow("she her/he him"), { labels: ["she", "her"], against: ["he", "him"] });
  assert.deepEqual(parseFollow("1/2 / 3/4"), { labels: ["1/2"], against: ["3/4"] });
  assert.deepEqual(parseFollow("1/2 3/4"), { labels: ["1/2", "3/4"], against: [] });
  assert.deepEqual(parseFollow("/ / ,"), { labels: ["/"], against: [","] });
  assert.deepEqual(parseFollow("are are"), { labels: ["are"], against: [] });
  assert.deepEqual(parseFollow("\u2423"), { labels: [" "], against: [] });
  assert.equal(parseFollow("  "), null);
});

for (const typed of ["are", "are were / is was", "\u2423 / a", "/ / ,"]) {
  test(`${typed} is shown as it was typed`, () => assert.equal(followText(parseFollow(typed)), typed));
}

test("what is followed is told in words", () => {
  assert.equal(followTitle({ labels: ["are", "were"], against: [] }), "probability of “are” + “were”");
  assert.equal(followTitle({ labels: ["are"], against: ["is", "was"] }), "odds of “are” against “is” + “was”");
});

// The same as tests/ask/test_follow.py has.
for (const [value, said] of [[0, "1:1"], [-0.001, "1:1"], [Math.log(2.5), "2.5:1"], [-Math.log(3), "1:3"],
  [Math.log(9.96), "10:1"], [-Math.log(87.2), "1:87"], [50, ">999:1"], [-50, "1:>999"]]) {
  test(`odds of e^${value} are ${said}`, () => assert.equal(odds(value), said));
}

test("a full width is a round number that holds all", () => {
  for (const [most, full] of [[0, 0.01], [0.011, 0.02], [0.3, 0.5], [0.2, 0.2], [0.7, 1], [1, 1]]) {
    assert.ok(Math.abs(scaleOf([0, most], false).full - full) < 1e-12, `${most} ${full}`);
  }
  for (const [ratio, full] of [[1, 2], [3, 5], [1 / 18, 20], [400, 500], [1e6, 1000]]) {
    assert.equal(fullText(scaleOf([Math.log(ratio)], true)), `${full}:1`);
  }
  assert.equal(fullText(scaleOf([0.04], false)), "5.0%");
  assert.equal(part(-9, { odds: true, full: 3 }), -1);
  assert.equal(part(0.1, { odds: false, full: 0.2 }), 0.5);
  assert.equal(followed(0.5, false), "50%");
});

test("what has changed of a followed number is told in points or as a factor", () => {
  assert.equal(followedChange(0.2, 0.1, false), "+10.0");
  assert.equal(followedChange(0.1, 0.1344, false), "−3.4");
  assert.equal(followedChange(0.1, 0.1002, false), "");
  assert.equal(followedChange(Math.log(4), Math.log(2), true), "×2.0");
  assert.equal(followedChange(1, 1.001, true), "");
});
