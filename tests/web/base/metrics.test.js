import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { METRICS } from "../../../src/rnnlens/page/web/base/metrics.js";

// The table itself, and what writes questions, whose words are those of a language.
const WEB = new URL("../../../src/rnnlens/page/web", import.meta.url).pathname;
const files = ["base", "corpus", "frame", "grid", "panel"].flatMap((folder) =>
  readdirSync(join(WEB, folder)).filter((name) => name.endsWith(".js") && !["metrics.js", "clauses.js", "question.js"].includes(name)).map((name) => join(WEB, folder, name)));
const sources = new Map(files.map((file) => [file.slice(WEB.length + 1), readFileSync(file, "utf8")]));

/** Words that name a number, and the entry that says what it is. @type {[RegExp, keyof typeof METRICS][]} */
const NAMES = [
  [/entropy/, "entropy"], [/perplexity \$\{|Perplexity/, "perplexity"], [/bits of surprisal/, "surprisal"], [/macro F1/, "macro F1"],
  [/calibration error/, "calibration error"], [/average precision/, "average precision"], [/absolute error/, "mean absolute error"],
  [/swapped/, "swapped"], [/learnt by/, "learnt by"],
];

test("every number has one sentence or two with its unit or its ends", () => {
  for (const [name, told] of Object.entries(METRICS)) {
    assert.match(told, /^[A-Z].*\.$/, name);
    assert.match(told, /percent|bits|labels?\b|unit|from 0|0:|\b1\b|epochs|logarithms|probab/, `${name} has a unit or says what its ends mean`);
  }
});

test("every number that is named on the screen is in the table", () => {
  for (const [file, source] of sources) {
    const drawn = [...source.matchAll(/"([^"\n]*)"|`([^`]*)`/g)].map((found) => found[1] ?? found[2]).join("\n");
    for (const [pattern, name] of NAMES) {
      if (pattern.test(drawn)) assert.ok(source.includes("base/metrics.js") && name in METRICS, `${file} names ${name} and does not say what it is`);
    }
  }
});

test("what the table says is said somewhere", () => {
  const all = [...sources.values()].join("\n");
  for (const name of Object.keys(METRICS)) {
    assert.ok([`"${name}"`, `METRICS.${name}`, `METRICS["${name}"]`].some((use) => all.includes(use)), `nothing shows what ${name} is`);
  }
});
