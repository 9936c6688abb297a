import assert from "node:assert/strict";
import { test } from "node:test";
import { estimate } from "../../../src/rnnlens/page/web/base/text.js";
import { axisEnd, baselines, close, dodged, drawAccuracy, lead, namesOf, ticks } from "../../../src/rnnlens/page/web/frame/accuracy.js";
import { all, texts } from "../drawing.js";
import { column } from "../sample.js";

test("accuracy: bars are as long as perplexities, and those past the axis are cut and say so", () => {
  const scores = [{ kind: "x", perplexity: 200 }, { kind: "l1", perplexity: 5000 }].map((one) => ({ ...one, ratio: 2, accuracy: 0.1, kl: 1, calibration: 0.01 }));
  const lines = [["the model itself", 97], ["unigram", 676]];
  const end = axisEnd(scores, [97, 676]);
  assert.equal(end, 676 * 1.08);
  const drawn = drawAccuracy(scores, lines, (kind) => ({ name: kind, symbol: kind, layer: "" }), 900, estimate);
  const bars = all(drawn, "rect", "score").map((bar) => bar.attributes.width);
  assert.ok(Math.abs(bars[0] - (200 / end) * (900 - 190 - 64)) < 0.1);
  assert.ok(Math.abs(bars[1] - (900 - 190 - 64)) < 0.1);
  assert.ok(texts(drawn).includes("5,000 (cut)"));
  const limits = all(drawn, "line", "limit");
  assert.deepEqual(limits.map((line) => line.attributes["data-name"]), ["the model itself", "unigram"]);
  assert.ok(Math.abs(limits[0].attributes.x1 - (190 + (97 / end) * (900 - 190 - 64))) < 0.1);
});

test("each semantic has its own baseline, and the model itself is compared on the next word alone", () => {
  const found = { own: 97, unigram: 676.1, unigrams: { output: 676.1, input: 741.6 } };
  assert.deepEqual(baselines(found, "output"), [["the model itself", 97], ["unigram", 676.1]]);
  assert.deepEqual(baselines(found, "input"), [["unigram", 741.6]]);
  assert.deepEqual(baselines(found, "constructor"), [["unigram", 676.1]]);
  assert.deepEqual(baselines({ own: 97, unigram: null, unigrams: {} }, "output"), [["the model itself", 97]]);
  assert.equal(lead(baselines(found, "output")), "Perplexity of the model itself 97, of guessing by frequency (unigram) 676");
  assert.equal(lead(baselines(found, "input")), "Perplexity of guessing by frequency (unigram) 742");
});

test("a baseline far beyond every bar is said to be beyond", () => {
  const scores = [{ kind: "x", perplexity: 1.5, ratio: null, accuracy: 1, kl: null, calibration: 0 }];
  const drawn = drawAccuracy(scores, [["unigram", 676]], (kind) => ({ name: kind, symbol: "", layer: "" }), 900, estimate);
  assert.ok(texts(drawn).includes("unigram 676 →"));
});

test("an axis has a few round values", () => {
  assert.deepEqual(ticks(730), [0, 200, 400, 600]);
  assert.deepEqual(ticks(2), [0, 0.5, 1, 1.5, 2]);
});

test("what was not measured has no bar, and says so", () => {
  const none = { ratio: null, accuracy: null, kl: null, calibration: null };
  const naming = (kind) => ({ name: kind, symbol: "", layer: "" });
  const scores = [{ kind: "x", perplexity: 200, ...none }, { kind: "h1", perplexity: null, ...none }];
  assert.equal(axisEnd(scores, [676]), 676 * 1.08);
  const drawn = drawAccuracy(scores, [["unigram", 676]], naming, 900, estimate);
  assert.equal(all(drawn, "rect", "score")[1].attributes.width, 1);
  assert.ok(texts(drawn).includes("not measured"));
  assert.ok(axisEnd(scores.slice(1), []) > 0);
});

test("kinds are called by symbol and name, submodules by the end of their path", () => {
  const paths = [0, 1, 2].map((k) => `some.backbone.encoder.layers.${k}`);
  const naming = namesOf([column("h1"), ...paths.map((id) => column(id, { letter: "", name: id, symbol: id })), column("y")]);
  assert.deepEqual(naming("h1"), { name: "kind h", symbol: "h", layer: "layer 1" });
  assert.deepEqual(naming("gone"), { name: "gone", symbol: "", layer: "" });
  const scores = ["h1", ...paths].map((kind) => ({ kind, perplexity: 9, ratio: 1, accuracy: 0.1, kl: 1, calibration: 0 }));
  const said = texts(drawAccuracy(scores, [["unigram", 20]], naming, 900, estimate));
  assert.ok(said.includes("h") && said.includes("kind h"));
  assert.deepEqual(said.filter((text) => text.startsWith("…")), [0, 1, 2].map((k) => `…encoder.layers.${k}`));
});

test("what is used stands beside what is read, where it was measured", () => {
  const plain = ["x", "c1"].map((kind) => ({ kind, perplexity: 5000, ratio: 2, accuracy: 0.1, kl: 1, calibration: 0.01, used: null }));
  const use = (used) => ({ used, read: 1, gradient: 2, random: 0, intervals: { used: { low: used - 0.05, high: used + 0.05 } } });
  const measured = [plain[0], { ...plain[1], used: use(0.81) }, { ...plain[0], used: use(-0.02) }];
  const draw = (scores) => drawAccuracy(scores, [["unigram", 676]], (kind) => ({ name: kind, symbol: kind, layer: "" }), 900, estimate);
  assert.equal(all(draw(plain), "rect", "use").length, 0);
  const drawn = draw(measured), bars = all(drawn, "rect", "use").map((one) => one.attributes.width);
  assert.deepEqual(bars, [0.81 * 120, 1].map((value) => Math.round(value * 100) / 100));
  assert.ok(["0.81", "-0.02", "used: 1 is as the gradient"].every((said) => texts(drawn).includes(said)));
  const ends = all(drawn, "rect", "score").map(({ attributes: { x, width } }) => x + width);
  assert.ok(Math.max(...ends) < all(drawn, "rect", "use")[0].attributes.x - 24, "they do not run into each other");
});

test("intervals are lines across the ends of bars, and close neighbours are named", () => {
  const some = (kind, perplexity, below) => ({ kind, perplexity, ratio: 1, accuracy: 0.1, kl: 1, calibration: 0, used: null, below,
    intervals: { perplexity: { low: perplexity - 20, high: perplexity + 30 } } });
  const scores = [some("g2", 110, { s2: 0.62, x: 1 }), some("s2", 112, { g2: 0.38, x: 1 }), some("x", 198, { g2: 0, s2: 0 })];
  const drawn = drawAccuracy(scores, [["unigram", 676]], (kind) => ({ name: kind, symbol: kind, layer: "" }), 900, estimate);
  const end = axisEnd(scores, [676]), at = (value) => 190 + (value / end) * (900 - 190 - 64);
  const lines = all(drawn, "line", "sure").map(({ attributes: { x1, x2 } }) => [x1, x2]);
  assert.equal(lines.length, 3);
  lines.forEach(([low, high], k) => {
    assert.ok(Math.abs(low - at(scores[k].perplexity - 20)) < 0.1 && Math.abs(high - at(scores[k].perplexity + 30)) < 0.1);
  });
  assert.deepEqual(close(scores, 676), ["g2 below s2 in 62% of resamples"]);
  assert.deepEqual(close(scores, 110), [], "of kinds that say nothing no order is told");
  assert.deepEqual(close(scores.map(({ below, ...rest }) => rest), 676), []);
});

test("of many kinds that are not told apart a few pairs are named, and the rest counted", () => {
  const tied = (count) => Array.from({ length: count }, (_, k) => ({ kind: `k${k}`, perplexity: 100 + k, below: { [`k${k + 1}`]: 0.5 } }));
  assert.equal(close(tied(7), 676).length, 6);
  assert.deepEqual(close(tied(8), 676).slice(5), ["k5 below k6 in 50% of resamples", "and 1 more pair"]);
  assert.deepEqual(close(tied(12), 676).slice(6), ["and 5 more pairs"]);
});

test("names of lines that lie close stand side by side, and others where their lines are", () => {
  const names = (...at) => at.map((one) => ({ at: one, width: 100 }));
  assert.deepEqual(dodged(names(300, 600), 900), [300, 600]);
  assert.deepEqual(dodged(names(302, 300), 900), [356, 246]);
  assert.deepEqual(dodged(names(880, 895), 900), [740, 850]);
  const [a, b] = dodged(names(40, 42), 900);
  assert.ok(a >= 40 && b - a >= 110);
});
