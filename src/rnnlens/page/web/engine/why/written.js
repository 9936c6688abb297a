// Who wrote this: which words have made a state say one label rather than another.
//
// Three readings of each word, named for what they are. `stored` is the exact split of a memory over the words that wrote
// it. `path` goes on down to the words, with gates held and every tanh as a line. `without` reads the text again with
// something else in the word's place, and says what. What `without` has beyond `path` runs through the gates.

import { COUNTS } from "../../base/rules.js";
import { probabilities } from "../answers.js";
import { halfWidth } from "../draws.js";
import { numberOf } from "../labels.js";
import { Lines } from "../lines.js";
import { INPUT, of, PREDICTION } from "../network.js";
import { first, repr, rounded } from "../python.js";
import { message, refusal } from "../refusals.js";
import { added, path, split, stored, UnknownWay } from "./memory.js";
import { StandIns } from "./standins.js";

/** @typedef {Posts["api/written"]["answer"]} Written */

/**
 * Of a state in a row or a line of the grid.
 * @param {Subject} subject @param {Posts["api/written"]["asked"]} question @param {Pause} pause
 * @returns {Promise<Written>}
 */
export async function written(subject, question, pause) {
  const { column, labels = [], against = [] } = question, [reading, row] = Lines.of(subject, question).state(question.row);
  const { answers, madeEdits } = reading;
  if (madeEdits.length) throw refusal("written_edits", { edits: first(madeEdits.join(", "), COUNTS.quoted_edit) });
  const { kind, back } = reading.column(column, row);
  if (row < back) throw refusal("unread_column", { column });
  const contrast = new Contrast(labels, against, probabilities(answers, await reading.logits(column, row, pause)), answers.names);
  return new Question(reading, kind, row - back, contrast, pause).answer(question);
}

/** One state of a text, and the labels that it is asked about. */
class Question {
  /** @param {Reading} reading @param {string} kind @param {number} step @param {Contrast} contrast @param {Pause} pause */
  constructor(reading, kind, step, contrast, pause) {
    const { subject } = reading;
    this.reading = reading;
    this.subject = subject;
    this.kind = kind;
    this.step = step;
    this.contrast = contrast;
    this.pause = pause;
    // Words after the state have no part in it, where none is read before its time.
    this.ids = subject.network.causal ? reading.ids.slice(0, step + 1) : reading.ids;
    this.standIns = new StandIns(subject, this.ids);
    this.rows = this.linear();
  }

  /** Every reading that there is, and why another is missing. @param {Posts["api/written"]["asked"]} question @returns {Promise<Written>} */
  async answer(question) {
    const { contrast, ids, standIns, subject } = this, standIn = standIns.of(question), real = await this.value(ids, this.step);
    const { states } = await subject.session.read(ids, 0, ids.length, null, this.pause);
    const words = standIn ? standIns.drawn(standIn, states) : ids.map(() => []), lost = standIn ? await this.lost(real, standIn, words) : [[]];
    const without = lost.map(mean), { draws, word, name } = standIn ?? { draws: 0, word: null, name: "left_out" };
    const spreads = draws ? lost.map(deviation) : null, wide = (/** @type {number} */ k) => halfWidth(spreads?.[k] ?? NaN, Math.max(2, lost[k].length));
    /** @type {Written} */ const answer = {
      labels: contrast.labels, against: contrast.against, difference: rounded(real, COUNTS.written_decimals),
      without: without.map(sent), stand_in: name, instead: word === null ? "" : subject.text.name(word), offered: standIns.offered,
      draws, drawn: draws ? words.map((some) => some.map((one) => subject.text.name(one))) : [],
      low: spreads && without.map((value, k) => sent(value - wide(k))), high: spreads && without.map((value, k) => sent(value + wide(k))),
      spread: spreads && spreads.map(sent), stored: null, stored_rest: 0, path: null, path_rest: 0, gates: null,
      note: "",
    };
    try {
      if (subject.text.mark !== null) {
        throw new UnknownWay(message("written_mark"));
      }
      const directions = this.directions(), { layers } = subject.network, ways = [];
      const inputs = standIn && !standIn.leavesOut ? this.inputs(words) : [];
      for (const one of directions) ways.push(await path(layers, states, one, inputs, this.pause));
      const way = added(ways);
      answer.path = way.parts.map(sent);
      answer.path_rest = rounded(way.rest, COUNTS.written_decimals);
      answer.gates = without.map((value, k) => sent(value - way.parts[k]));
      const kept = added(directions.map((one) => stored(layers, states, one)));
      answer.stored = kept.parts.map(sent);
      answer.stored_rest = rounded(kept.rest, COUNTS.written_decimals);
    } catch (error) {
      if (!(error instanceof UnknownWay)) throw error;
      answer.note = error.message;
    }
    if (!standIn) answer.note = message("no_other_word");
    return answer;
  }

  /** The states that the contrast is a linear map of, and that map: one state, or the two that are joined in it. */
  directions() {
    const { tops, whole } = this.subject.network.json, { rows } = this, mix = this.contrast.weights;
    if (!rows || (this.kind === PREDICTION && tops.length !== 1)) {
      throw new UnknownWay(message("written_prediction"));
    }
    const weight = new Float64Array(rows[0].weights.length);
    rows.forEach(({ weights }, k) => weights.forEach((x, u) => { weight[u] += mix[k] * x; }));
    const constant = rows.reduce((sum, row, k) => sum + mix[k] * row.constant, 0);
    let { kind, step } = this;
    if (kind === PREDICTION) {
      const isReverse = this.subject.kinds.some(({ id, reverse }) => id === tops[0] && reverse);
      if (whole) step = isReverse ? 0 : this.ids.length - 1;
      [kind] = tops;
    }
    const joined = this.subject.network.joined.find(({ id }) => id === kind);
    return split({ kind, step, weight, constant }, joined ? joined.sources.map((source) => source.kind) : [kind]);
  }

  /** The linear map from the state to the labels' logits; null: there is none, as from a number to its bins. */
  linear() {
    const { network, probes } = this.subject, { every } = this.contrast, { answers, semantic } = this.reading;
    if (this.kind !== PREDICTION && probes) return every.map((label) => probes.row(this.kind, label, semantic));
    return answers.scale ? null : every.map((label) => network.row(label));
  }

  /** The contrast in the state of a text. @param {number[]} ids @param {number} step */
  async value(ids, step) {
    const { subject, kind, pause, contrast, rows } = this;
    const { states } = await subject.session.read(ids, step, step + 1, null, pause), [state] = of(states, kind);
    const all = rows ? null : await subject.rows.logitsOf(this.reading, kind, state, pause);
    return contrast.every.reduce((sum, label, k) => {
      const logit = rows ? rows[k].weights.reduce((total, x, u) => total + x * state[u], rows[k].constant) : all?.[label] ?? 0;
      return sum + logit * contrast.weights[k];
    }, 0);
  }

  /** How much less the contrast is with each stand-in in a word's place; what is drawn twice is read once. @param {number} real @param {import("./standins.js").StandIn} standIn @param {number[][]} words */
  async lost(real, { leavesOut }, words) {
    const { ids } = this, less = [];
    for (let place = 0; place < ids.length; place++) {
      /** @type {Map<number, number>} */ const found = new Map();
      for (const word of new Set(words[place])) {
        found.set(word, real - await this.value([...ids.slice(0, place), word, ...ids.slice(place + 1)], this.step));
      }
      less.push(leavesOut ? [real - await this.leftOut(place)] : words[place].map((word) => found.get(word) ?? NaN));
    }
    return less;
  }

  /**
   * The contrast without a word. The state then stands one earlier, but for its own word, before which a layer that reads
   * backwards has read the next one, and which a state beside the mark that is read first has not read.
   * @param {number} word
   */
  leftOut(word) {
    const { ids, kind, step, subject } = this, others = [...ids.slice(0, word), ...ids.slice(word + 1)];
    if (word > step) return this.value(others, step);
    if (word === step && subject.text.mark !== null) return this.value(ids, step);
    const isReverse = subject.kinds.some(({ id, reverse }) => id === kind && reverse);
    return this.value(others, word === step && isReverse ? Math.min(step, ids.length - 2) : Math.max(0, step - 1));
  }

  /** What is read in the place of each word: of several the mean, since with gates held all is linear. @param {number[][]} words */
  inputs(words) {
    const { ids, subject } = this, read = (/** @type {number} */ word, /** @type {number} */ t) => subject.network.input(ids.map(() => word), t);
    return words.map((some, t) => {
      const all = (some.length ? some : [ids[t]]).map((word) => read(word, t));
      const sum = all[0].map((_, u) => all.reduce((total, x) => total + x[u], 0) / all.length);
      return new Map([[INPUT, sum]]);
    });
  }
}

/** @param {number[]} values */
function mean(values) {
  return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : NaN;
}

/** The deviation of a single one. @param {number[]} values */
function deviation(values) {
  const middle = mean(values);
  return values.length > 1 ? Math.sqrt(values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1)) : NaN;
}

/** @param {number} value */
function sent(value) {
  return Number.isFinite(value) ? rounded(value, COUNTS.written_decimals) : null;
}

/** Labels and those against them; of several the mean of their logits counts. */
class Contrast {
  /**
   * A contrast of labels by name; a side without any is the most probable label that does not stand on the other, given a
   * state's distribution.
   * @param {readonly string[]} labels @param {readonly string[]} against @param {ArrayLike<number>} distribution
   * @param {readonly string[]} names
   */
  constructor(labels, against, distribution, names) {
    const sides = [labels, against].map((side) => [...new Set(side)].map((label) => numberOf(label, names)));
    const both = sides[0].filter((number) => sides[1].includes(number));
    if (both.length) throw refusal("against_itself", { label: repr(names[Math.min(...both)]) });
    for (const side of sides) {
      if (side.length) continue;
      const first = mostProbable(distribution, new Set(sides.flat()));
      if (first !== null) side.push(first);
    }
    if (!sides.every((side) => side.length)) throw refusal("one_label");
    this.labels = sides[0].map((number) => names[number]);
    this.against = sides[1].map((number) => names[number]);
    /** The numbers of all labels of both sides. */
    this.every = sides.flat();
    /** What the logits of `every` are multiplied by, so that their sum is the contrast. */
    this.weights = sides.flatMap((side, k) => side.map(() => (k ? -1 : 1) / side.length));
  }
}

/** The first of the most probable labels that are not taken. @param {ArrayLike<number>} distribution @param {Set<number>} taken */
function mostProbable(distribution, taken) {
  /** @type {number | null} */ let best = null;
  for (let v = 0; v < distribution.length; v++) {
    if (!taken.has(v) && (best === null || distribution[v] > distribution[best])) best = v;
  }
  return best;
}
