// Grids of two texts side by side, beside those of single texts.

import { Refusal } from "../../base/refusal.js";
import { OTHER } from "../payload.js";
import { first, repr } from "../../base/python.js";
import { GridSource } from "../source.js";
import { firstOther } from "../unchanged.js";
import { parsed } from "../../base/edits.js";
import { plain, twoTexts } from "./notation.js";
import { Pairing, spanOf } from "./pairing.js";

/** @typedef {import("../network.js").Pause} Pause */
/** @typedef {import("../source.js").Request} Request */
/** @typedef {import("./pairing.js").Line} Line */
/** @typedef {import("../../base/schema.d.ts").Change} Change */
/** @typedef {import("../../base/schema.d.ts").Grid} Grid */
/** @typedef {import("../../base/schema.d.ts").GridRequest} GridRequest */
/** @typedef {import("../../base/schema.d.ts").State} State */

const ONE = "edits change one text; take the braces away, or what is compared with, to make them";
const STEP = 8; // lines at once
const LIMIT = 100; // lines to answer with where nobody says
const GAP_WORD = { text: "", label: "", unknown: false, group: OTHER, value: null };
/** No word was read, so that no state says anything. @type {State} */
const GAP = { colour: "#ffffff", group: OTHER, share: 0, entropy: 0, top: [], wanted: null, unread: true, number: null };

/** A lens that reads single texts, and two at once: `the keys {is|are} here`. */
export class SideBySide extends GridSource {
  /** The texts that braces stand for; null: it is one text. @param {string} text */
  twoTexts(text) {
    return twoTexts(text, this.text.index);
  }

  /** What is compared: two texts in one. Null: it is one text. @param {string} text @param {string | null} semantic @param {string | null} palette */
  pairing(text, semantic, palette) {
    const texts = this.twoTexts(text);
    return texts && this.pairingOf(texts, semantic, palette);
  }

  /** @param {[string, string]} texts @param {string | null} semantic @param {string | null} palette */
  pairingOf([first, second], semantic, palette) {
    const one = super.request(first, semantic, palette, [], false);
    const known = palette !== null && Object.hasOwn(this.palettes[""] ?? {}, palette) ? palette : null;
    return new Pairing(this, [one, super.request(second, one.semantic, known, [], false)]);
  }

  /**
   * Refuse two texts where one is wanted.
   * @param {string} text @param {string | null} semantic @param {string | null} palette @param {readonly string[]} edits
   * @param {boolean} lenient @returns {Request}
   */
  request(text, semantic, palette, edits = [], lenient = false) {
    if (this.twoTexts(text)) {
      throw new Refusal(`${repr(first(text, 60))} holds two texts, and this is asked of one; give one`);
    }
    return super.request(text, semantic, palette, edits, lenient);
  }

  /** The grid of one text or of two. @param {GridRequest} question @param {Pause} pause @returns {Promise<Grid>} */
  async grid(question, pause) {
    const { text, semantic = null, palette = null, previous = "", have = 0, limit = LIMIT, edits = [] } = question;
    const pairing = this.pairing(text, semantic, palette);
    if (!pairing) return super.grid(this.isOne(previous) ? question : { ...question, previous: "", have: 0 }, pause);
    if (edits.length && !question.lenient) throw new Refusal(ONE);
    let from = Math.min(have, pairing.lines.length);
    if (from) from = Math.min(from, this.firstNew(pairing, previous), firstOther([], parsed(question.previous_edits ?? [])));
    /** @type {Grid} */
    const grid = { ...this.headOf(pairing, text), dropped: edits.length ? [ONE] : [], from, labels: {}, changes: [], rows: [] };
    const end = Math.min(pairing.lines.length, from + limit);
    for (let start = from; start < end; start += STEP) {
      const { labels, changes, rows } = await this.lines(pairing, pairing.lines.slice(start, Math.min(start + STEP, end)), pause);
      Object.assign(grid.labels, labels);
      grid.changes.push(...changes);
      grid.rows.push(...rows);
    }
    return grid;
  }

  /** The words of a single text, whose braces may have backslashes before them. @param {string} text */
  words(text) {
    return super.words(plain(text, this.text.index));
  }

  /** Whether a text is one; lines of two texts are no rows of one. @param {string} text */
  isOne(text) {
    return this.unlessRefused(() => this.twoTexts(text) === null, false);
  }

  /** The first line that is another than in the grid of a text before. @param {Pairing} pairing @param {string} previous */
  firstNew(pairing, previous) {
    const [{ semantic, palette }] = pairing.asked;
    const before = () => this.pairingOf(this.twoTexts(previous) ?? [previous, previous], semantic, palette);
    return this.unlessRefused(() => pairing.firstNew(before()), 0); // a text may have had no grid
  }

  /** @template T @param {() => T} work @param {T} otherwise */
  unlessRefused(work, otherwise) {
    try {
      return work();
    } catch (error) {
      if (error instanceof Refusal) return otherwise;
      throw error;
    }
  }

  /** Everything about a comparison but its lines. @param {Pairing} pairing @param {string} text */
  headOf({ asked, lines }, text) {
    const heads = asked.map((one) => this.head(one)), words = heads.map((head) => head.words);
    return {
      ...heads[0],
      text,
      words: lines.map(({ number, row }) => (row === null ? GAP_WORD : words[number][row])),
      lines: lines.map((line) => line.toJson()),
      sides: asked.map((one) => ({ run: this.name, title: this.title, text: one.text, columns: [] })),
    };
  }

  /**
   * Some lines: their states, the labels these name, and of lines of the second text how far each state lies from the one
   * beside it.
   * @param {Pairing} pairing @param {Line[]} lines @param {Pause} pause
   */
  async lines({ asked }, lines, pause) {
    const spans = [0, 1].map((side) => spanOf(lines, side)), columns = this.columnsFor(asked[0].semantic);
    const apart = lines.some(({ side, rows }) => side === "second" && !rows.includes(null));
    /** @type {Pick<Grid, "labels" | "rows">[]} */ const drawn = [];
    /** @type {Float32Array[][][]} */ const said = [];
    for (const [side, span] of spans.entries()) {
      drawn.push(span ? await this.block(asked[side], ...span, pause) : { labels: {}, rows: [] });
      said.push(span && apart ? await this.said(asked[side], ...span, pause) : []);
    }
    const place = (/** @type {0 | 1} */ side, /** @type {number} */ row) => row - (spans[side]?.[0] ?? 0);
    /** @type {Change[][]} */ const changes = [];
    for (const { side, rows: [a, b] } of lines) {
      const whole = side === "second" && a !== null && b !== null;
      changes.push(whole ? await this.comparison.changes(said[1][place(1, b)], said[0][place(0, a)], asked[0].answers, pause) : []);
    }
    return {
      labels: { ...drawn[1].labels, ...drawn[0].labels },
      changes,
      rows: lines.map(({ number, row }) =>
        (row === null ? columns.map(() => GAP) : drawn[number].rows[place(number, row)])),
    };
  }
}
