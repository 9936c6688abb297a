// The engine: what it refuses before it computes anything.

import assert from "node:assert/strict";
import test from "node:test";

import { Engine } from "../../../src/rnnlens/page/web/engine/engine.js";

test("a file of another version is refused in one line", async () => {
  for (const [format, version] of [["rnnlens-lens", 2], ["a-lens", 1]]) {
    const manifest = /** @type {any} */ ({ format, version });
    await assert.rejects(Engine.of(manifest, new ArrayBuffer(0), { wasm: false }), {
      status: 400, message: `the file is ${format} ${version}, and its page reads rnnlens-lens 1; publish the lens again`,
    });
  }
});
