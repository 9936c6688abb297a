import assert from "node:assert/strict";
import { test } from "node:test";
import * as format from "../../../src/rnnlens/page/web/base/format.js";
import { grid, state } from "../sample.js";

const table = (name, call, rows) => test(name, () => rows.forEach(([given, wanted]) => assert.equal(call(given), wanted)));

table("percent", format.percent, [[1, "100%"], [0.9999, ">99.9%"], [0.5, "50%"], [0.0995, "10%"], [0.05, "5.0%"], [0.0004, "<0.1%"], [0, "<0.1%"]]);
table("probability", format.probability, [[0.41234, "0.41"], [0.0995, "0.10"], [0.041158, "0.041"], [0.0004, "0.0004"], [1e-9, "<0.0001"], [1, "1.00"]]);
table("ordinal", format.ordinal, [[1, "1st"], [2, "2nd"], [3, "3rd"], [4, "4th"], [11, "11th"], [12, "12th"], [13, "13th"],
  [21, "21st"], [111, "111th"], [112, "112th"], [1002, "1,002nd"], [14635, "14,635th"]]);
table("perplexity", format.perplexity, [[129.1, "129"], [1.04, "1.04"], [12345.6, "12,346"], [null, "not measured"], [Infinity, "not measured"]]);
table("divergence", format.apart, [[{ bits: 0.456, exact: true }, "0.46 bits"], [{ bits: 0.419, exact: false }, "at least 0.41 bits"]]);
table("semantics", format.semanticName, [["output", "next word"], ["input", "current word"], ["output+2", "2 words later"],
  ["output+1", "1 word later"], ["output-3", "3 words earlier"], ["toString", "toString"]]);
table("what cannot be seen is made visible", format.visible, [["a\tb", "a\u2409b"], ["\u0000", "\u2400"], ["\u007f", "\u2421"],
  ["\u202eabc", "\u25ccabc"], ["\ud800", "\ufffd"], ["\u{1f600}", "\u{1f600}"], ["\u0634", "\u0634"]]);

test("layers and columns have names", () => {
  const { columns } = grid(), last = format.lastLayer(columns);
  assert.equal(last, 2);
  assert.deepEqual([0, 1, 2].map((layer) => format.layerName(layer, last)), ["input", "layer 1", "model"]);
  assert.equal(format.columnName(columns[0], last), "kind x");
  assert.equal(format.columnName(columns[1], last), "kind f, layer 1");
});

test("a state has read the word of its own timestep", () => {
  const { columns, words, lines } = grid(), previous = columns.find((column) => column.back === 1);
  assert.equal(format.wordAfter({ words, lines }, columns[0], 1), "said");
  assert.equal(format.wordAfter({ words, lines }, previous, 1), "we");
  assert.equal(format.wordAfter({ words, lines }, previous, 0), "the start");
});

test("the right answer is called by what was asked, and the prediction is always asked about the next word", () => {
  const { columns } = grid(), own = columns.at(-1);
  assert.equal(format.semanticName("output", false), "label");
  assert.equal(format.semanticName("output+2", false), "label 2 words later");
  assert.match(format.semanticHelp("output", false), /the label of its word/);
  assert.match(format.semanticHelp("output-1", false), /the label 1 before its own/);
  assert.equal(format.wantedName("input", columns[0]), "the word read");
  assert.equal(format.wantedName("input", own), "what came next");
  assert.equal(format.wantedName("output", own, false), "the right label");
  assert.equal(format.wantedName("output+2", columns[0]), "what came 2 words later");
});

test("a state is told in words", () => {
  const told = format.describe({ placeholders: new Map([["UNK", "rare word"]]) }, state([["<b>", 0.5], ["a\tb", 0.25], [",", 0.2], ["UNK", 0.1], ["c", 0.01]]), "cell state, layer 2", "she", 4);
  assert.equal(told, "cell state, layer 2, after she: verb 78%; <b> 50%, a\u2409b 25%, comma (,) 20%, rare word (UNK) 10%");
});

test("how much is used is said with its interval, and in a word where there is one", () => {
  const ends = { low: 0.02, high: 0.041 };
  assert.equal(format.usedWords({ used_interval: ends, called: "hardly used" }), "0.02\u20130.04, hardly used");
  assert.equal(format.usedWords({ used_interval: ends, called: "" }), "0.02\u20130.04");
  assert.equal(format.usedWords({ used_interval: null, called: "" }), "");
});

test("a probability is off where its tenth was measured to be", () => {
  const off = [{ start: 0.7, accuracy: 0.55, states: 900 }, { start: 0.9, accuracy: 0.7, states: 80 }];
  const at = (p) => format.offHere({ off }, { top: [["a", p]] })?.accuracy ?? null;
  assert.deepEqual([0.69, 0.7, 0.799, 0.8, 0.95, 1].map(at), [null, 0.55, 0.55, null, 0.7, 0.7]);
  assert.equal(format.offHere({}, { top: [["a", 0.7]] }), null);
  assert.equal(format.offHere({ off }, { top: [] }), null);
});

test("of numbers what came is the number itself, where the text has it", () => {
  const scale = { edges: [-1, 0, 0.8, 1.01, 2], names: ["below 0.0", "0.0 to 0.8", "0.80 to 1.01", "1.01 or more"] };
  const made = { ...grid(), lines: [], scale, follows: true, semantic: "output", words: [0.2, 1.003, 1.4].map((value) => ({ value })) };
  const [column] = made.columns, own = { ...column, letter: "y" }, wanted = (name) => ({ wanted: [name, 0.5, 1] });
  const came = (semantic, row, name, of = column) => format.cameNumber({ ...made, semantic }, row, of, wanted(name));
  assert.equal(came("output", 0, "0.80 to 1.01"), 1.003);
  assert.equal(came("output", 1, "1.01 or more"), 1.4);
  assert.equal(came("input", 1, "0.80 to 1.01"), 1.003);
  assert.equal(came("input", 1, "1.01 or more", own), 1.4);
  assert.equal(came("output+1", 0, "1.01 or more"), 1.4);
  assert.equal(came("output", 2, "1.01 or more"), null); // nothing came yet
  assert.equal(came("output", 0, "below 0.0"), null); // it is not that number that was asked about
  assert.equal(format.cameNumber({ ...made, scale: null }, 0, column, wanted("x")), null);
});

test("what a rectangle stands for is said by the rule that it follows", () => {
  const asked = { semantic: "output", follows: true };
  assert.match(format.readHelp({ ...asked, rule: "excess" }), /the group that is most above its base rate\./);
  assert.match(format.readHelp({ ...asked, rule: "paper" }), /the group that leads among them\./);
  for (const each of [{ alone: true }, { several: true }]) {
    assert.match(format.readHelp({ ...asked, ...each, rule: "excess" }), /the label that is most above its base rate, paler nearer to it\./);
    assert.match(format.readHelp({ ...asked, ...each, rule: "paper" }), /the likeliest, paler where it is less probable\./);
  }
  assert.match(format.readHelp({ ...asked, scale: {} }), /Number: the mean, and of the model itself its own\./);
});
