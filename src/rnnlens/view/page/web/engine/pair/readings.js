// What is read of rows of a text or of lines of two: labels that are followed, and turns.

import { Sides } from "../follow.js";
import { Turns } from "../turns.js";
import { Pairing } from "./pairing.js";

/** @typedef {import("../network.js").Pause} Pause */
/** @typedef {import("../source.js").Request} Request */
/** @typedef {import("./source.js").SideBySide} SideBySide */
/** @typedef {import("../../base/schema.d.ts").Posts} Posts */
/**
 * Something that is read of each row of a text; null stands for a gap.
 * @template Row
 * @typedef {{row: (asked: Request, t: number) => Promise<Row>, gap: Row}} Reading
 */

/**
 * How probable labels are in rows or lines.
 * @param {SideBySide} source @param {Posts["api/follow"]["asked"]} question @param {Pause} pause
 * @returns {Promise<Posts["api/follow"]["answer"]>}
 */
export async function following(source, question, pause) {
  const asked = askedOf(source, question), [{ semantic, answers }] = asked instanceof Pairing ? asked.asked : [asked];
  const sides = new Sides(question.labels, question.against ?? [], answers.names), columns = source.columnsFor(semantic);
  const row = async (/** @type {Request} */ one, /** @type {number} */ t) => {
    /** @type {Map<string, number>} */ const at = new Map();
    await source.each(one, t, t + 1, (kind, step, logits) => at.set(`${kind} ${step}`, sides.value(logits, answers.several)), pause);
    return columns.map(({ kind, back }) => at.get(`${kind} ${t - back}`) ?? 0);
  };
  /** @type {number[]} */ const gap = [];
  const { from, rows } = await read(asked, question, { row, gap });
  return { labels: sides.labels, against: sides.against, from, rows };
}

/**
 * Where predictions turn in rows or lines.
 * @param {SideBySide} source @param {Posts["api/turns"]["asked"]} question @param {Pause} pause
 * @returns {Promise<Posts["api/turns"]["answer"]>}
 */
export async function turning(source, question, pause) {
  const asked = askedOf(source, question), several = asked instanceof Pairing ? asked.asked : [asked];
  const turns = new Map(several.map((one) => [one, new Turns(source, one)])), { edges, columns } = new Turns(source, several[0]);
  const gap = { edges: edges.map(() => null), above: columns.map(() => null), surprisal: null };
  const row = async (/** @type {Request} */ one, /** @type {number} */ t) => (await turns.get(one)?.row(t, pause)) ?? gap;
  return read(asked, question, { row, gap });
}

/** Two texts, or one. @param {SideBySide} source @param {Posts["api/turns"]["asked"]} question */
function askedOf(source, { text, semantic, edits, beside }) {
  return source.pairing(text, beside ?? null, semantic ?? null, null) ?? source.request(text, semantic ?? null, null, edits ?? []);
}

/**
 * The rows or lines that are asked for.
 * @template Row
 * @param {Pairing | Request} asked @param {Posts["api/turns"]["asked"]} question @param {Reading<Row>} reading
 */
async function read(asked, { first = 0, limit = 100 }, { row, gap }) {
  const lines = asked instanceof Pairing ? asked.lines : null;
  const count = lines?.length ?? (asked instanceof Pairing ? 0 : asked.ids.length), rows = [];
  for (let k = first; k < Math.min(count, first + limit); k++) {
    const line = lines?.[k], t = line ? line.row : k, one = asked instanceof Pairing ? asked.asked[line?.number ?? 0] : asked;
    rows.push(t === null ? gap : await row(one, t));
  }
  return { from: first, rows };
}
