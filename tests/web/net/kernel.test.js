import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Refusal } from "../../../src/rnnlens/page/web/base/refusal.js";
import { Client } from "../../../src/rnnlens/page/web/net/client.js";
import { Kernel } from "../../../src/rnnlens/page/web/net/kernel.js";
import { hold } from "../../../src/rnnlens/page/web/base/held.js";
import { grid } from "../sample.js";

/** A model that keeps what is sent and tells every listener what is said. */
function model() {
  const heard = new Set(), sent = [];
  return {
    sent, heard, get: () => undefined, send: (content) => sent.push(content),
    on: (event, listener) => event === "msg:custom" && heard.add(listener),
    off: (event, listener) => event === "msg:custom" && heard.delete(listener),
    say: (message) => { for (const listener of heard) listener(message); },
  };
}

test("answers find the question they belong to, in any order", async () => {
  const one = model(), kernel = new Kernel(one, () => {});
  const first = kernel.ask("api/grid", { text: "we" }), second = kernel.ask("api/divergence", { pairs: [] });
  assert.deepEqual(one.sent.map(({ path, body }) => [path, body]),
    [["api/grid", { text: "we" }], ["api/divergence", { pairs: [] }]]);
  one.say({ id: one.sent[1].id, answer: '{"bits":[0.5]}' });
  one.say({ id: one.sent[0].id, answer: '{"labels":{"__proto__":"X"}}' });
  assert.deepEqual(await second, { bits: [0.5] });
  assert.deepEqual(Object.entries((await first).labels), [["__proto__", "X"]]);
  kernel.close();
});

test("two views of one model do not hear each other's answers", async () => {
  const one = model(), mine = new Kernel(one, () => {}), other = new Kernel(one, () => {});
  const asked = mine.ask("api/grid", {});
  other.ask("api/grid", {});
  assert.notEqual(one.sent[0].id, one.sent[1].id);
  one.say({ id: one.sent[0].id, answer: "1" });
  assert.equal(await asked, 1);
  assert.equal(other.open.size, 1);
  mine.close();
  other.close();
  assert.equal(one.heard.size, 0);
});

test("what the kernel refuses is a refusal with its one line", async () => {
  const one = model(), kernel = new Kernel(one, () => {});
  const asked = kernel.ask("api/grid", {});
  one.say({ id: one.sent[0].id, error: "too many words" });
  await assert.rejects(asked, (error) => error instanceof Refusal && error.message === "too many words");
  kernel.close();
});

test("silence is told of, and so is its end", async () => {
  const told = [], one = model(), kernel = new Kernel(one, (silent) => told.push(silent), 20);
  const asked = kernel.ask("api/grid", {});
  assert.deepEqual(told, []);
  await sleep(40);
  assert.deepEqual(told, [true]);
  one.say({ id: one.sent[0].id, answer: "{}" });
  await asked;
  await sleep(40);
  assert.deepEqual(told, [true, false]);
  kernel.close();
});

test("a client of a kernel begins with a grid, asks for its other rows, and never twice at once", async () => {
  const one = model(), kernel = new Kernel(one, () => {}), grids = [];
  const client = new Client({ onGrid: (held) => grids.push(held), onProblem: assert.fail, onServer: () => {},
    onBusy: () => {}, onDiffer: () => {}, inView: () => 30 }, (path, body) => kernel.ask(path, body));
  const text = Array(50).fill("we").join(" "), whole = grid(text);
  const wish = (/** @type {string} */ wanted) => ({ run: "tiny", text: wanted, semantic: null, palette: null });
  client.begin(wish(text), hold({ ...whole, rows: whole.rows.slice(0, 40) }, null));
  assert.equal(grids[0].rows.length, 40);
  const { previous, have } = one.sent[0].body;
  assert.deepEqual([one.sent.length, previous, have], [1, text, 40]);
  await sleep(300); // longer than a server would be waited for
  for (const typed of ["we s", "we sa", "we said"]) client.want(wish(typed));
  await sleep(5);
  assert.equal(one.sent.length, 1);
  one.say({ id: one.sent[0].id, answer: JSON.stringify({ ...whole, from: 40, rows: whole.rows.slice(40) }) });
  await sleep(5);
  assert.equal(grids[1].rows.length, 50);
  assert.deepEqual(one.sent.map(({ body }) => body.text), [text, "we said"]);
  assert.deepEqual([one.sent[1].body.previous, one.sent[1].body.have], [text, 50]);
  kernel.close();
});

test("a kernel has an answer to whatever the page asks, but for what a notebook has Python for", () => {
  const kernel = new Kernel(model(), () => {}), { can } = kernel.source(5);
  assert.deepEqual(["api/grid", "api/written", "api/lengths"].map(can), [true, true, true]);
  assert.deepEqual(["api/figure", "api/publish", "api/corpus", "api/similar"].map(can), [false, false, false, false]);
  kernel.close();
});
