import assert from "node:assert/strict";
import { test } from "node:test";
import { canAsk, helpOf, logits, readingsOf, shades, waterfall } from "../../../src/rnnlens/page/web/panel/written.js";
import { column } from "../sample.js";

const written = { labels: ["have"], against: ["has"], difference: 0.5, stand_in: "unknown", instead: "UNK",
  offered: ["tag", "unknown"], draws: 0, drawn: [], low: null, high: null, spread: null, stored: [0.1, -0.3, 0.4], stored_rest: 0.3,
  path: [1, -2, 0.5], path_rest: 1, without: [0.8, -1, null], gates: [-0.2, 1, null], note: "" };
const words = ["the", "leaders", "of"];

test("what is read of a memory can be asked; gates of its letter cannot", () => {
  const named = ["read", "previous read", "reset gate", "recurrence gate"];
  assert.deepEqual(named.filter((name) => canAsk(column("r1", { letter: "r", name }))), ["read", "previous read"]);
});

test("memories, outputs and the prediction can be asked; gates and submodules cannot", () => {
  const letters = ["l", "c", "h", "k", "j", "y", "S", "f", "i", "o", "g", "s", "x", ""];
  assert.equal(letters.filter((letter) => canAsk(column("c1", { letter }))).join(""), "lchkjyS");
});

for (const reading of ["stored", "path"]) {
  test(`the waterfall of ${reading} begins at nothing, leaves no gap and ends at the difference`, () => {
    const falls = waterfall(written, reading, words);
    assert.deepEqual(falls.map(({ name }) => name), ["the rest", ...words]);
    assert.equal(falls[0].from, 0);
    falls.slice(1).forEach((fall, k) => assert.ok(Math.abs(fall.from - falls[k].from - falls[k].value) < 1e-12));
    const last = falls[falls.length - 1];
    assert.ok(Math.abs(last.from + last.value - written.difference) < 1e-12);
  });
}

test("what goes without a word is no sum: each begins at nothing, and there is no rest", () => {
  const falls = waterfall(written, "without", words);
  assert.deepEqual(falls.map(({ from, value }) => [from, value]), [[0, 0.8], [0, -1], [0, 0]]);
});

test("of many words the smallest parts stand together, and it still adds up", () => {
  const path = Array.from({ length: 30 }, (_, k) => (k === 3 ? 2 : 0.01 * (k % 5))), sum = path.reduce((a, b) => a + b, 0);
  const falls = waterfall({ ...written, path, path_rest: 0.5, difference: sum + 0.5 }, "path", path.map((_, k) => `w${k}`));
  assert.deepEqual([falls.length, falls[1].name], [16, "16 other words"]);
  assert.ok(falls.some(({ name }) => name === "w3"));
  const last = falls[falls.length - 1];
  assert.ok(Math.abs(last.from + last.value - sum - 0.5) < 1e-9);
});

test("words are shaded by their part of the largest, and said with the reading's name", () => {
  assert.deepEqual(shades(written, "path").map(({ share }) => share), [0.5, -1, 0.25]);
  assert.equal(shades(written, "without")[1].said, "without this word −1.00");
  assert.deepEqual([logits(0.001), logits(-0.5), logits(2)], ["0.00", "−0.50", "+2.00"]);
});

test("only readings that there are can be chosen", () => {
  const elman = { ...written, stored: null, gates: null, path: null };
  assert.deepEqual(readingsOf(elman).map(([, name]) => name), ["without"]);
  assert.equal(readingsOf(written).length, 4);
});

test("where words are drawn, a part has its interval, and what stood in is named", () => {
  const drawn = { ...written, stand_in: "tag", instead: "", draws: 12, drawn: [["a"], ["dogs"], []], low: [0.5, -1.5, null], high: [1.1, -0.5, null], spread: [0.4, 0.7, null] };
  assert.deepEqual(waterfall(drawn, "without", words).map(({ ends }) => ends), [[0.5, 1.1], [-1.5, -0.5], null]);
  assert.ok(waterfall(drawn, "path", words).every(({ ends }) => ends === null));
  assert.equal(shades(drawn, "without")[0].said, "without this word +0.80 ±0.30");
  assert.match(helpOf("without", drawn), /12 other words of the same tag in its place/);
  assert.match(helpOf("without", { ...drawn, stand_in: "model" }), /that the model expected/);
  assert.match(helpOf("without", written), /the unknown word “UNK” in its place/);
  assert.match(helpOf("without", { ...written, stand_in: "", instead: "in" }), /with “in” in its place/);
  assert.match(helpOf("without", { ...written, stand_in: "left_out", instead: "" }), /with the word left out/);
  for (const reading of ["without", "path", "stored", "gates"]) assert.doesNotMatch(helpOf(reading, drawn), /truth|really/);
});
