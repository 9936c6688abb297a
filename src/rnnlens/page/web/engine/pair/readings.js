// What is read of rows of a text or of lines of two: labels that are followed, and turns.

import { Sides } from "../follow.js";
import { Turns } from "../turns.js";
import { Pairing, spanOf } from "./pairing.js";

/** @typedef {import("../network.js").Pause} Pause */
/** @typedef {import("../source.js").Request} Request */
/** @typedef {import("./source.js").SideBySide} SideBySide */
/** @typedef {import("../../base/schema.d.ts").Posts} Posts */
/**
 * What is read of the rows first..last-1 of a text, and what stands for a gap.
 * @template Row
 * @typedef {{rows: (asked: Request, first: number, last: number) => Promise<Row[]>, gap: Row}} Reading
 */

/**
 * How probable labels are in rows or lines.
 * @param {SideBySide} source @param {Posts["api/follow"]["asked"]} question @param {Pause} pause
 * @returns {Promise<Posts["api/follow"]["answer"]>}
 */
export async function following(source, question, pause) {
  const asked = askedOf(source, question), [{ semantic, answers }] = requestsOf(asked);
  const sides = new Sides(question.labels, question.against ?? [], answers.names), columns = source.columnsFor(semantic);
  /** @type {Reading<number[]>} */
  const reading = {
    gap: [],
    rows: async (one, first, last) => {
      /** @type {Map<string, number>} */ const at = new Map();
      await source.each(one, first, last, (kind, t, logits) => at.set(`${kind} ${t}`, sides.value(logits, answers.several)), pause);
      return steps(first, last).map((t) => columns.map(({ kind, back }) => at.get(`${kind} ${t - back}`) ?? 0));
    },
  };
  return { labels: sides.labels, against: sides.against, ...await read(asked, question, reading) };
}

/**
 * Where predictions turn in rows or lines.
 * @param {SideBySide} source @param {Posts["api/turns"]["asked"]} question @param {Pause} pause
 * @returns {Promise<Posts["api/turns"]["answer"]>}
 */
export async function turning(source, question, pause) {
  const asked = askedOf(source, question), { edges, columns } = new Turns(source, requestsOf(asked)[0], 0);
  /** @type {Reading<import("../../base/schema.d.ts").TurnRow>} */
  const reading = {
    gap: { edges: edges.map(() => null), above: columns.map(() => null), surprisal: null },
    rows: async (one, first, last) => {
      const turns = new Turns(source, one, last), rows = [];
      for (const t of steps(first, last)) rows.push(await turns.row(t, pause));
      return rows;
    },
  };
  return read(asked, question, reading);
}

/** Two texts, or one. @param {SideBySide} source @param {Posts["api/turns"]["asked"]} question */
function askedOf(source, { text, semantic, edits }) {
  return source.pairing(text, semantic ?? null, null) ?? source.request(text, semantic ?? null, null, edits ?? []);
}

/** @param {Pairing | Request} asked */
function requestsOf(asked) {
  return asked instanceof Pairing ? asked.asked : [asked];
}

/**
 * The rows or lines that are asked for.
 * @template Row
 * @param {Pairing | Request} asked @param {Posts["api/turns"]["asked"]} question @param {Reading<Row>} reading
 */
async function read(asked, { first = 0, limit = 100 }, { rows, gap }) {
  if (!(asked instanceof Pairing)) {
    return { from: first, rows: await rows(asked, first, Math.max(first, Math.min(asked.ids.length, first + limit))) };
  }
  const lines = asked.lines.slice(first, first + limit), spans = [0, 1].map((side) => spanOf(lines, side));
  /** @type {Row[][]} */ const found = [];
  for (const [side, span] of spans.entries()) found.push(span ? await rows(asked.asked[side], ...span) : []);
  return {
    from: first,
    rows: lines.map(({ number, row }) => (row === null ? gap : found[number][row - (spans[number]?.[0] ?? 0)])),
  };
}

/** @param {number} first @param {number} last */
function steps(first, last) {
  return Array.from({ length: last - first }, (_, k) => first + k);
}
