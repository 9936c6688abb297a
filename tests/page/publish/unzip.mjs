// Unzips texts as a published page does: standard input has texts, each with its size and its sum, standard output the bytes of each, or what is said.

import { readFileSync } from "node:fs";
import { unzipped } from "../../../src/rnnlens/page/web/net/unzip.js";

const found = [];
for (const [text, size, sum] of JSON.parse(readFileSync(0, "utf8"))) {
  found.push(await unzipped(text, size, sum).then((buffer) => [...new Uint8Array(buffer)], (error) => error.message));
}
process.stdout.write(JSON.stringify(found));
