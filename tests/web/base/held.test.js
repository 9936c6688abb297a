import assert from "node:assert/strict";
import { test } from "node:test";
import { hold, release } from "../../../src/rnnlens/view/page/web/base/held.js";
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
