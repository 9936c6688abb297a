// Reads links as the page does: each gives its view, and what of it means nothing.

import { readFileSync } from "node:fs";

const { decode } = await import("../../../src/rnnlens/page/web/net/address.js");

console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf-8")).map(decode)));
