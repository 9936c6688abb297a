// Asks the engine of a published lens the questions that stand on standard input, and prints its answers, or the lines
// with which it refuses. Its arguments are the files of the manifest and of the tensors.

import { readFileSync } from "node:fs";

const { Engine } = await import("../../../src/rnnlens/view/page/web/engine/engine.js");

const [manifest, blob] = process.argv.slice(2).map((name) => readFileSync(name));
const tensors = blob.buffer.slice(blob.byteOffset, blob.byteOffset + blob.length);
const engine = await Engine.of(JSON.parse(manifest.toString("utf-8")), tensors, { wasm: false });

const answers = [];
for (const [path, asked] of JSON.parse(readFileSync(0, "utf-8"))) {
  try {
    answers.push({ gives: await engine.answer(path, asked) });
  } catch (error) {
    if (!["RnnlensError", "Refusal"].includes(error.constructor.name)) throw error;
    answers.push({ refuses: error.message });
  }
}
console.log(JSON.stringify(answers));
