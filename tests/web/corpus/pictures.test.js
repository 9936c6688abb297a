import assert from "node:assert/strict";
import test from "node:test";
import { stripPlaces } from "../../../src/rnnlens/page/web/corpus/answers.js";
import { drawDisagreement, drawTurns, edgeName } from "../../../src/rnnlens/page/web/corpus/networks.js";
import { drawReach, drawSurprise, drawTags } from "../../../src/rnnlens/page/web/corpus/words.js";
import { estimate } from "../../../src/rnnlens/page/web/base/text.js";
import { toText } from "../../../src/rnnlens/page/web/base/markup.js";

/** Every shape of a drawing. */
const inside = (shape) => (typeof shape === "string" ? [] : [shape, ...shape.children.flatMap(inside)]);
const leads = (drawing) => inside(drawing).map(({ attributes }) => attributes["data-question"]).filter(Boolean);
const squares = (drawing) => inside(drawing).filter(({ attributes }) => attributes.class === "square");

test("every pair of kinds has two squares, the darkest for the most frequent", () => {
  const sure = (share) => ({ share, low: null, high: null });
  const pair = (kind, other, groups, labels) => ({ kind, other, groups: sure(groups), labels: sure(labels), clear: null, question: `${kind} disagrees with ${other}`,
    clear_question: "", label_question: "" });
  const disagreement = { kinds: ["a", "b", "c"], left_out: 0, margin: 0.1, pairs: [pair("a", "b", 0.1, 0.9), pair("a", "c", 0.5, 0.2), pair("b", "c", 0, 0)] };
  const drawn = drawDisagreement(disagreement, 300, "groups", estimate);
  assert.equal(drawDisagreement(disagreement, 300, "clear", estimate), null); // an index that does not know how far groups lead
  assert.equal(squares(drawn).length, 6);
  assert.deepEqual(new Set(leads(drawn)), new Set(disagreement.pairs.map(({ question }) => question)));
  const dark = squares(drawn).map(({ attributes }) => attributes["fill-opacity"]);
  assert.ok(Math.max(...dark) === dark[2] && Math.min(...dark) === dark[4]);
  const labels = drawDisagreement(disagreement, 300, "labels", estimate);
  assert.deepEqual(leads(labels), []);
  assert.ok(toText(labels).includes("90% of words"));
});

test("edges are drawn by sort, and a sort that has none is not", () => {
  const edge = (kind, other, sort, bits) => ({ kind, other, sort, bits, far: 2, words: 8, question: `${kind} differs` });
  const turns = { far: 0.5, edges: [edge("c2", "l2", "feeds", 0.3), edge("l2", "c2@-1", "feeds", 0.2), edge("l2", "s2", "beside", 0.1)] };
  assert.deepEqual(turns.edges.map(edgeName), ["l2 → c2", "c2 t−1 → l2", "l2 | s2"]);
  assert.deepEqual(leads(drawTurns(turns, 400, "feeds", estimate)), ["c2 differs", "l2 differs"]);
  assert.equal(drawTurns(turns, 400, "step", estimate), null);
});

test("a density, a reach and parts of speech lead to what they count", () => {
  const cells = [{ x: 0, y: 0, words: 5, question: "one" }, { x: 3, y: 9, words: 1, question: "two" }];
  const density = drawSurprise({ width: 0.5, columns: 4, rows: 10, cells }, 400);
  assert.deepEqual(leads(density), ["one", "two"]);
  assert.ok(squares(density)[0].attributes["fill-opacity"] > squares(density)[1].attributes["fill-opacity"]);
  const cell = (kind, steps, told, question) => ({ kind, steps, told, perplexity: 4, unigram: 16, question });
  const reach = drawReach({ cells: [cell("l2", 1, 0.5, "l2 rank = 1"), cell("l2", 0, null, ""), cell("h2", 1, 1, ""), cell("h2", 0, 0, "")] }, 400, estimate);
  assert.deepEqual(leads(reach), ["l2 rank = 1"]);
  const [second, first] = squares(reach);
  assert.ok(first.attributes.x < second.attributes.x); // steps go up from left to right
  const tags = (noun, verb) => [{ tag: "NOUN", words: 10, count: noun, question: "n" }, { tag: "VERB", words: 10, count: verb, question: "v" }];
  const drawn = drawTags({ pairs: [{ kind: "l1", other: "s1", tags: tags(9, 1) }, { kind: "l2", other: "s2", tags: tags(1, 5) }] }, 400, estimate);
  assert.deepEqual(leads(drawn), ["v", "v", "n", "n"]); // by the last pair's share
});

test("strips leave a gap between layers", () => {
  const columns = [["x", 0], ["l1", 1], ["s1", 1], ["y", 2]].map(([id, layer]) => ({ id, layer, letter: String(id)[0] }));
  const places = stripPlaces(["x", "l1", "s1", "y"], columns);
  const steps = places.slice(1).map(({ x }, k) => x - places[k].x);
  assert.ok(steps[0] > steps[1] && steps[2] === steps[0]);
  assert.deepEqual(places.map(({ letter }) => letter), ["x", "l", "s", "y"]);
});
