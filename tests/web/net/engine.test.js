import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../../../src/rnnlens/page/web/base/refusal.js";
import { answerTo, engineSource, Remote } from "../../../src/rnnlens/page/web/net/engine.js";

const GRID = { text: "a b", semantic: "output", palette: "coarse", rows: [[]] };
const RUN = { id: "r", semantics: ["output", "input"], palettes: ["coarse", "fine"] };
const HEAD = { run: RUN, grid: GRID, note: "", first: { palette: null, edits: [] } };

/** An engine whose answers are given by hand. */
function byHand() {
  const asked = [];
  const engine = { answer: (path, body, signal) => new Promise((resolve, reject) => asked.push({ path, body, signal, resolve, reject })) };
  return { asked, engine };
}

test("what the file was written with is answered at once, and again as it was", async () => {
  const { ask, can } = engineSource(HEAD, new Promise(() => {}));
  assert.deepEqual(await ask("api/runs", {}), { runs: [RUN] });
  const asked = { run: "r", text: "a b", semantic: null, palette: null, have: 0, edits: [], beside: null };
  const first = await ask("api/grid", asked);
  first.rows.pop();
  assert.deepEqual(await ask("api/grid", { ...asked, semantic: "output" }), GRID);
  assert.ok(can("api/turns") && !can("api/figure"));
});

test("whatever else is asked waits for the engine", async () => {
  const { asked, engine } = byHand();
  const { ask } = engineSource(HEAD, Promise.resolve(engine));
  const question = { run: "r", text: "a b", semantic: null, palette: null, have: 0, edits: [], beside: null };
  for (const more of [{ text: "a" }, { semantic: "input" }, { palette: "fine" }, { have: 1 }, { edits: ["h@1=0"] }, { beside: "s" }]) {
    ask("api/grid", { ...question, ...more });
  }
  ask("api/accuracy", { run: "r" });
  await new Promise((resolve) => setTimeout(resolve));
  assert.deepEqual(asked.map((one) => one.path), [...Array(6).fill("api/grid"), "api/accuracy"]);
});

test("a story's first view is answered at once, with its semantic and its edits", async () => {
  const { asked, engine } = byHand(), grid = { ...GRID, semantic: "input" };
  const { ask } = engineSource({ ...HEAD, grid, first: { palette: null, edits: ["l2@1=0"] } }, Promise.resolve(engine));
  const question = { run: "r", text: "a b", semantic: "input", palette: null, have: 0, edits: ["l2@1=0"], beside: null };
  assert.deepEqual(await ask("api/grid", question), grid);
  for (const more of [{ semantic: null }, { edits: [] }]) ask("api/grid", { ...question, ...more });
  await new Promise((resolve) => setTimeout(resolve));
  assert.equal(asked.length, 2);
});

test("an engine that never comes refuses whatever is asked", async () => {
  const { ask } = engineSource(HEAD, Promise.reject(new Refusal("damaged")));
  await assert.rejects(ask("api/turns", {}), (error) => error instanceof Refusal && error.message === "damaged");
});

/** Two ends, each of which hears the other. */
function ends() {
  const here = { onmessage: null }, there = { onmessage: null };
  here.postMessage = (data) => queueMicrotask(() => there.onmessage({ data: structuredClone(data) }));
  there.postMessage = (data) => queueMicrotask(() => here.onmessage({ data: structuredClone(data) }));
  return [here, there];
}

test("a damaged parcel is refused in words, through a port", async () => {
  const [here, there] = ends();
  answerTo(there);
  await assert.rejects(new Remote(here).send({ parcel: { manifest: "?", weights: "?", sizes: { manifest: 1, weights: 1 }, vouched: { manifest: "", weights: "" } } }),
    (error) => error instanceof Refusal && error.status === 400 && /damaged or cut short/.test(error.message));
});

test("answers find their questions, and those nobody waits for are stopped", async () => {
  const [here, there] = ends(), heard = [];
  there.onmessage = ({ data }) => heard.push(data);
  const remote = new Remote(here), stop = new AbortController();
  const first = remote.answer("api/grid", { text: "a" }), second = remote.answer("api/grid", { text: "b" }, stop.signal);
  const third = remote.answer("api/grid", { text: "c" });
  await Promise.resolve();
  stop.abort();
  await assert.rejects(second, { name: "AbortError" });
  there.postMessage({ id: heard[2].id, refused: { message: "too long", status: 422 } });
  there.postMessage({ id: heard[1].id, answer: "late" });
  there.postMessage({ id: heard[0].id, answer: "a" });
  assert.equal(await first, "a");
  await assert.rejects(third, (error) => error instanceof Refusal && error.status === 422);
  assert.deepEqual(heard.at(-1), { stop: heard[1].id });
  const last = remote.answer("api/grid", { text: "d" });
  remote.fail(new Refusal("the engine has stopped", 500));
  await assert.rejects(last, /has stopped/);
});
