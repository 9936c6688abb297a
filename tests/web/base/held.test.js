import assert from "node:assert/strict";
import { test } from "node:test";
import { hold, release } from "../../../src/rnnlens/page/web/base/held.js";
import { grid } from "../sample.js";

const before = hold(grid("we said so"), null);

test("rows before the first that changed are kept, the rest replaced", () => {
  const changed = { ...grid("we said no more"), from: 2 };
  const fresh = changed.rows.slice(2);
  const now = hold({ ...changed, rows: fresh, labels: { no: "OTHER" } }, before);
  assert.equal(now.rows.length, 4);
  assert.equal(now.rows[1], before.rows[1], "the very same object, so that it is not drawn again");
  assert.equal(now.rows[2], fresh[0]);
  assert.equal(now.labels.get("said"), "VERB");
  assert.equal(now.labels.get("no"), "OTHER");
});

test("a label may be called anything", () => {
  const given = JSON.parse(JSON.stringify(grid()).replaceAll('"said"', '"__proto__"'));
  const held = hold(hold(given, null) && given, hold(given, null));
  assert.equal(held.labels.get("__proto__"), "VERB");
  assert.equal(({}).VERB, undefined);
  assert.ok(JSON.stringify(release(held)).includes('"__proto__":"VERB"'));
});

test("rows that came before the edits are as they were, and changes are kept with their rows", () => {
  const change = (bits) => ({ bits, before: ["said", 0.5], now: 0.25 });
  const given = { ...grid("we said so"), from: 1, edits: ["c1@2=0"] };
  const row = (bits) => given.columns.map(() => change(bits));
  const edited = hold({ ...given, rows: given.rows.slice(1), changes: [row(0.5), row(0.25)] }, before);
  assert.deepEqual(edited.changes.map((states) => states[0].bits), [0, 0.5, 0.25]);
  assert.deepEqual(edited.changes[0][0], { bits: 0, before: ["said", 0.5], now: 0.5 });
  const more = hold({ ...given, from: 2, rows: given.rows.slice(2), edits: ["c1@2=0", "l1@3=0"], changes: [row(0.75)] }, edited);
  assert.deepEqual(more.changes.map((states) => states[0].bits), [0, 0.5, 0.75]);
  assert.deepEqual(release(edited).changes, edited.changes);
  assert.deepEqual(hold({ ...given, rows: given.rows.slice(1), edits: [] }, edited).changes, []);
});
