// Who wrote this: which words have made a state say one label rather than another.
//
// Three readings of each word, named for what they are. `stored` is the exact split of a memory over the words that wrote
// it. `path` goes on down to the words, with gates held and every tanh as a line. `without` is the truth: the text is
// read again without the word. What `without` has beyond `path` runs through the gates.

import { probabilities } from "../answers.js";
import { Refusal } from "../../base/refusal.js";
import { INPUT, of, PREDICTION } from "../network.js";
import { rounded } from "../../base/python.js";
import { Contrast } from "./contrast.js";
import { added, path, split, stored, UnknownWay } from "./memory.js";

/** @typedef {import("../network.js").Pause} Pause */
/** @typedef {import("../source.js").GridSource} GridSource */
/** @typedef {import("../source.js").Request} Request */
/** @typedef {import("../../base/schema.d.ts").Posts} Posts */
/** @typedef {Posts["api/written"]["answer"]} Written */

/**
 * @param {GridSource} source @param {Posts["api/written"]["asked"]} question @param {Pause} pause
 * @returns {Promise<Written>}
 */
export async function written(source, { text, semantic, column, row, labels, against }, pause) {
  const asked = source.request(text, semantic ?? null, null, []);
  const logits = await source.logits(asked, column, row, pause);
  const contrast = new Contrast(labels ?? [], against ?? [], probabilities(asked.answers, logits), asked.answers.names);
  const { kind, back } = source.column(asked, column, row);
  if (row < back) throw new Refusal(`nothing is read into ${column} of the first row yet; ask a later one`);
  return new Question(source, asked, kind, row - back, contrast, pause).answer();
}

/** One state of a text, and the labels that it is asked about. */
class Question {
  /** @param {GridSource} source @param {Request} asked @param {string} kind @param {number} step @param {Contrast} contrast @param {Pause} pause */
  constructor(source, asked, kind, step, contrast, pause) {
    this.source = source;
    this.asked = asked;
    this.kind = kind;
    this.step = step;
    this.contrast = contrast;
    this.pause = pause;
    // Words after the state have no part in it, where none is read before its time.
    this.ids = source.network.causal ? asked.ids.slice(0, step + 1) : asked.ids;
    this.instead = source.text.unknown;
    this.rows = this.linear();
  }

  /** Every reading that there is, and why another is missing. @returns {Promise<Written>} */
  async answer() {
    const { contrast, ids, instead, source } = this, real = await this.value(ids, this.step);
    const without = await this.without(real);
    /** @type {Written} */ const answer = {
      labels: contrast.labels, against: contrast.against, difference: rounded(real, 5),
      instead: instead === null ? "" : source.text.name(instead), stored: null, stored_rest: 0, path: null, path_rest: 0,
      without: without.map(sent), gates: null, note: "",
    };
    try {
      if (source.text.mark !== null) {
        throw new UnknownWay("the model reads a mark first, so that its states are not beside the words that they have "
          + "read; `without` is the truth");
      }
      const directions = this.directions(), { layers } = source.network;
      const { states } = await source.read(ids, 0, ids.length, null, this.pause);
      const inputs = this.inputs(), ways = [];
      for (const one of directions) ways.push(await path(layers, states, one, inputs, this.pause));
      const way = added(ways);
      answer.path = way.parts.map(sent);
      answer.path_rest = rounded(way.rest, 5);
      answer.gates = without.map((value, k) => sent(value - way.parts[k]));
      const kept = added(directions.map((one) => stored(layers, states, one)));
      answer.stored = kept.parts.map(sent);
      answer.stored_rest = rounded(kept.rest, 5);
    } catch (error) {
      if (!(error instanceof UnknownWay)) throw error;
      answer.note = error.message;
    }
    return answer;
  }

  /** The states that the contrast is a linear map of, and that map: one state, or the two that are joined in it. */
  directions() {
    const { tops, whole } = this.source.network.json, { rows } = this, mix = this.contrast.weights;
    if (!rows || (this.kind === PREDICTION && tops.length !== 1)) {
      throw new UnknownWay("the model's prediction was found to be no linear map of one of its states, so that it cannot "
        + "be split; `without` is the truth");
    }
    const weight = new Float64Array(rows[0].weights.length);
    rows.forEach(({ weights }, k) => weights.forEach((x, u) => { weight[u] += mix[k] * x; }));
    const constant = rows.reduce((sum, row, k) => sum + mix[k] * row.constant, 0);
    let { kind, step } = this;
    if (kind === PREDICTION) {
      const isReverse = this.source.kinds.some(({ id, reverse }) => id === tops[0] && reverse);
      if (whole) step = isReverse ? 0 : this.ids.length - 1;
      [kind] = tops;
    }
    const joined = this.source.network.joined.find(({ id }) => id === kind);
    return split({ kind, step, weight, constant }, joined ? joined.sources.map((source) => source.kind) : [kind]);
  }

  /** The linear map from the state to the labels' logits; null: there is none, as from a number to its bins. */
  linear() {
    const { network, probes } = this.source, { every } = this.contrast, { answers, semantic } = this.asked;
    if (this.kind !== PREDICTION && probes) return every.map((label) => probes.row(this.kind, label, semantic));
    return answers.scale ? null : every.map((label) => network.row(label));
  }

  /** The contrast in the state of a text. @param {number[]} ids @param {number} step */
  async value(ids, step) {
    const { source, kind, pause, contrast, rows } = this;
    const { states } = await source.read(ids, step, step + 1, null, pause), [state] = of(states, kind);
    const all = rows ? null : source.rows.logitsOf(this.asked, kind, state);
    return contrast.every.reduce((sum, label, k) => {
      const logit = rows ? rows[k].weights.reduce((total, x, u) => total + x * state[u], rows[k].constant) : all?.[label] ?? 0;
      return sum + logit * contrast.weights[k];
    }, 0);
  }

  /** How much less the contrast is without each word. @param {number} real */
  async without(real) {
    const { ids, instead, step } = this, put = instead === null ? [] : [instead];
    if (!put.length && ids.length === 1) return [NaN];
    const less = [];
    for (let word = 0; word < ids.length; word++) {
      const others = [...ids.slice(0, word), ...put, ...ids.slice(word + 1)];
      // Where the word is left out, the state stands one earlier.
      const place = put.length || word > step ? step : Math.max(0, step - 1);
      less.push(real - await this.value(others, place));
    }
    return less;
  }

  /** What is read in the place of each word; nothing where words are left out. */
  inputs() {
    const { ids, instead, source } = this;
    if (instead === null) return [];
    return ids.map((_, t) => new Map([[INPUT, source.network.input(ids.map(() => instead), t)]]));
  }
}

/** @param {number} value */
function sent(value) {
  return Number.isFinite(value) ? rounded(value, 5) : null;
}
