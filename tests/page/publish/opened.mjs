// Opens packed lenses one after the other and reads a text with each: prints what stands in its grid, the line with which
// it is refused, or, as `fails`, an error that nobody wrote a line for.

import { readFileSync } from "node:fs";

import { Engine } from "../../../src/rnnlens/page/web/engine/engine.js";

const { blob, manifests, text } = JSON.parse(readFileSync(0, "utf-8")), answers = [];
for (const manifest of manifests) {
  try {
    const engine = await Engine.of(manifest, Uint8Array.from(Buffer.from(blob, "base64")).buffer, { wasm: true });
    answers.push({ gives: (await engine.answer("api/grid", { text })).rows });
  } catch (error) {
    answers.push({ [error.constructor.name === "Refusal" ? "refuses" : "fails"]: error.message });
  }
}
process.stdout.write(JSON.stringify(answers));
