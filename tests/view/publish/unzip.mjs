// Unzips texts as a published page does: standard input has a list, standard output the bytes of each, or what is said.

import { readFileSync } from "node:fs";
import { unzipped } from "../../../src/rnnlens/view/page/web/net/unzip.js";

const found = [];
for (const text of JSON.parse(readFileSync(0, "utf8"))) {
  found.push(await unzipped(text).then((buffer) => [...new Uint8Array(buffer)], (error) => error.message));
}
process.stdout.write(JSON.stringify(found));
