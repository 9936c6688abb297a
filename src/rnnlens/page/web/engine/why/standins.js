// What is read in a word's place where a text is read without it, as rnnlens/ask/stand_ins.py has it.

import { COUNTS, LISTS, TEXTS } from "../../base/rules.js";
import { uniform, weighted } from "../draws.js";
import { of, PREDICTION } from "../network.js";
import { repr } from "../python.js";
import { isWithin, refusal } from "../refusals.js";

const STAND_INS = LISTS.stand_ins, [TAG, MODEL, UNKNOWN, LEFT_OUT] = STAND_INS; // the usual one first
/** What stands in: its name, one word for all, or how many are drawn. @typedef {{name: string, word: number | null, draws: number, seed: number, leavesOut: boolean}} StandIn */

/** Which stand-ins there are for the words of a text, and the words that they are. */
export class StandIns {
  /** @param {Subject} subject @param {number[]} ids */
  constructor(subject, ids) {
    this.subject = subject;
    this.ids = ids;
    this.text = subject.text;
    this.tags = subject.palettes[""]?.[TEXTS.tag_palette]?.groupOf ?? null;
    /** Their names, the usual one first. */
    this.offered = STAND_INS.filter((name) => !this.whyNot(name));
  }

  /** The one that is asked for; null: there is none at all. @param {Posts["api/written"]["asked"]} question @returns {StandIn | null} */
  of({ stand_in: asked = null, instead = null, draws = COUNTS.draws, seed = 0 }) {
    const { subject, text, ids, offered } = this, known = offered.join(", ") || "none";
    if (!isWithin(draws, COUNTS.least_draws, COUNTS.most_draws)) throw refusal("stand_in_draws", { count: draws, most: COUNTS.most_draws });
    if (!isWithin(seed, 0, 2 ** 32 - 1)) throw refusal("continuation_seed", { count: seed, most: "4,294,967,295" });
    const one = (/** @type {string} */ name, /** @type {number | null} */ word) => ({ name, word, draws: 0, seed: 0, leavesOut: name === LEFT_OUT });
    if (instead !== null) {
      if (asked !== null) throw refusal("stand_in_both");
      const word = text.features ? undefined : text.index.get(instead);
      if (word === undefined) throw refusal("stand_in_word", { word: repr(instead) });
      return one("", word);
    }
    const name = asked ?? offered[0] ?? null;
    if (name === null) return null;
    if (!STAND_INS.includes(name)) throw refusal("no_stand_in", { stand_in: repr(name), known });
    const why = this.whyNot(name);
    if (why) throw refusal(why, { run: subject.name, known, count: ids.length, most: COUNTS.drawn_words });
    if (name === TAG || name === MODEL) return { name, word: null, draws, seed, leavesOut: false };
    return one(name, name === UNKNOWN ? text.unknown : null);
  }

  /** The words that stand in for each: one for each draw; none where there is no other. @param {StandIn} standIn @param {States} states of the text */
  drawn(standIn, states) {
    const { ids } = this, { name, word, leavesOut } = standIn;
    if (leavesOut) return ids.map(() => []);
    if (word !== null) return ids.map(() => [word]);
    return ids.map((_, t) => this.some(standIn, t, name === TAG ? this.ofTag(t) : this.expected(states, t)));
  }

  /** @param {StandIn} standIn @param {number} step @param {Float64Array} weights @returns {number[]} */
  some({ draws, seed }, step, weights) {
    const { ids, text } = this;
    weights[ids[step]] = 0;
    if (text.unknown !== null) weights[text.unknown] = 0;
    if (!weights.some(Boolean)) return [];
    return weighted(weights, Array.from({ length: draws }, (_, draw) => uniform(seed, draw, step, 1)[0]));
  }

  /** How often each word is drawn for a word, by its tag. @param {number} step */
  ofTag(step) {
    const { ids, tags } = this;
    return this.frequencies().map((count, word) => (tags && tags[word] === tags[ids[step]] ? count : 0));
  }

  /** How often each word is drawn by what the model expected: before the first word by how frequent words are. @param {States} states @param {number} step */
  expected(states, step) {
    const { mark } = this.text;
    if (!step && mark === null) return this.frequencies();
    const logits = this.subject.network.prediction(of(states, PREDICTION)[mark === null ? step - 1 : step]);
    const most = logits.reduce((a, b) => Math.max(a, b), -Infinity);
    return Float64Array.from(logits, (x) => Math.exp(x - most));
  }

  frequencies() {
    const counts = Float64Array.from(this.text.json.counts ?? []);
    return counts.some(Boolean) ? counts : counts.fill(1);
  }

  /** The message that says why there is no such stand-in; empty: there is. @param {string} name @returns {"" | "stand_in_tag" | "stand_in_model" | "stand_in_unknown" | "stand_in_left_out" | "stand_in_long"} */
  whyNot(name) {
    const { text, ids, subject: { network, manifest } } = this, readsLabels = text.json.inputs === null && !text.features;
    if (name === LEFT_OUT) return ids.length > 1 ? "" : "stand_in_left_out";
    if (name === UNKNOWN) return !text.features && text.unknown !== null ? "" : "stand_in_unknown";
    if (name === TAG && !(readsLabels && this.tags)) return "stand_in_tag";
    if (name === MODEL && !(readsLabels && text.follows && network.causal && manifest.predicts)) return "stand_in_model";
    return ids.length > COUNTS.drawn_words ? "stand_in_long" : "";
  }
}

/** @typedef {import("../network.js").States} States */
