// Asks the engine of a packed lens for everything at the same time, where all others have a turn whenever there is a pause,
// and prints the answers.

import { readFileSync } from "node:fs";

import { turn } from "../../../src/rnnlens/page/web/base/turn.js";
import { ANSWERS, Engine } from "../../../src/rnnlens/page/web/engine/engine.js";

const { manifest, blob, questions } = JSON.parse(readFileSync(0, "utf-8"));
const { subject } = await Engine.of(manifest, Uint8Array.from(Buffer.from(blob, "base64")).buffer, { wasm: false });
let pauses = 0;
const pause = () => (pauses++, turn());
const answers = await Promise.all(questions.map(([path, asked]) => ANSWERS[path](subject, asked, pause)));
process.stdout.write(JSON.stringify({ answers, pauses }));
