import assert from "node:assert/strict";
import { test } from "node:test";
import { hold } from "../../../src/rnnlens/page/web/base/held.js";
import { carried, comparison, grouped, keep, lives, pinOf, toggled } from "../../../src/rnnlens/page/web/panel/pins.js";
import { grid } from "../sample.js";

const before = hold(grid("we said so"), null);
const pins = [0, 1, 2].map((row) => pinOf(before, { column: "c1", row }));

test("a state is pinned once, and a second time takes the pin away", () => {
  const once = toggled([], pins[0]);
  assert.deepEqual(once, [pins[0]]);
  assert.deepEqual(toggled(once, { ...pins[0] }), []);
  assert.equal(toggled(once, { ...pins[0], semantic: "input" }).length, 2);
});

test("pins move over to a text that begins the same, and otherwise remember their own", () => {
  const now = hold(grid("we said no more"), null);
  assert.deepEqual(carried(pins, before, now).map((pin) => pin.text), ["we said no more", "we said no more", "we said so"]);
  const shorter = hold(grid("we"), null);
  assert.deepEqual(carried(pins, before, shorter).map((pin) => pin.text), ["we", "we said so", "we said so"]);
});

test("pins of another semantic or text stay as they are", () => {
  const pin = { column: "c1", row: 0, run: "tiny", text: "we said so", semantic: "output" };
  const other = [{ ...pin, text: "else" }, { ...pin, semantic: "input" }, { ...pin, run: "another" }];
  assert.deepEqual(carried(other, before, hold(grid("we said so now"), null)), other);
});

test("another semantic does not take pins along", () => {
  const now = hold({ ...grid("we said so"), semantic: "input" }, null);
  assert.deepEqual(carried(pins, before, now), pins);
  assert.ok(!lives(pins[0], now));
});

test("pins of a link become pins of the grid it opened", () => {
  const linked = [{ column: "c1", row: 1, run: null, text: null, semantic: null }];
  assert.deepEqual(carried(linked, null, before), [pins[1]]);
});

test("a pin keeps what it shows", () => {
  assert.equal(keep(pins[1], before).after, "said");
  assert.equal(keep({ ...pins[1], row: 9 }, before), null);
});

const pinned = (row, text = "we said so", semantic = "output", run = "tiny") => ({ column: "c1", row, run, text, semantic });
const MOST = 256 * 1024; // bytes that the server takes
const bytes = (group) => new TextEncoder().encode(JSON.stringify(comparison(group))).length;

test("a comparison says the text and semantic that its states share once", () => {
  const other = { column: "h1", row: 1, text: "else", semantic: "input" };
  const groups = grouped([[pinned(0), pinned(1)], [pinned(0, "we", "output", "b"), pinned(1, "we", "output", "b")]]);
  assert.deepEqual(groups.map((group) => comparison(group).run), ["tiny", "b"]);
  assert.deepEqual(comparison([[pinned(0), pinned(2)], [other, pinned(1)]]), { run: "tiny", text: "we said so",
    semantic: "output", pairs: [{ a: { column: "c1", row: 0 }, b: { column: "c1", row: 2 } }, { a: other, b: { column: "c1", row: 1 } }] });
});

test("any number of pairs is asked for in groups that the server takes", () => {
  const many = Array.from({ length: 150 }, (_, k) => [pinned(0), pinned(k)]);
  assert.deepEqual(grouped(many).map((group) => group.length), [64, 64, 22]);
  assert.deepEqual(grouped(many).flat(), many);
  assert.deepEqual(grouped([]), []);
});

test("long texts are said once where they can, and otherwise a few at a time", () => {
  const long = (word) => Array(2_000).fill(word).join(" "), here = long("teachers");
  const same = Array.from({ length: 36 }, (_, k) => [pinned(0, here), pinned(k, here)]);
  assert.equal(grouped(same).length, 1);
  assert.ok(bytes(same) < 25_000);
  const apart = Array.from({ length: 36 }, (_, k) => [pinned(k, long("farmers")), pinned(0, here)]);
  const each = Array.from({ length: 5 }, (_, k) => [pinned(0, here), pinned(0, long(`${k}`))]);
  const odd = Array.from({ length: 5 }, (_, k) => [pinned(k, "\u0007".repeat(20_000)), pinned(k, "\u0008".repeat(20_000))]);
  for (const pairs of [apart, each, odd, [...each, ...apart, ...odd]]) {
    const groups = grouped(pairs);
    assert.deepEqual(groups.flat(), pairs);
    for (const group of groups) {
      assert.ok(bytes(group) < MOST, `${bytes(group)} bytes`);
      const texts = new Set(group.flat().map((pin) => pin.text));
      assert.ok([...texts].reduce((sum, text) => sum + text.split(" ").length, 0) <= 4_000);
    }
  }
  assert.ok(grouped(apart).length <= 6);
});

test("a pin of what is drawn is compared as it is drawn, with its edits", () => {
  const edited = { ...before, edits: ["c1@1=0"] }, away = { ...pins[1], text: "else" };
  const [pair] = comparison([[pins[0], away]], edited).pairs;
  assert.deepEqual([pair.a.edits, pair.b.edits], [["c1@1=0"], undefined]);
  assert.equal(comparison([[pins[0], away]], before).pairs[0].a.edits, undefined);
});
