import assert from "node:assert/strict";
import test from "node:test";
import { asKind, compose, partners, relationsOf, takeApart, written } from "../../../src/rnnlens/page/web/corpus/clauses.js";
import { axisName, boxOf, ticks, withBox } from "../../../src/rnnlens/page/web/corpus/map.js";

const corpus = { kinds: ["x", "l2", "s2", "h2", "with space", "count", "y"], groups: { noun: "#1", VERB: "#2", "two words": "#3" }, follows: true,
  pairs: [["c2", "l2"], ["h2", "l2"], ["l2", "l2"]] };

const QUESTIONS = [
  "l2 expects noun", 'l2 expects "noun"', 'y expects group "two words"', "l2 disagrees with s2", "l2 agrees with y", "l2 disagrees with s2 on label", "l2 differs from h2 > .5",
  "y rank = 1", "y rank > 1", "y surprisal > 8", "h2 entropy > 2.5", "h2 entropy < 2", 'word = "that"', 'next != "a \\"b\\" and c"', 'tag = "NOUN"',
  'word like "%ing"', "next is VERB", "`with space` expects noun", "`count` rank = 1",
  "l2 expects noun and y rank > 1", 'word = "that" and l2 disagrees with s2 count by tag', "l2 expects noun sort by surprisal desc limit 5", "count by word limit 3",
];

test("what the builder has words for is taken apart and put together again", () => {
  for (const question of QUESTIONS) {
    const built = takeApart(question, corpus);
    assert.ok(built && built.clauses.every((clause) => clause.written === undefined), question);
    assert.equal(compose(built), question);
  }
  const [clause] = takeApart("l2 expects verb", corpus).clauses;
  assert.deepEqual(clause, { part: "l2", relation: "expects", thing: "VERB" }); // whatever its capitals
  assert.deepEqual(takeApart("l2 differs from h2", corpus).clauses[0].relation, "differs");
});

test("what it has none for stays as it is written", () => {
  const kept = ["l2 expects noun > .4", "l2 expects {was, were}", "not l2 expects noun", "within 5 before (word = that and y rank = 1)", "map l2 in -1..1, 0..2", "l2 expcts noun",
    "l2 differs from s2 > .5", "y rank=1", "zz expects noun", "l2 rank < y rank"];
  for (const question of kept) {
    const built = takeApart(`${question} and y rank = 1 limit 2`, corpus);
    assert.equal(built.clauses[0].written, question);
    assert.deepEqual(built.clauses[1], { part: "y", relation: "right", thing: "" });
    assert.equal(compose(built), `${question} and y rank = 1 limit 2`);
  }
  assert.deepEqual(takeApart("l2 expects noun or y rank = 1", corpus).clauses.map(written), ["l2 expects noun or y rank = 1"]);
  for (const half of ['word = "tha', "(word = that", "word = that)", "l2 expects noun and"]) assert.equal(takeApart(half, corpus), null, half);
  assert.deepEqual(takeApart("", corpus), { clauses: [], show: "", rest: "" });
});

test("what can be said depends on the part and on what the corpus tells", () => {
  assert.deepEqual(partners("l2", corpus.pairs), ["c2", "h2"]);
  assert.ok(!relationsOf("x", corpus).some(({ id }) => id === "differs")); // it is compared with none
  assert.ok(!relationsOf("y", { ...corpus, follows: false }).some(({ id }) => ["right", "wrong", "surprised"].includes(id)));
  assert.deepEqual(relationsOf("tag", corpus).map(({ id }) => id), ["is", "isnot"]);
  assert.equal(asKind("Count"), "`Count`");
  assert.equal(asKind("h1<"), "h1<");
});

test("a rectangle of a map is read from a question and written into it", () => {
  assert.deepEqual(boxOf("map l2 in -1.5..2, .25..1e2 and y rank = 1"), { kind: "l2", box: [-1.5, 2, 0.25, 100] });
  assert.deepEqual(boxOf("(map `with space` in 0..1, 0..1)").kind, "with space");
  for (const none of ["l2 expects noun", "map l2 in 0..1", "map l2 in 1, 2", ""]) assert.equal(boxOf(none), null);
  const box = [-1.23456, 2.34567, 0.001234, 10.98765];
  assert.equal(withBox("l2 expects noun", "l2", box, [0.1, 0.001]), "map l2 in -1.23..2.35, 0.0012..10.9877");
  assert.equal(withBox("y rank = 1 and map l2 in 0..1, 0..1 limit 3", "l2", box, [1, 1]), "y rank = 1 and map l2 in -1.2..2.3, 0..11 limit 3");
  assert.equal(withBox("map l2 in 0..1, 0..1", "with space", [0, 1, 0, 1], [1, 1]), "map `with space` in 0..1, 0..1");
});

test("axes are named for what they are, and have few round ticks", () => {
  assert.equal(axisName(0, 0.23), "first principal component, 23% of the variance");
  assert.equal(axisName(1, 0.041), "second principal component, 4.1% of the variance");
  assert.deepEqual(ticks(-7.3, 12), [-5, 0, 5, 10]);
  assert.deepEqual(ticks(0, 0), [0]);
});
