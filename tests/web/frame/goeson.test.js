import assert from "node:assert/strict";
import { test } from "node:test";
import { hold } from "../../../src/rnnlens/page/web/base/held.js";
import { gumbel } from "../../../src/rnnlens/page/web/engine/why/continuation.js";
import { waysOf } from "../../../src/rnnlens/page/web/frame/goeson.js";
import { decode, encode, plainView } from "../../../src/rnnlens/page/web/net/address.js";
import { grid, pair } from "../sample.js";

const found = { before: ["a"], after: ["b"], samples: [["c"]], samples_before: [["d"]], left_out: "UNK" };
const shown = (held, several) => waysOf(several, held).map(({ name, words, samples, beside }) => [name, words[0], samples[0][0], beside?.words[0] ?? null]);

test("a text goes on once, one with edits also without them, and two texts each under its name", () => {
  assert.deepEqual(shown(hold(grid(), null), [found]), [["", "a", "d", null]]);
  const edited = hold({ ...grid(), edits: ["h1@2=0"] }, null);
  assert.deepEqual(shown(edited, [found]), [["with the edits", "b", "c", "a"], ["without them", "a", "d", "b"]]);
  const two = hold({ ...pair(), edits: ["h1@2:2=0"] }, null);
  assert.deepEqual(shown(two, [found, found]).map(([name]) => name), ["said", "ran, with the edits", "ran, without them"]);
});

test("the noise is Python's", () => {
  // From rnnlens.ask.continuation: noise(seed, 2, 3, 5)[1]
  const right = { 0: [0.5654587040990627, -0.016266007207435904, 0.9559902085105572, 1.501055629283945, -0.8003801755344566], 4294967295: [0.6483752100403725, 2.4026002778945683, 0.3194062264790088, -0.0079950062330181, -0.0849080106774602] };
  for (const [seed, values] of Object.entries(right)) {
    gumbel(Number(seed), 1, 3, 5).forEach((value, k) => assert.ok(Math.abs(value - values[k]) < 1e-12));
  }
});

test("the seed is in the link, and one that is none is said to be so", () => {
  assert.equal(encode({ ...plainView(), seed: 0 }), "seed=0");
  assert.equal(encode(plainView()), "");
  assert.equal(decode("#seed=4294967295").view.seed, 4294967295);
  for (const wrong of ["-1", "4294967296", "1.5", "x", "", "1e3", "99999999999"]) {
    const { view, problems } = decode(`#seed=${wrong}`);
    assert.deepEqual([view.seed, problems.length], [null, 1], wrong);
  }
});
