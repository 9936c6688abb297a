// Calls functions of the published page's engine with the arguments that stand on standard input, and prints what each
// gives, or the line with which it refuses.

import { readFileSync } from "node:fs";

const WEB = "../../../src/rnnlens/page/web";
const { aligned } = await import(`${WEB}/engine/alignment.js`);
const { closeMatches, numberOf } = await import(`${WEB}/engine/labels.js`);
const { float, floatRepr, folded, general, repr } = await import(`${WEB}/engine/python.js`);
const { Edit } = await import(`${WEB}/engine/why/edit.js`);
const { twoTexts } = await import(`${WEB}/engine/notation.js`);

const FUNCTIONS = {
  aligned,
  closeMatches,
  float: (text) => (float(text) === null ? null : floatRepr(float(text))),
  floatRepr,
  folded: (words) => new Set(words.map(folded)).size,
  general,
  numberOf,
  parse: (text) => String(Edit.parse(text)),
  repr,
  twoTexts: (text, known) => twoTexts(text, new Set(known)),
};

/** What a function gives, or why it refuses. */
function outcome([name, ...given]) {
  try {
    return { gives: FUNCTIONS[name](...given) };
  } catch (error) {
    if (error.constructor.name !== "Refusal") throw error;
    return { refuses: error.message };
  }
}

console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf-8")).map(outcome)));
