// Grids of texts, whole or the rows of one that changed, as rnnlens/reading/source.py makes them: a model, its probes and its
// colours, ready to be asked.

import { thousands } from "../base/format.js";
import { Comparison } from "./difference.js";
import { Refusal } from "../base/refusal.js";
import { Network, of, PREDICTION } from "./network.js";
import { Palette } from "./palette.js";
import { labelsJson, stateJson, wordsJson } from "./payload.js";
import { Probes } from "./probes.js";
import { repr } from "../base/python.js";
import { Rows } from "./rows.js";
import { Session } from "./session.js";
import { Text } from "./text.js";
import { firstNew, firstOther } from "./unchanged.js";
import { TextEdits } from "./why/changes.js";
import { parsed } from "../base/edits.js";

/** @typedef {import("../base/schema.d.ts").Grid} Grid */
/** @typedef {import("../base/schema.d.ts").GridRequest} GridRequest */
/** @typedef {import("./machine.js").Machine} Machine */
/** @typedef {import("./manifest.d.ts").Manifest} Manifest */
/** @typedef {import("./network.js").Pause} Pause */
/**
 * A sentence under a semantic and a palette, as words and as labels.
 * @typedef {{text: string, words: string[], ids: number[], came: number[], semantic: string, palette: string,
 *   answers: import("./text.js").Answers, leftOut: number, edits: TextEdits | null, dropped: string[],
 *   kinds: Set<string> | null}} Request whose states are wanted; null: all
 */
/** @typedef {import("./session.js").Changes} Changes */

export const LONGEST_TEXT = 20_000; // characters
export const LONGEST = 2_000; // words
const LIMIT = 100; // rows to answer with where nobody says
const STEP = 24; // rows whose states are read at once
const FEW = 4; // rows of which all that their states say is held at once

export class GridSource {
  /** @param {Manifest} manifest @param {Machine} machine */
  constructor(manifest, machine) {
    this.manifest = manifest;
    this.machine = machine;
    this.name = manifest.name;
    this.title = manifest.title;
    this.kinds = manifest.kinds;
    this.semantics = manifest.run.semantics;
    this.text = new Text(manifest.text);
    this.network = new Network(manifest.network, manifest.kinds, this.text, machine);
    this.probes = manifest.probes && new Probes(manifest.probes, machine);
    this.session = new Session(this.network, manifest.kinds);
    /** @type {Record<string, Record<string, Palette>>} */
    this.palettes = mapped(manifest.palettes, (some) => mapped(some, (one) => new Palette(one, machine)));
    this.rows = new Rows(this.session, this.probes, manifest.semantics, this.palettes,
      (semantic) => this.answers(semantic), manifest.predicts, machine);
    const counts = Object.keys(manifest.semantics).map((one) => this.answers(one)).map(({ names, several }) => names.length * (several ? 2 : 1));
    this.comparison = new Comparison(Math.max(...counts), machine);
  }

  /** What the states are asked for under a semantic. @param {string} semantic */
  answers(semantic) {
    return this.manifest.answers[this.manifest.semantics[semantic].palettes] ?? this.text.labels;
  }

  /** @param {string} semantic */
  palettesFor(semantic) {
    return this.palettes[this.manifest.semantics[semantic].palettes];
  }

  /** The columns of a grid. @param {string} semantic */
  columnsFor(semantic) {
    return this.manifest.semantics[semantic].columns;
  }

  /** How many words after the one just read the label stands. @param {string} semantic */
  offset(semantic) {
    return this.manifest.semantics[semantic].offset;
  }

  /**
   * Refuse what this lens cannot answer; edits that cannot be made are refused, or, with `lenient`, left out and said.
   * @param {string} text @param {string | null} semantic @param {string | null} palette @param {readonly string[]} [edits]
   * @param {boolean} [lenient] @returns {Request}
   */
  request(text, semantic, palette, edits = [], lenient = false) {
    const chosen = semantic || this.semantics[0] || "output";
    if (!Object.hasOwn(this.manifest.semantics, chosen)) {
      const there = this.semantics.join(", ") || "none";
      throw new Refusal(`${this.name} has no probes for the semantic ${repr(chosen)}; it has ${there}`);
    }
    const palettes = this.palettesFor(chosen), names = Object.keys(palettes);
    if (palette && !Object.values(this.palettes).some((some) => Object.hasOwn(some, palette))) {
      throw new Refusal(`${this.name} has no palette ${repr(palette)}; it has ${names.join(", ")}`);
    }
    const every = this.words(text), words = every.slice(0, LONGEST), ids = this.text.encode(words);
    const [made, dropped] = lenient ? TextEdits.possible(this, ids, chosen, edits) : [TextEdits.of(this, ids, chosen, edits), []];
    return {
      text, words, ids, came: this.text.came(ids), semantic: chosen,
      palette: palette && Object.hasOwn(palettes, palette) ? palette : names[0], // colours of another semantic are none here
      answers: this.answers(chosen), leftOut: every.length - words.length,
      edits: made.edits.length ? made : null, dropped, kinds: null,
    };
  }

  /** The same about the states that some columns show; where there are edits, about all. @param {Request} asked @param {string[] | null} columns */
  shown(asked, columns) {
    const kinds = this.columnsFor(asked.semantic).filter(({ id }) => columns?.includes(id)).map(({ kind }) => kind);
    return kinds.length && !asked.edits ? { ...asked, kinds: new Set(kinds) } : asked;
  }

  /** @param {string} text */
  words(text) {
    const length = text.length > LONGEST_TEXT ? [...text].length : text.length; // as Python counts characters
    if (length > LONGEST_TEXT) throw new Refusal(tooMany(length, "characters", LONGEST_TEXT));
    return this.text.words(text);
  }

  /**
   * The grid for somebody who has the first `have` rows of that of `previous` with `previous_edits`: its rows begin at
   * the first that is missing there or differs, and are `limit` at most.
   * @param {GridRequest} question @param {Pause} pause @returns {Promise<Grid>}
   */
  async grid(question, pause) {
    const { text, semantic = null, palette = null, previous = "", have = 0, limit = LIMIT } = question;
    const asked = this.shown(this.request(text, semantic, palette, question.edits, question.lenient), question.columns ?? null);
    const count = asked.ids.length;
    const known = this.text.encode(this.words(previous).slice(0, LONGEST));
    let first = Math.min(firstNew(asked.ids, known, this.offset(asked.semantic)),
      firstOther(asked.edits?.edits ?? [], parsed(question.previous_edits ?? [])));
    if (first < count && !this.network.causal) first = 0;
    first = Math.min(first, have, count);
    const last = Math.min(count, first + limit);
    /** @type {Pick<Grid, "labels" | "changes" | "rows">} */ const all = { labels: {}, changes: [], rows: [] };
    for (let start = first; start < last; start += STEP) {
      const { labels, rows, changes } = await this.block(asked, start, Math.min(start + STEP, last), pause);
      Object.assign(all.labels, labels);
      all.rows.push(...rows);
      all.changes.push(...changes);
    }
    return { ...this.head(asked), from: first, ...all };
  }

  /** Everything about a grid but its rows. @param {Request} asked */
  head(asked) {
    const { manifest, text } = this, { of_model: own, columns, edges } = manifest.semantics[asked.semantic];
    const palettes = this.palettesFor(asked.semantic), palette = palettes[asked.palette], { scale, several } = asked.answers;
    return {
      format: /** @type {const} */ ("rnnlens-grid"),
      version: /** @type {const} */ (1),
      run: this.name,
      title: this.title,
      text: asked.text,
      follows: text.follows,
      answer: own ? manifest.answer : null,
      semantic: asked.semantic,
      semantics: this.semantics,
      palette: asked.palette,
      palettes: Object.keys(palettes),
      groups: Object.fromEntries(palette.groups.map((group, k) => [group, palette.colours[k]])),
      columns,
      edges,
      numbers: text.labels.scale !== null,
      scale: scale && { edges: scale.edges, names: scale.names },
      several,
      words: wordsJson(asked.words, asked.ids, text, palette, own),
      left_out: asked.leftOut,
      edits: (asked.edits?.edits ?? []).map(String),
      dropped: asked.dropped,
      sides: [],
      lines: [],
      notes: [],
    };
  }

  /**
   * The rows first..last-1, what edits have changed in them, and the groups of the labels they name.
   * @param {Request} asked @param {number} first @param {number} last @param {Pause} pause
   */
  async block(asked, first, last, pause) {
    const palette = this.palettesFor(asked.semantic)[asked.palette], { names } = asked.answers;
    const encoded = await this.rows.encoded(asked, first, last, pause), columns = this.columnsFor(asked.semantic);
    /** @type {number[]} */ const named = [];
    const rows = [];
    for (let t = first; t < last; t++) {
      rows.push(columns.map(({ kind, back }) => {
        const found = encoded.get(t - back)?.get(kind);
        if (!found && asked.kinds && !asked.kinds.has(kind)) return null;
        if (!found) throw new Error(`nothing is known of ${kind} at ${t - back}`);
        named.push(...found.encoding.labels, ...(found.wanted < 0 ? [] : [found.wanted]));
        return { ...stateJson(found.encoding, found.outcome, found.wanted, names, palette), unread: t < back };
      }));
    }
    const changes = asked.edits ? await this.changes(asked, first, last, pause) : [];
    return { labels: labelsJson(named, names, palette), rows, changes };
  }

  /** What edits have changed in every state. @param {Request} asked @param {number} first @param {number} last @param {Pause} pause */
  async changes(asked, first, last, pause) {
    const rows = [], unedited = { ...asked, edits: null };
    for (let start = first; start < last; start += FEW) {
      const end = Math.min(start + FEW, last), before = await this.said(unedited, start, end, pause);
      const after = end <= (asked.edits?.first ?? 0) ? before : await this.said(asked, start, end, pause);
      for (const [k, states] of after.entries()) {
        rows.push(await this.comparison.changes(states, before[k], asked.answers, pause));
      }
    }
    return rows;
  }

  /**
   * What each state of some rows says of every label, row by row and column by column.
   * @param {Request} asked @param {number} first @param {number} last @param {Pause} pause
   */
  async said(asked, first, last, pause) {
    /** @type {Map<string, Float32Array>} */ const at = new Map();
    await this.each(asked, first, last, (kind, t, logits) => at.set(`${kind} ${t}`, logits), pause);
    const columns = this.columnsFor(asked.semantic), none = new Float32Array(0);
    return Array.from({ length: last - first }, (_, k) =>
      columns.map(({ kind, back }) => at.get(`${kind} ${first + k - back}`) ?? none));
  }

  /**
   * States of every kind and of `y` after some words, and before the first of them.
   * @param {number[]} ids @param {number} first @param {number} last @param {Changes | null} edits @param {Pause} pause
   */
  read(ids, first, last, edits, pause) {
    return this.session.read(ids, first, last, edits, pause);
  }

  /**
   * The same of a text that is asked about.
   * @param {Request} asked @param {number} first @param {number} last @param {Pause} pause
   */
  states(asked, first, last, pause) {
    return this.session.read(asked.ids, first, last, asked.edits, pause);
  }

  /**
   * What every state of some rows says of every label.
   * @param {Request} asked @param {number} first @param {number} last
   * @param {(kind: string, t: number, logits: Float32Array) => void} work @param {Pause} pause
   */
  each(asked, first, last, work, pause) {
    return this.rows.each(asked, first, last, work, pause);
  }

  /** A column by its id; an error where the grid has none such, or no such row. @param {Request} asked @param {string} id @param {number} row */
  column(asked, id, row) {
    const columns = this.columnsFor(asked.semantic), found = columns.find((column) => column.id === id);
    if (!found) {
      throw new Refusal(`${this.name} has no column ${repr(id)}; it has ${columns.map((one) => one.id).join(", ")}`);
    }
    if (row >= asked.ids.length) throw new Refusal(`there is no row ${row}; the text has ${asked.ids.length} words`);
    return found;
  }

  /** One state. @param {Request} asked @param {string} id @param {number} row @param {Pause} pause */
  async vector(asked, id, row, pause) {
    const { kind, back } = this.column(asked, id, row), { states, before } = await this.states(asked, row, row + 1, pause);
    return back ? before.get(kind) ?? new Float32Array(0) : of(states, kind)[0];
  }

  /** What one state says of every label. @param {Request} asked @param {string} id @param {number} row @param {Pause} pause */
  async logits(asked, id, row, pause) {
    const { kind } = this.column(asked, id, row);
    return this.rows.logitsOf(asked, kind, await this.vector(asked, id, row, pause));
  }

  /** What the model predicts after a word, as it gives it: numbers where it predicts these. @param {Request} asked @param {number} row @param {Pause} pause */
  async prediction(asked, row, pause) {
    const { states } = await this.states(asked, row, row + 1, pause);
    return this.network.prediction(of(states, PREDICTION)[0]);
  }
}

/** @template A, B @param {Record<string, A>} values @param {(value: A) => B} by @returns {Record<string, B>} */
function mapped(values, by) {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, by(value)]));
}

/** What is wrong with a text that is too long. @param {number} count @param {string} things @param {number} most */
export function tooMany(count, things, most) {
  return `${thousands(count)} ${things} are too many; give at most ${thousands(most)}`;
}
