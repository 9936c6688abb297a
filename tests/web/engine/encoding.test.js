// Encodings: four states at a time say what the rule says of each alone, also where logits are equal or far apart.

import assert from "node:assert/strict";
import test from "node:test";

import { Encoder, significant } from "../../../src/rnnlens/page/web/engine/encoding.js";
import { Machine } from "../../../src/rnnlens/page/web/engine/machine.js";
import { Palette } from "../../../src/rnnlens/page/web/engine/palette.js";

const COLOURS = ["#ff0000", "#00ff00", "#0000ff"];
const wave = (/** @type {number} */ k) => Math.fround(Math.sin(k * 0.7548776662 * 2 * Math.PI) * 6);
const SHAPES = /** @type {Record<string, (label: number, state: number) => number>} */ ({
  "apart": (label, state) => wave(label * 7 + state),
  "equal": () => 1.5,
  "of few values": (label, state) => (label * 7 + state) % 5,
  "equal but for one far below": (label, state) => (label === state ? -1e30 : 2),
  "equal but for one far above": (label, state) => (label === state ? 300 : Math.fround(label * 1e-6)),
});

/** The rule, by its words. @param {number[]} logits @param {ArrayLike<number>} groupOf @param {number} wanted */
function naive(logits, groupOf, wanted) {
  const most = Math.max(...logits), powers = logits.map((x) => Math.exp(x - most)), sum = powers.reduce((a, b) => a + b);
  const p = powers.map((power) => power / sum), order = logits.map((_, k) => k).sort((a, b) => logits[b] - logits[a] || a - b);
  const sums = COLOURS.map(() => 0);
  const groups = logits.map((_, k) => groupOf[k]), alone = new Set(groups).size === groups.length;
  const tenth = Math.floor(logits.length / 10 + 0.5), top = alone || tenth < 2 ? logits.length : tenth;
  for (const label of order.slice(0, top)) sums[groupOf[label]] += p[label];
  const all = sums.reduce((a, b) => a + b), bits = p.reduce((total, one) => total - (one ? one * Math.log2(one) : 0), 0);
  return { labels: order.slice(0, 20), probabilities: order.slice(0, 20).map((label) => p[label]), sums: sums.map((one) => one / all),
    entropy: bits, came: p[wanted], rank: 1 + logits.filter((x) => x > logits[wanted]).length };
}

/** @param {number} ours @param {number} theirs @param {string} where */
function near(ours, theirs, where) {
  assert.ok(Math.abs(ours - theirs) <= 2e-5 * Math.abs(theirs) + 1e-6, `${where}: ${ours} and ${theirs}`);
}

for (const wasm of [true, false]) {
  for (const [name, shape] of Object.entries(SHAPES)) {
    test(`logits that are ${name}, ${wasm ? "in WebAssembly" : "without"}`, async () => {
      for (const [labels, states] of [[1, 1], [2, 3], [9, 4], [150, 5], [3000, 6]]) {
        const bytes = Uint8Array.from({ length: (labels + 3) & ~3 }, (_, label) => (label * label) % 3);
        const machine = new Machine([{ sort: "uint8", shape: [labels], at: 0 }], bytes.buffer);
        const encoder = new Encoder(labels, COLOURS.length, machine), block = machine.room.take(8 * labels);
        const palette = new Palette({ groups: ["a", "b", "c"], colours: COLOURS, group_of: 0 }, machine);
        await machine.start(wasm);
        for (let state = 0; state < states; state++) {
          for (let label = 0; label < labels; label++) machine.floats[block + (state >> 2) * labels * 4 + label * 4 + (state & 3)] = shape(label, state);
        }
        const answers = { names: Array.from({ length: labels }, String), several: false, scale: null };
        const encodings = await encoder.encode(block, states, labels, palette, answers, [], async () => {}), wanted = encodings.map((_, k) => (k * 5) % labels);
        const outcomes = encoder.outcomes(block, encodings, wanted, labels);
        encodings.forEach((encoding, state) => {
          const logits = answers.names.map((_, label) => shape(label, state)), right = naive(logits, bytes, wanted[state]);
          const where = `${labels} labels, state ${state}`;
          assert.deepEqual(encoding.labels, right.labels, where);
          encoding.probabilities.forEach((p, k) => near(p, right.probabilities[k], where));
          near(encoding.share, Math.max(...right.sums), where);
          near(right.sums[encoding.group], Math.max(...right.sums), where);
          near(encoding.entropy, right.entropy, where);
          near(outcomes[state].came, right.came, where);
          assert.equal(outcomes[state].rank, right.rank, where);
        });
      }
    });
  }
}

test("logits that are no numbers are refused", async () => {
  const machine = new Machine([{ sort: "uint8", shape: [4], at: 0 }], new ArrayBuffer(4)), encoder = new Encoder(4, 1, machine);
  const block = machine.room.take(16), palette = new Palette({ groups: ["a"], colours: ["#000000"], group_of: 0 }, machine);
  await machine.start(true);
  machine.floats[block + 5] = NaN;
  for (const several of [true, false]) {
    const answers = { names: ["a", "b", "c", "d"], several, scale: null };
    await assert.rejects(encoder.encode(block, 2, 4, palette, answers, [], async () => {}), /too large to draw/);
  }
});

test("five digits, halves to the even one", () => {
  assert.deepEqual([0.123456, 123456, 0, 1e-310, 0.99999951, 100005e-1].map((x) => significant(x)),
    [0.12346, 123460, 0, 0, 1, 10000]);
});
