// A text as a subject reads it: its words, their numbers, the labels that came, and its edits.

import { shownColumns } from "../base/columns.js";
import { thousands } from "../base/format.js";
import { repr } from "./python.js";
import { filled, Refusal } from "../base/refusal.js";
import { COUNTS, NOTICES } from "../base/rules.js";
import { of, PREDICTION } from "./network.js";
import { plain } from "./notation.js";
import { refusal } from "./refusals.js";
import { TextEdits } from "./why/changes.js";

/** @typedef {{words: string[], ids: number[], came: number[], leftOut: number}} Read */

/** A text under a semantic and a palette, perhaps with edits on the way. */
export class Reading {
  /**
   * @param {Subject} subject @param {string} text @param {string} semantic @param {string} palette @param {Read} read
   * @param {{edits?: Edit[], wanted?: Set<string> | null}} [options] changes on the way, and the columns whose states are wanted; null: all
   */
  constructor(subject, text, semantic, palette, read, { edits = [], wanted = null } = {}) {
    this.subject = subject;
    this.text = text;
    this.semantic = semantic;
    this.palette = palette;
    this.read = read;
    this.words = read.words;
    this.ids = read.ids;
    /** The label each word is, where the text tells what came; else -1. */ this.came = read.came;
    /** Words of the text beyond the most that are read. */ this.leftOut = read.leftOut;
    /** The label that is right at each state, where texts tell it. */ this.told = subject.text.told(read.ids, subject.manifest.semantics[semantic].asks);
    this.answers = subject.answers(semantic);
    this.columns = subject.columnsFor(semantic);
    this.edits = edits.length ? new TextEdits(subject, read.ids, semantic, edits) : null;
    /** The columns whose states are wanted; null: all. */ this.wanted = wanted;
    const shown = this.columns.filter(({ id }) => this.wants(id));
    /** The kinds that these show; null: all. */ this.kinds = wanted && new Set(shown.map(({ kind }) => kind));
    /** Those that one of them shows one step back. */ this.earlier = new Set(shown.filter(({ back }) => back).map(({ kind }) => kind));
  }

  /** Refuse what a subject cannot read. @param {Subject} subject @param {string} text @param {string | null} semantic @param {string | null} palette */
  static of(subject, text, semantic, palette) {
    const chosen = subject.checkedSemantic(semantic), colours = subject.checkedPalette(palette, chosen);
    const every = wordsOf(subject, text), words = every.slice(0, COUNTS.text_words), ids = subject.text.numbers(plain(text, subject.text.index), words);
    return new Reading(subject, text, chosen, colours, { words, ids, came: subject.text.came(ids), leftOut: every.length - words.length });
  }

  /** The text with these edits on the way. @param {Edit[]} edits */
  edited(edits) {
    if (!this.subject.manifest.run.reads) throw refusal("no_network", { what: "an edit" });
    return new Reading(this.subject, this.text, this.semantic, this.palette, this.read, { edits, wanted: this.wanted });
  }

  /** The text with the same edits and other words. @param {number[]} ids */
  goingOn(ids) {
    const read = { ...this.read, ids };
    return new Reading(this.subject, this.text, this.semantic, this.palette, read, { edits: this.madeEdits });
  }

  /** The edits that are made. */
  get madeEdits() {
    return this.edits?.edits ?? [];
  }

  /**
   * The text, of which only some columns are wanted, and those that show a kind of `always`; one of which none of its columns is
   * named is wanted whole.
   * @param {string[]} columns their names @param {string[]} always
   */
  showing(columns, always = []) {
    const named = new Set(shownColumns(this, columns).map(({ id }) => id)), { madeEdits: edits } = this;
    if (!named.size) return this;
    const wanted = new Set(this.columns.flatMap(({ id, kind }) => (named.has(id) || always.includes(kind) ? [id] : [])));
    return new Reading(this.subject, this.text, this.semantic, this.palette, this.read, { edits, wanted });
  }

  /** Whether the states of a column are wanted. @param {string} id */
  wants(id) {
    return !this.wanted || this.wanted.has(id);
  }

  /** States of every kind and of `y` after some words, and before the first of them. @param {number} first @param {number} last @param {Pause} pause */
  states(first, last, pause) {
    return this.subject.session.read(this.ids, first, last, this.edits, pause);
  }

  /** A column by its id; an error where the grid has none such, or no such row. @param {string} id @param {number} row */
  column(id, row) {
    const found = this.columns.find((column) => column.id === id);
    if (!found) {
      throw refusal("no_column", { run: this.subject.name, column: repr(id), known: this.columns.map((one) => one.id).join(", ") });
    }
    if (row >= this.ids.length) throw refusal("no_row", { row, count: this.ids.length });
    return found;
  }

  /** A column by its id, or where a kind without a probe would have one. @param {string} id @param {number} row @returns {{kind: string, back: number}} */
  place(id, row) {
    if (this.columns.some((column) => column.id === id) || !this.subject.kinds.some((kind) => kind.id === id)) return this.column(id, row);
    if (row >= this.ids.length) throw refusal("no_row", { row, count: this.ids.length });
    return { kind: id, back: 0 };
  }

  /** What one state says of every label. @param {string} id @param {number} row @param {Pause} pause */
  async logits(id, row, pause) {
    const { kind, back } = this.column(id, row), { states, before } = await this.states(row, row + 1, pause);
    const state = back ? before.get(kind) ?? new Float32Array(0) : of(states, kind)[0];
    return this.subject.rows.logitsOf(this, kind, state, pause);
  }

  /** What the model predicts after a word, as it gives it: numbers where it predicts these. @param {number} row @param {Pause} pause */
  async prediction(row, pause) {
    const { states } = await this.states(row, row + 1, pause);
    return this.subject.network.prediction(of(states, PREDICTION)[0]);
  }

  /** The first row whose states, or whose labels that came, are not those of another reading. @param {Reading} before */
  firstNew(before) {
    const first = Math.min(firstNew(this.ids, before.ids, this.subject.offset(this.semantic)), firstOther(this.madeEdits, before.madeEdits));
    return first < this.ids.length && !this.subject.network.causal ? 0 : first;
  }
}

/** The words of a single text, whose braces may have backslashes before them. @param {Subject} subject @param {string} text */
function wordsOf({ text: side }, text) {
  const length = text.length > COUNTS.text_characters ? [...text].length : text.length; // as Python counts characters
  if (length > COUNTS.text_characters) throw tooMany(length, "characters", COUNTS.text_characters);
  return side.words(plain(text, side.index));
}

/** What is wrong with a text that is too long. @param {number} count @param {string} things @param {number} most */
export function tooMany(count, things, most) {
  return new Refusal(filled(NOTICES.too_many, { count: thousands(count), things, most: thousands(most) }));
}

/**
 * The first row whose states or whose labels that came are not those of a text before. `shift` says how many words after a
 * row's own the label is that it is asked about.
 * @param {readonly number[]} ids @param {readonly number[]} previous @param {number} shift
 */
export function firstNew(ids, previous, shift) {
  const same = sameUntil(ids, previous);
  if (same === ids.length && same === previous.length) return same;
  return Math.max(0, same - Math.max(1, shift)); // rows that ask about the first other word
}

/** With how many of the same words two texts begin. @param {readonly number[]} ids @param {readonly number[]} others */
export function sameUntil(ids, others) {
  const least = Math.min(ids.length, others.length);
  let same = 0;
  while (same < least && ids[same] === others[same]) same++;
  return same;
}

/** The first row that some edits change otherwise than others do, each in its reading. @param {readonly Edit[]} edits @param {readonly Edit[]} others */
export function firstOther(edits, others) {
  const done = (/** @type {Edit} */ edit) => edit.on("both"), ours = edits.map(done), theirs = others.map(done);
  const apart = [...edits.filter((edit) => !theirs.includes(done(edit))), ...others.filter((edit) => !ours.includes(done(edit)))];
  const changed = apart.length || ours.join() === theirs.join() ? apart : edits; // the same in another order
  return changed.reduce((first, { step }) => Math.min(first, step), Infinity);
}
