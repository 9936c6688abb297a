// Reads texts as the engine does: standard input has {side, texts}, standard output what came of each.

import { readFileSync } from "node:fs";
import { Refusal } from "../../../src/rnnlens/page/web/base/refusal.js";
import { Text } from "../../../src/rnnlens/page/web/engine/text.js";

const { side, texts } = JSON.parse(readFileSync(0, "utf8"));
const text = new Text(side);

/** @param {string} given */
function read(given) {
  try {
    const words = text.words(given), ids = text.encode(words);
    return {
      words, ids: text.features ? ids.map((id) => text.values(id)) : ids, names: ids.map((id) => text.name(id)),
      unknown: ids.map((id) => text.isUnknown(id)), came: text.came(ids), labels: text.labelsOf(ids), places: text.places(ids),
    };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { refused: error.message };
  }
}

process.stdout.write(JSON.stringify(texts.map(read)));
