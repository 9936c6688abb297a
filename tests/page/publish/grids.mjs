// Asks engines of packed lenses for what stands on standard input, and prints their answers, or the lines with which they
// refuse. Each lens is asked with WebAssembly and without.

import { readFileSync } from "node:fs";

import { Engine } from "../../../src/rnnlens/page/web/engine/engine.js";

const { lenses, ways, questions } = JSON.parse(readFileSync(0, "utf-8"));
const answers = [];
for (const wasm of ways) {
  const engines = [];
  for (const { manifest, blob } of lenses) {
    engines.push(await Engine.of(manifest, Uint8Array.from(Buffer.from(blob, "base64")).buffer, { wasm }));
  }
  for (const [lens, path, asked] of questions) {
    try {
      answers.push({ gives: await engines[lens].answer(path, asked) });
    } catch (error) {
      if (error.constructor.name !== "Refusal") throw error;
      answers.push({ refuses: error.message });
    }
  }
}
process.stdout.write(JSON.stringify(answers));
