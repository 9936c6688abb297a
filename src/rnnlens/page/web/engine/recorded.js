// States that were recorded, in the place of a network: what a file keeps of them is looked up, as rnnlens/states/recorded.py
// does it. Nothing can be typed or changed; the texts are those that the file keeps.

import { COUNTS } from "../base/rules.js";
import { split } from "./python.js";
import { PREDICTION } from "./network.js";
import { refusal } from "./refusals.js";
import { Text } from "./text.js";

/**
 * A text that is kept: its number among those recorded, what its rows are called, the label that each is (-1: none), which
 * words are unknown, by targets the label that is right at each, and where it is no text, what is read at each step: one number,
 * or several from 0 to 1 to be drawn.
 * @typedef {{number: number, words: string[], came: number[], unknown: boolean[], told: Record<string, number[]>, values?: number[][], pictures?: number[][]}} KeptText
 */
/** @typedef {import("./manifest.d.ts").NetworkJson} NetworkJson */
/** @typedef {import("./network.js").States} States */

export class RecordedText extends Text {
  /** @param {import("./text.js").TextJson} json @param {KeptText[]} kept */
  constructor(json, kept) {
    super(json);
    this.kept = kept;
    this.starts = [0];
    for (const { words } of kept) this.starts.push(this.starts[this.starts.length - 1] + words.length);
    /** @type {Map<string, number>} */ this.byName = new Map();
    kept.forEach(({ number, words }, k) => {
      const text = words.join(" ");
      if (!this.byName.has(text)) this.byName.set(text, k);
      this.byName.set(`#${number}`, k);
    });
  }

  /** Which of the kept texts it is. @param {string} text */
  place(text) {
    const found = this.byName.get(split(text).join(" "));
    if (found === undefined) throw refusal("not_kept", { text: JSON.stringify(text.slice(0, COUNTS.quoted_edit)), count: this.kept.length });
    return found;
  }

  /** @param {string} text @returns {string[]} */
  words(text) {
    return split(text).length ? this.kept[this.place(text)].words : [];
  }

  /** A row's number is its place among all rows that the file keeps. @param {string} text @param {string[]} words */
  numbers(text, words) {
    if (!words.length) return [];
    const start = this.starts[this.place(text)];
    return words.map((_, k) => start + k);
  }

  /** The text of a row, and its place there. @param {number} number @returns {[KeptText, number]} */
  at(number) {
    const k = this.starts.findIndex((start) => start > number) - 1;
    return [this.kept[k], number - this.starts[k]];
  }

  /** @param {number} number */
  name(number) {
    const [text, row] = this.at(number);
    return text.words[row];
  }

  /** @param {number} number */
  isUnknown(number) {
    const [text, row] = this.at(number);
    return text.unknown[row];
  }

  /** @param {number} number */
  values(number) {
    const [text, row] = this.at(number);
    return text.values?.[row] ?? [];
  }

  /** @param {number} number */
  picture(number) {
    const [text, row] = this.at(number);
    return text.pictures?.[row] ?? [];
  }

  /** @param {number[]} ids */
  came(ids) {
    return this.follows && ids.length ? this.at(ids[0])[0].came.slice(0, ids.length) : ids.map(() => -1);
  }

  /** @param {number[]} ids @param {string} asks @returns {number[] | null} */
  told(ids, asks) {
    const told = ids.length ? this.at(ids[0])[0].told[asks] : undefined;
    return told ? told.slice(0, ids.length) : null;
  }
}

/** Looks up what a network would compute. */
export class RecordedStates {
  /** @param {NetworkJson} json @param {Machine} machine */
  constructor(json, machine) {
    this.machine = machine;
    this.json = json;
    const { kinds, own } = json.recorded ?? { kinds: {}, own: null };
    this.kinds = new Map(Object.entries(kinds).map(([kind, number]) => [kind, machine.tensors.matrix(number)]));
    this.y = machine.tensors.perhaps(own); // its own logits
    this.causal = this.forwards = false; // every text is looked up as a whole
    this.alike = false; // texts may begin with memories of their own
    /** @type {string[]} */ this.carried = [];
    this.bias = null;
  }

  /** @param {string} kind */
  zeros(kind) {
    return new Float32Array(this.kinds.get(kind)?.columns ?? 0);
  }

  /** What memories were before the first word: what was kept of them then. @param {Kind[]} kinds @param {States} states @returns {Map<string, Float32Array>} */
  began(kinds, states) {
    return new Map(kinds.flatMap(({ id, memory }) => {
      const decay = memory && states.get(memory.decay)?.[0], kept = memory && states.get(memory.kept)?.[0];
      return decay && kept && decay.length === this.zeros(id).length ? [[id, kept.map((value, k) => (decay[k] > 0 ? value / decay[k] : 0))]] : [];
    }));
  }

  /** @param {number[]} ids @param {number} first @param {number} last @returns {Promise<States>} */
  async states(ids, first, last) {
    const { floats } = this.machine, every = [...this.kinds, .../** @type {[string, Matrix][]} */ (this.y ? [[PREDICTION, this.y]] : [])];
    return new Map(every.map(([kind, { at, stride, columns }]) =>
      [kind, ids.slice(first, last).map((row) => floats.slice(at + row * stride, at + row * stride + columns))]));
  }

  /** Add the prediction to every step-th number of the memory. @param {Float32Array} y @param {number} at @param {number} step */
  predict(y, at, step) {
    const { floats } = this.machine;
    y.forEach((value, k) => { floats[at + step * k] += value; });
  }
}

/** The texts that are kept, by words of which each begins one of theirs, or by number. @param {Subject} subject @param {{find?: string, first?: number}} asked */
export function texts({ text, manifest }, { find = "", first = 0 }) {
  if (!(text instanceof RecordedText)) {
    const every = manifest.run.examples, some = every.filter((one) => one.includes(find));
    return answer(every.length, some.map((one) => ({ text: one, words: one })), first);
  }
  const wanted = split(find).map((word) => word.toLowerCase());
  const some = text.kept.filter(({ number, words }) => (/^#\d+$/.test(find.trim()) ? `#${number}` === find.trim()
    : wanted.every((word) => words.some((one) => one.toLowerCase().startsWith(word)))));
  return answer(text.kept.length, some.map(({ number, words }) => ({ text: `#${number}`, words: words.join(" ") })), first);
}

/** @param {number} total @param {{text: string, words: string}[]} found @param {number} first */
function answer(total, found, first) {
  const shown = found.slice(first, first + COUNTS.listed_texts);
  return { total, found: found.length, texts: shown.map(({ text, words }) => ({ text, words: [...words].slice(0, COUNTS.listed_characters).join("") })) };
}
