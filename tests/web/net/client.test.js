import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, editedRow } from "../../../src/rnnlens/page/web/net/client.js";
import { server } from "../../../src/rnnlens/page/web/net/source.js";
import { grid } from "../sample.js";

const FOUND = { fetch: globalThis.fetch, reportError: globalThis.reportError };
let asked, open, told;

/** A server whose answers are given by hand: answer(k) answers the k-th question. */
beforeEach(() => {
  asked = [];
  open = [];
  told = { grids: [], problems: [], server: [], busy: [] };
  globalThis.fetch = (path, { body, signal }) => new Promise((resolve, reject) => {
    asked.push(JSON.parse(body));
    open.push({ resolve, reject, signal });
    signal.addEventListener("abort", () => reject(new DOMException("aborted", "AbortError")));
  });
});

afterEach(() => Object.assign(globalThis, FOUND));

const LULL = 340; // ms after which the rest of a text is surely asked for

const made = (more = {}) => new Client({
  onGrid: (held) => told.grids.push(held), onProblem: (text) => told.problems.push(text),
  onServer: (there) => told.server.push(there), onBusy: (busy) => told.busy.push(busy),
  onDiffer: () => {}, inView: () => 30,
  ...more,
}, server.ask);

const wish = (text, edits = []) => ({ run: "tiny", text, semantic: null, palette: null, edits });

async function answer(k, change = {}, status = 200) {
  const whole = grid(asked[k].text), from = change.from ?? 0;
  const body = status === 200 ? { ...whole, rows: whole.rows.slice(from), ...change } : { error: "one line" };
  open[k].resolve(new Response(JSON.stringify(body), { status }));
  await sleep(5);
}

test("one question at a time, and after it the newest wish alone", async () => {
  const client = made();
  for (const text of ["w", "we", "we s", "we sa", "we said"]) client.want(wish(text));
  assert.deepEqual(asked.map((one) => one.text), ["w"]);
  await answer(0);
  assert.deepEqual(asked.map((one) => one.text), ["w", "we said"]);
  assert.deepEqual([asked[1].previous, asked[1].have], ["w", 1]);
  await answer(1, { from: 0 });
  assert.deepEqual(told.grids.map((held) => held.text), ["w", "we said"]);
  assert.equal(told.busy.at(-1), false);
});

test("an answer that takes long is not waited for once there is a newer wish", async () => {
  const client = made();
  client.want(wish("we"));
  await sleep(280);
  client.want(wish("we said"));
  await sleep(5);
  assert.ok(open[0].signal.aborted);
  assert.deepEqual(asked.map((one) => one.text), ["we", "we said"]);
  await sleep(280);
  client.want(wish("we said so"));
  await sleep(5);
  assert.ok(!open[1].signal.aborted); // not two in a row: a slow server answers, too
  await answer(1);
  assert.deepEqual(told.grids.map((held) => held.text), ["we said"]);
  await sleep(280);
  client.want(wish("we said so much"));
  await sleep(5);
  assert.ok(open[2].signal.aborted);
});

test("another run or semantic supersedes at once and begins anew", async () => {
  const client = made();
  client.want(wish("we said"));
  await answer(0);
  client.want(wish("we said so"));
  client.want({ ...wish("we said so"), semantic: "input" });
  await sleep(5);
  assert.ok(open[1].signal.aborted);
  assert.deepEqual([asked[2].semantic, asked[2].previous, asked[2].have], ["input", "", 0]);
});

test("columns that are shown no longer are kept, others are asked for from the first row on, and all to be had whole", async () => {
  const client = made(), of = (text, columns) => ({ ...wish(text), columns });
  client.want(of("we", null));
  await answer(0);
  client.want(of("we said", ["h1", "y"]));
  assert.deepEqual([asked[1].columns, asked[1].have], [["h1", "y"], 1]);
  await answer(1);
  assert.ok(client.has(["y"]) && !client.has(["c1"]) && !client.has(null));
  client.want(of("we said so", ["y"]));
  assert.equal(asked[2].have, 2);
  await answer(2);
  client.want(of("we said so", ["c1", "y"]));
  assert.deepEqual([asked[3].previous, asked[3].have], ["", 0]);
  await answer(3);
  const whole = client.complete();
  assert.deepEqual([asked[4].columns, asked[4].have], [null, 0]);
  await answer(4);
  assert.equal((await whole).rows.length, 3);
  await client.complete();
  assert.equal(asked.length, 5);
});

test("long texts come in blocks, and typing interrupts them", async () => {
  const client = made(), text = Array(250).fill("we").join(" "), { rows } = grid(text);
  client.want(wish(text));
  assert.equal(asked[0].limit, 30);
  await answer(0, { rows: rows.slice(0, 30) });
  await sleep(LULL);
  assert.deepEqual([asked[1].have, asked[1].limit, asked[1].previous], [30, 100, text]);
  await answer(1, { from: 30, rows: rows.slice(30, 130) });
  assert.equal(told.grids.at(-1).rows.length, 130);
  client.want(wish(`${text} so`));
  await sleep(5);
  assert.ok(open[2].signal.aborted);
  assert.deepEqual([asked[3].text, asked[3].have], [`${text} so`, 130]);
  await answer(3, { from: 130, rows: grid(`${text} so`).rows.slice(130, 230) });
  const whole = client.complete();
  await sleep(LULL);
  await answer(4, { from: 230, rows: grid(`${text} so`).rows.slice(230) });
  assert.equal((await whole).rows.length, 251);
});

test("whoever types does not wait for the rest of a text", async () => {
  const client = made(), text = Array(60).fill("we").join(" ");
  client.want(wish(text));
  await answer(0, { rows: grid(text).rows.slice(0, 30) });
  await sleep(100);
  assert.equal(asked.length, 1, "more is not asked for before the next key can come");
  assert.equal(told.busy.at(-1), true);
  client.want(wish(`${text} s`));
  assert.deepEqual(asked.map((one) => one.text), [text, `${text} s`]);
  await answer(1, { from: 30, rows: grid(`${text} s`).rows.slice(30) });
  await sleep(LULL);
  assert.equal(asked.length, 2);
  assert.equal(told.busy.at(-1), false);
});

test("an edit asks first for the rows in view from it on, a few at least", async () => {
  const edits = [], client = made({ inView: (row) => { edits.push(row); return 7 - row; } });
  client.want(wish("we said so we said so"));
  await answer(0);
  client.want(wish("we said so he said so"));
  await answer(1);
  client.want(wish("we said so he said so we"));
  await answer(2);
  client.want({ ...wish("we said so he said so we"), semantic: "input" });
  assert.deepEqual(edits, [0, 3, 6, 0]);
  assert.deepEqual(asked.map((one) => one.limit), [7, 4, 3, 7]);
});

test("the row of an edit is that of the first word that is another", () => {
  const rows = [["we said", "we sad"], ["we said", "we said so"], ["we said ", "we said s"], ["we said", "we sai"], ["we said", "wesaid"],
    ["", "we"], ["we said so", "so"], ["we said", "we said"]].map(([before, text]) => editedRow(before, text));
  assert.deepEqual(rows, [1, 2, 2, 1, 0, 0, 0, 2]);
});

test("after a refusal no more of the old text is loaded, and going back to it goes on", async () => {
  const client = made(), text = Array(60).fill("we").join(" "), { rows } = grid(text);
  client.want(wish(text));
  await answer(0, { rows: rows.slice(0, 30) });
  assert.ok(client.answered());
  client.want(wish("too many words"));
  assert.ok(!client.answered());
  await answer(1, {}, 400);
  await sleep(LULL);
  assert.equal(asked.length, 2);
  assert.deepEqual([told.problems, told.grids.length, told.busy.at(-1)], [["one line"], 1, false]);
  client.want(wish(text));
  assert.deepEqual([asked[2].previous, asked[2].have], [text, 30]);
  await answer(2, { from: 30, rows: rows.slice(30) });
  assert.ok(client.answered());
  assert.equal((await client.complete()).rows.length, 60);
});

test("what was refused or is still on its way cannot be had whole", async () => {
  const client = made();
  client.want(wish("we"));
  await assert.rejects(client.complete(), /on its way/);
  await answer(0);
  client.want(wish("too many words"));
  await assert.rejects(client.complete(), /on its way/);
  await answer(1, {}, 400);
  await assert.rejects(client.complete(), /^Error: one line$/);
  client.want(wish("we"));
  await answer(2, { from: 1 });
  assert.equal((await client.complete()).text, "we");
});

test("a text that changes while the rest of it is waited for is not had whole", async () => {
  const client = made(), text = Array(60).fill("we").join(" ");
  client.want(wish(text));
  await answer(0, { rows: grid(text).rows.slice(0, 30) });
  const refused = assert.rejects(client.complete(), /on its way/);
  client.want(wish("so"));
  await refused;
});

test("of a text of too many characters as many are asked for as the server takes", async () => {
  const client = made(), most = "\u{1f600}".repeat(20_000);
  client.want(wish(`${most}x`));
  assert.equal(asked[0].text, most, "characters are counted, not halves of them");
  await answer(0);
  assert.ok(client.answered());
  assert.deepEqual(told.problems, []);
});

test("it is said that what is held is not what is wished for: a moment later, or at once where it is refused", async () => {
  const differ = [], client = made({ onDiffer: (wish) => differ.push(wish?.text ?? null) });
  client.want(wish("we"));
  await answer(0);
  client.want(wish("we said"));
  assert.deepEqual(differ, [null]);
  await sleep(200);
  assert.deepEqual(differ, [null, "we said"]);
  await answer(1);
  assert.deepEqual(differ, [null, "we said", null]);
  client.want(wish("too many words"));
  await answer(2, {}, 400);
  assert.equal(differ.at(-1), "too many words");
  client.want(wish("we"));
  await answer(3);
  assert.equal(differ.at(-1), null);
});

test("a refusal is said, what is held stays, and the next wish is asked", async () => {
  const client = made();
  client.want(wish("we"));
  await answer(0);
  client.want(wish("too many words"));
  await answer(1, {}, 400);
  assert.deepEqual(told.problems, ["one line"]);
  assert.equal(client.held.grid.text, "we");
  client.want(wish("we said"));
  assert.deepEqual([asked[2].previous, asked[2].have], ["we", 1]);
});

test("the rest of a text that is refused is asked for once", async () => {
  const client = made(), text = Array(60).fill("we").join(" ");
  client.want(wish(text));
  await answer(0, { rows: grid(text).rows.slice(0, 30) });
  await sleep(LULL);
  await answer(1, {}, 400);
  assert.equal(asked.length, 2);
  await assert.rejects(client.complete(), /one line/);
  assert.equal(told.busy.at(-1), false);
});

test("a server that is gone or too busy is asked again for the newest wish", async () => {
  const client = made();
  client.want(wish("we"));
  open[0].reject(new TypeError("Failed to fetch"));
  await sleep(5);
  assert.deepEqual(told.server, [false]);
  client.want(wish("we said"));
  assert.deepEqual(asked.map((one) => one.text), ["we", "we said"]);
  await answer(1, {}, 503);
  assert.deepEqual(told.problems, ["one line"]);
  await sleep(900);
  assert.equal(asked[2].text, "we said");
  await answer(2);
  assert.deepEqual([told.server.at(-1), told.grids.length], [true, 1]);
});

test("a mistake in drawing is reported and does not end the conversation", async () => {
  const reported = [];
  globalThis.reportError = (error) => reported.push(error.message);
  const client = made();
  client.callbacks.onGrid = () => { throw new TypeError("a mistake"); };
  client.want(wish("we"));
  await answer(0);
  assert.deepEqual(reported, ["a mistake"]);
  assert.equal(client.flight, null);
  client.want(wish("we said"));
  assert.equal(asked.length, 2);
});

test("rows at hand are told with the edits they were read with", async () => {
  const client = made();
  client.want(wish("we said so"));
  await answer(0);
  client.want(wish("we said so", ["c1@2=0"]));
  assert.deepEqual([asked[1].previous, asked[1].have, asked[1].edits, asked[1].previous_edits], ["we said so", 3, ["c1@2=0"], []]);
  await answer(1, { from: 1, edits: ["c1@2=0"] });
  assert.equal(told.grids[1].rows[0], told.grids[0].rows[0]);
  assert.notEqual(told.grids[1].rows[1], told.grids[0].rows[1]);
  client.want(wish("we said so"));
  assert.deepEqual([asked[2].edits, asked[2].previous_edits], [[], ["c1@2=0"]]);
  await answer(2, { from: 1 });
  assert.deepEqual(told.grids[2].changes, []);
});

test("a text that is half typed waits in silence, over a grid that stays, until it is left", async () => {
  let typing = true;
  /** @type {unknown[]} */ const differs = [];
  const client = made({ waits: (text) => typing && text.endsWith("{"), onDiffer: (wish) => differs.push(wish) });
  client.want(wish("we {"));
  await answer(0, {}, 422);
  assert.deepEqual(told.problems, ["one line"], "there is nothing that could stay");
  client.want(wish("we"));
  await answer(1);
  client.want(wish("we {"));
  await answer(2, {}, 422);
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.deepEqual(told.problems, ["one line"]);
  assert.ok(differs.slice(-2).every((one) => one === null));
  typing = false;
  client.speak();
  assert.deepEqual(told.problems, ["one line", "one line"]);
  assert.equal(differs[differs.length - 1], client.wished);
});
