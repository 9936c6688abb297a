// What a pin of another text or run shows.

import { quote, thousands } from "../base/format.js";
import { hold } from "../base/held.js";
import { Refusal } from "../base/refusal.js";
import { keep } from "../panel/pins.js";

/** @typedef {import("../base/schema.d.ts").Pin} Pin */

/**
 * Ask for the row that a pin is of.
 * @param {import("./source.js").Source["ask"]} ask @param {Pin} pin @param {string | null} palette @param {(problem: string) => void} tell what is wrong with the link
 * @returns {Promise<import("../panel/pins.js").Kept | null>} null: there is no such state
 */
export async function lookUp(ask, pin, palette, tell) {
  const { run, semantic, row } = pin, text = pin.text ?? "";
  const word = `the link pins word ${thousands(row + 1)} of “${quote(text)}”`;
  const found = await ask("api/grid", { run, text, semantic, palette, previous: text, have: row, limit: 1 }).catch((error) => {
    if (!(error instanceof Refusal) || error.status === 503) throw error;
    tell(`${word}: ${error.message}`);
  });
  if (!found) return null;
  if (row >= found.words.length) {
    tell(`${word}, which that text has not`);
    return null;
  }
  return keep(pin, { ...hold({ ...found, rows: [] }, null), rows: [...Array(found.from), ...found.rows] });
}
