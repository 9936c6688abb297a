// The text side of a model: how a text becomes words and numbers, as `TextSide` and `Vocabulary` do it in Python.

import { float, general, repr, split, splitNumbers, whole } from "./python.js";
import { Refusal } from "../base/refusal.js";
import { LISTS, PATTERNS, TEXTS } from "../base/rules.js";
import { pennWords } from "./penn.js";
import { Pieces } from "./pieces.js";
import { message, refusal } from "./refusals.js";

/** @typedef {{edges: number[], middles: number[], names: string[], error: number}} Scale */
/** @typedef {{names: string[], several: boolean, scale: Scale | null}} Answers */
/**
 * @typedef {{labels: Answers, inputs: string[] | null, counts: number[] | null, numerals: string[], lowercase: boolean, numbers: boolean,
 *   splitting: "penn" | "blanks" | "letters" | "numbers" | "pattern" | "pieces", pattern: string, pieces: import("./pieces.js").PiecesJson | null, follows: boolean, mark: number | null,
 *   begin: string | null, features: number, recorded?: import("./recorded.js").KeptText[]}} TextJson
 */

const { number_word: NUM, unknown_word: UNK } = TEXTS, { unknown_words: UNKNOWN } = LISTS; // what a model may call unknown words
const NUMERAL = whole(PATTERNS.numeral);
const REMEMBERED = 65_536; // pieces of text of which the words are remembered

/** Whether a word is a number in digits. @param {string} word */
export function isNumeral(word) {
  return NUMERAL.test(word);
}

/** The bin of a number. @param {Scale} scale @param {number} value */
export function binOf(scale, value) {
  return scale.edges.slice(1, -1).filter((edge) => edge <= value).length;
}

export class Text {
  /** @param {TextJson} json */
  constructor(json) {
    this.json = json;
    this.labels = json.labels;
    this.follows = json.follows;
    this.mark = json.mark;
    this.features = json.features;
    this.inputs = json.inputs ?? json.labels.names;
    this.index = new Map(this.inputs.map((word, number) => [word, number]));
    this.pattern = new RegExp(json.pattern ?? "", "gu");
    this.tokenizer = json.pieces ? new Pieces(json.pieces) : null;
    this.numerals = new Set(json.numerals);
    const names = json.lowercase || json.numbers ? [UNK] : UNKNOWN;
    /** @type {number | null} */
    this.unknown = names.map((name) => this.index.get(name)).find((number) => number !== undefined) ?? null;
    /** Labels that stand for many words, and what these are: none where labels are no words. @type {Record<string, string>} */
    this.placeholders = json.inputs ? {} : {
      ...(this.unknown === null ? {} : { [this.inputs[this.unknown]]: TEXTS.unknown_name }),
      ...(json.numbers && this.index.has(NUM) ? { [NUM]: TEXTS.number_name } : {}) };
    /** @type {Map<string, string[]>} */ this.split = new Map();
    // Numbers that were read at a step, by their place here: a step's number is its place.
    /** @type {Map<string, number>} */ this.steps = new Map();
    /** @type {number[][]} */ this.read = [];
  }

  /** The words of a text that somebody typed. @param {string} text @returns {string[]} */
  words(text) {
    if (this.json.splitting === "numbers") return this.features > 1 ? split(text) : splitNumbers(text);
    const { begin, splitting } = this.json, words = this.pieces(text, splitting);
    return begin !== null && words.length && words[0] !== begin ? [begin, ...words] : words;
  }

  /** @param {string} text @param {string} splitting the rule @returns {string[]} */
  pieces(text, splitting) {
    if (this.tokenizer) return this.tokenizer.encode(text).map((number) => this.inputs[number]);
    if (splitting === "letters") return [...text];
    if (splitting === "pattern") return [...text.matchAll(this.pattern)].map(([found]) => found).filter(Boolean);
    return splitting === "blanks" ? split(text) : split(text).flatMap((piece) => this.wordsOf(piece));
  }

  /** The words of a text between blanks; unknown ones are taken apart as in Penn. @param {string} piece */
  wordsOf(piece) {
    let words = this.split.get(piece);
    if (!words) {
      words = this.number(piece) === this.unknown ? pennWords(piece) : [piece];
      if (this.split.size >= REMEMBERED) this.split.clear();
      this.split.set(piece, words);
    }
    return words;
  }

  /** The numbers of the words of a text, which they may be the first of. @param {string} _text @param {string[]} words */
  numbers(_text, words) {
    return this.encode(words);
  }

  /** The labels that are right at the states of a text, by their targets; null: typed texts do not tell. @param {number[]} _ids @param {string} _asks @returns {number[] | null} */
  told(_ids, _asks) {
    return null;
  }

  /** The numbers of words that somebody typed. @param {string[]} words @returns {number[]} */
  encode(words) {
    return words.map((word) => (this.features ? this.step(word) : this.number(word)));
  }

  /** @param {string} word @returns {number} */
  number(word) {
    const { lowercase, numbers } = this.json, { index } = this;
    const folded = lowercase && word !== NUM && word !== UNK ? word.toLowerCase() : word;
    const number = numbers && this.numerals.has(folded) ? index.get(NUM) : index.get(folded)
      ?? index.get(folded.normalize("NFC")) // é may be typed as e and an accent
      ?? (numbers && isNumeral(folded) ? index.get(NUM) : undefined) ?? this.unknown;
    if (number === null || number === undefined) throw new Refusal(this.missing(word));
    return number;
  }

  /** @param {string} word */
  missing(word) {
    return this.inputs.length ? message("no_word", { word: repr(word), unknown: UNKNOWN.join(", ") }) : message("no_word_names");
  }

  /** The numbers of one timestep as one. @param {string} word */
  step(word) {
    const { features } = this, values = word.split(",").map((part) => Math.fround(float(part) ?? NaN));
    if (values.length !== features || !values.every(Number.isFinite)) {
      const wanted = features === 1 ? message("one_number") : message("several_numbers", { count: features });
      throw refusal("no_number", { word: repr(word), wanted });
    }
    const key = values.map((value) => (Object.is(value, -0) ? "-0" : String(value))).join();
    let number = this.steps.get(key);
    if (number === undefined) {
      number = this.read.push(values) - 1;
      this.steps.set(key, number);
    }
    return number;
  }

  /** What the model takes a word for. @param {number} number */
  name(number) {
    if (this.features) return this.values(number).map((value) => general(value, 4)).join();
    return this.inputs[number];
  }

  /** Which piece of a word each is, where a model reads pieces. @param {number[]} ids @returns {("" | "first" | "inner" | "last" | "mark")[]} */
  places(ids) {
    return this.tokenizer ? this.tokenizer.places(ids) : ids.map(() => "");
  }

  /** The numbers that are read at a step; none where words are. @param {number} number @returns {number[]} */
  values(number) {
    return this.features ? this.read[number] : [];
  }

  /** The numbers that are read at a step, from 0 to 1, to be drawn; none where words are. @param {number} _number @returns {number[]} */
  picture(_number) {
    return [];
  }

  /** Whether it is the number of all words that the model does not know. @param {number} number */
  isUnknown(number) {
    return !this.features && number === this.unknown;
  }

  /**
   * The labels that the words of a text are, in the order of reading; -1: unknown.
   * A model that reads a mark first has each state beside the word that it predicts.
   * @param {number[]} ids @returns {number[]}
   */
  came(ids) {
    const { scale } = this.labels;
    if (!this.follows) return ids.map(() => -1);
    if (this.features && scale) return ids.map((number) => binOf(scale, this.values(number)[0]));
    return this.mark === null ? [...ids] : [this.mark, ...ids];
  }

  /** The label that each word is, for its colour; -1: none. @param {number[]} ids */
  labelsOf(ids) {
    const read = this.came(ids);
    return this.mark === null || !this.follows ? read : read.slice(1);
  }
}
