// Asks the engine of a packed lens for grids one after the other, and prints them with the rows that each has cost.

import { readFileSync } from "node:fs";

import { Engine } from "../../../src/rnnlens/page/web/engine/engine.js";

const { manifest, blob, questions } = JSON.parse(readFileSync(0, "utf-8"));
const engine = await Engine.of(manifest, Uint8Array.from(Buffer.from(blob, "base64")).buffer, { wasm: true });
const { rows } = engine.subject, answers = [];
for (const asked of questions) {
  const before = rows.computed, gives = await engine.answer("api/grid", asked);
  answers.push({ gives, computed: rows.computed - before });
}
process.stdout.write(JSON.stringify(answers));
