import assert from "node:assert/strict";
import { test } from "node:test";

import { named } from "../../../src/rnnlens/page/web/frame/texts.js";

const LONG = "a | ".repeat(60).trim();
const TEXTS = ["the dog sees", "b | a", "a | b", "{ x }", "a | b", `${LONG} one`, `${LONG} two`];

/** Two at a time, as a server lists them. @param {string} find @param {number} first */
async function list(find, first) {
  const wanted = find.toLowerCase().split(/\s+/).filter(Boolean);
  const some = TEXTS.flatMap((words, k) => (wanted.every((one) => words.split(" ").some((word) => word.startsWith(one)))
    ? [{ text: `#${k}`, words: words.slice(0, 200) }] : []));
  return { total: TEXTS.length, found: some.length, texts: some.slice(first, first + 2) };
}

test("a text with a bar or braces of its own stands in braces by its number", async () => {
  const found = await Promise.all(["the dog sees", "#4", "a | b", "a  |  b ", "\\{ x \\}", "", "b | a"].map((text) => named(text, list)));
  assert.deepEqual(found, ["the dog sees", "#4", "#2", "#2", "#3", "", "#1"]);
});

test("no other text is shown where none is found, two begin alike, or nobody answers", async () => {
  assert.equal(await named("a | c", list), "a | c");
  assert.equal(await named(`${LONG} two`, list), `${LONG} two`);
  assert.equal(await named("a | b", () => Promise.reject(new Error("gone"))), "a | b");
});
