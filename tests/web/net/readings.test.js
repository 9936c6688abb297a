import assert from "node:assert/strict";
import { test } from "node:test";
import { hold } from "../../../src/rnnlens/page/web/base/held.js";
import { Refusal } from "../../../src/rnnlens/page/web/base/refusal.js";
import { plainView } from "../../../src/rnnlens/page/web/net/address.js";
import { Readings } from "../../../src/rnnlens/page/web/net/readings.js";
import { grid } from "../sample.js";

const LONG = Array(60).fill("we").join(" ");
const view = { ...plainView(), follow: { labels: ["said"], against: [] } };
const pause = (ms = 5) => new Promise((resolve) => setTimeout(resolve, ms));

function made() {
  /** @type {any[]} */ const asked = [];
  /** @type {unknown[]} */ const problems = [];
  /** @type {string[]} */ const refused = [];
  const read = async (/** @type {string} */ path, /** @type {any} */ body) => {
    asked.push({ path, ...body });
    await pause(1);
    if (body.labels?.includes("nope")) throw new Refusal("there is no label 'nope'");
    if (body.labels?.includes("lost")) throw new TypeError("the server is gone");
    const rows = Array.from({ length: body.limit }, (_, k) => (path === "api/follow" ? [body.first + k] : { edges: [] }));
    return { from: body.first, labels: [], against: [], rows };
  };
  const readings = new Readings(/** @type {any} */ (read), () => {}, (error) => problems.push(error), (told) => refused.push(told), 3);
  return { readings, asked, problems, refused };
}

test("rows in view are asked for first, then the others", async () => {
  const { readings, asked } = made(), held = hold(grid(LONG), null);
  readings.show(held, view, [30, 40]);
  await pause(80);
  assert.equal(asked[0].first, 30);
  assert.deepEqual(asked.map(({ limit }) => limit).reduce((a, b) => a + b), 60);
  assert.deepEqual(readings.numbersOf(59), [59]);
  assert.equal(readings.turnsOf(0), null);
});

test("rows that stay when a text changes are not asked for again", async () => {
  const { readings, asked } = made(), held = hold(grid("we said so"), null);
  readings.show(held, view, [0, 3]);
  await pause(40);
  const longer = { ...held, text: "we said so too", rows: [...held.rows.slice(0, 2), [], []] };
  readings.show(longer, view, [0, 4]);
  await pause(40);
  assert.deepEqual(asked.map(({ first, limit }) => [first, limit]), [[0, 3], [2, 2]]);
});

test("nothing is asked for while somebody types", async () => {
  const { readings, asked } = made();
  for (let k = 0; k < 8; k++) {
    readings.show(hold(grid(`we said so ${k}`), null), view, [0, 4]);
    await pause(1);
  }
  assert.equal(asked.length, 0);
  await pause(40);
  assert.equal(asked.length, 1);
});

test("nothing is asked for that nobody wants", async () => {
  const { readings, asked } = made();
  readings.show(hold(grid(), null), plainView(), [0, 3]);
  await pause(20);
  assert.deepEqual(asked, []);
  readings.show(hold(grid(), null), { ...plainView(), turns: true }, [0, 3]);
  await pause(20);
  assert.deepEqual(asked.map(({ path }) => path), ["api/turns"]);
});

test("labels that there are not are followed by nobody, and the rest goes on", async () => {
  const { readings, asked, problems, refused } = made(), held = hold(grid(), null);
  readings.show(held, { ...plainView(), turns: true, follow: { labels: ["nope"], against: [] } }, [0, 3]);
  await pause(40);
  assert.deepEqual([readings.refused, refused, problems], [true, ["there is no label 'nope'"], []]);
  assert.deepEqual(asked.map(({ path }) => path), ["api/follow", "api/turns"]);
  assert.ok(readings.turnsOf(0));
  readings.show(held, view, [0, 3]);
  await pause(40);
  assert.deepEqual([readings.refused, readings.numbersOf(0)], [false, [0]]);
});

test("of states that are not at hand nothing is asked for", async () => {
  const { readings, asked } = made(), held = hold(grid(), null), [first] = held.columns;
  const part = { ...held, rows: held.rows.map((states) => states.map((state, k) => (k ? null : state))) };
  readings.show(part, { ...view, turns: true }, [0, 3]);
  await pause(60);
  assert.deepEqual(asked.map(({ columns }) => columns), [[first.id], [first.id]]);
  readings.show(held, view, [0, 3]);
  await pause(40);
  assert.equal(asked[2].columns, null);
});

test("what fails is told once, and no longer when something else is asked for", async () => {
  const { readings, asked, problems } = made(), held = hold(grid(), null);
  const wrong = { ...plainView(), follow: { labels: ["lost"], against: [] } };
  readings.show(held, wrong, [0, 3]);
  await pause(40);
  readings.show(held, wrong, [0, 2]);
  await pause(20);
  assert.equal(asked.length, 1);
  readings.show(held, view, [0, 3]);
  await pause(40);
  assert.equal(problems.length, 2);
  assert.equal(problems[1], null);
  assert.deepEqual(readings.numbersOf(0), [0]);
});

test("memories are asked for where cells show them, all columns at once, and a word that is refused is told once", async () => {
  /** @type {any[]} */ const asked = [];
  /** @type {unknown[]} */ const problems = [];
  const read = async (/** @type {string} */ path, /** @type {any} */ body) => {
    asked.push({ path, ...body });
    if (body.word === "zz") throw new Refusal("the model reads no word 'zz'");
    return { columns: body.columns, from: body.first, rows: Array.from({ length: body.limit }, (_, k) => [{ norm: [body.first + k], rank: [], half_life: null, asked: null }]) };
  };
  const readings = new Readings(/** @type {any} */ (read), () => {}, (error) => problems.push(error), () => {}, 3), made = grid(LONG);
  made.columns[2].letter = "S";
  const held = hold(made, null), { id } = made.columns[2], all = { ...plainView(), kinds: /** @type {const} */ ("all") };
  readings.show(held, all, [0, 9]);
  await pause(20);
  assert.equal(asked.length, 0);
  readings.show(held, { ...all, memories: "norm" }, [30, 40]);
  await pause(40);
  assert.deepEqual(asked.map(({ path, first, columns, word }) => [path, first, columns, word]), [30, 0, 24, 54].map((first) => ["api/memories", first, [id], null]));
  assert.deepEqual(readings.memoryOf(59, id)?.norm, [59]);
  readings.show(held, { ...all, memories: "rank" }, [30, 40]); // the same answers tell all numbers
  await pause(20);
  assert.equal(asked.length, 4);
  readings.show(held, { ...all, asked: "zz" }, [0, 9]);
  await pause(30);
  assert.equal(asked.length, 5);
  assert.equal(readings.memoryOf(59, id), null);
  assert.match(String(problems[0]), /reads no word/);
  readings.show(held, { ...all, asked: "b" }, [0, 9]);
  await pause(40);
  assert.equal(problems[1], null);
  assert.equal(asked[5].word, "b");
});
