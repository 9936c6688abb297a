import assert from "node:assert/strict";
import { test } from "node:test";
import { hold } from "../../../src/rnnlens/page/web/base/held.js";
import { attention, heads, sideName, sourceColumns, sourceRows } from "../../../src/rnnlens/page/web/base/pairs.js";
import { grid, sourceAndTarget } from "../sample.js";

test("a text that is no pair has no source", () => {
  const held = hold(grid(), null);
  assert.equal(sourceRows(held), 0);
  assert.equal(sourceColumns(held).size, 0);
  assert.equal(attention(held, 0), null);
});

test("attention goes from a word of the target to those of the source, and back", () => {
  const held = hold(sourceAndTarget(), null);
  assert.equal(sourceRows(held), 3);
  assert.deepEqual([...sourceColumns(held)], ["x", "c1"]);
  assert.deepEqual(attention(held, 4), { of: "scores", words: 3, links: [[0, 0.7], [2, 0.2], [1, 0.1]], back: false });
  assert.deepEqual(attention(held, 2), { of: "scores", words: 2, links: [[3, 0.9], [4, 0.2]], back: true });
  assert.equal(sideName(held, true), "source");
  assert.equal(sideName(held, false), "target, generated");
});

test("where two pairs are compared, links stay in their own", () => {
  const given = sourceAndTarget(), [own] = given.pairs;
  const rows = [0, 1, 2, null, 3, 4], other = [0, 1, 2, 3, 4, 5];
  const lines = rows.flatMap((row, k) => [{ side: "first", row, then: null }, { side: "second", row: other[k], then: null }]);
  const two = { ...given, lines, sides: [1, 2].map(() => ({ run: "tiny", title: "", text: "", columns: [] })), then: [], changes: [],
    words: lines.map(() => given.words[0]), rows: lines.map(() => given.rows[0]), pairs: [own, { ...own, source: 4, links: [[[3, 1]], [[0, 1]]] }] };
  const held = hold(two, null);
  assert.equal(sourceRows(held), 8);
  assert.deepEqual(attention(held, 8)?.links, [[4, 0.9], [2, 0.1], [0, 0]]);
  assert.deepEqual(attention(held, 9)?.links, [[7, 1]]);
  assert.equal(attention(held, 6), null); // a gap
});

test("of several heads one is chosen, or their mean; older files have none", () => {
  const given = sourceAndTarget(), [links] = [given.pairs[0].links], other = links.map(() => [[1, 1], [0, 0], [2, 0]]);
  assert.equal(heads(hold(given, null)), 0);
  given.pairs[0].heads = [links, other];
  const held = hold(given, null);
  assert.equal(heads(held), 2);
  assert.deepEqual(attention(held, 4, 2)?.links[0], [1, 1]);
  assert.deepEqual(attention(held, 4, 1), attention(held, 4));
  assert.deepEqual(attention(held, 4, 9), attention(held, 4)); // a link of another text's
  assert.deepEqual(attention(held, 1, 2)?.links, [[3, 1], [4, 1]]);
  assert.equal(heads({ pairs: [] }), 0);
});
