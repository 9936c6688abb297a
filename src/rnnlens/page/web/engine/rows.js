// What the states of some rows of a grid say, as rnnlens/reading/rows.py asks the probes. The logits of a row lie in one block
// of the memory, those of four states side by side; rows that typing on asks about again are kept.

import { Encoder } from "./encoding.js";
import { binLogits } from "./scale.js";
import { PREDICTION } from "./network.js";
import { Recent } from "./session.js";
import { padded } from "./unpack.js";

/** @typedef {import("./manifest.d.ts").SemanticJson} SemanticJson */
/** @typedef {import("./probes.js").Probes} Probes */
/** @typedef {import("./session.js").Session} Session */
/** @typedef {{encoding: Encoding, outcome: Outcome, wanted: number}} Encoded */
/** @typedef {{encodings: Encoding[], logits: Float32Array}} Kept */
/** @typedef {(kind: string, t: number, logits: Float32Array) => void} Work */

const ROOM = 24 * 2 ** 20; // bytes of rows that are kept
const NEXT = 3; // rows at the end that the next key asks about

export class Rows {
  /**
   * @param {Session} session @param {Probes | null} probes @param {Record<string, SemanticJson>} semantics
   * @param {Record<string, Record<string, Palette>>} palettes @param {(semantic: string) => Answers} answersTo
   * @param {boolean} predicts @param {Machine} machine
   */
  constructor(session, probes, semantics, palettes, answersTo, predicts, machine) {
    this.session = session;
    this.probes = probes;
    this.semantics = semantics;
    this.palettes = palettes;
    this.predicts = predicts;
    this.machine = machine;
    /** @type {Promise<void>} once nobody has the block any more */ this.free = Promise.resolve();
    this.computed = 0; // rows so far, for those who measure
    const all = Object.keys(semantics), labels = Math.max(...all.map((one) => answersTo(one).names.length));
    const groups = Math.max(...Object.values(palettes).flatMap((some) => Object.values(some).map((one) => one.groups.length)));
    const size = labels * padded(Math.max(...all.map((semantic) => this.kinds({ semantic, kinds: null }).length)));
    this.encoder = new Encoder(labels, groups, machine);
    this.block = machine.room.take(size);
    this.number = machine.room.take(4); // that a model predicts
    /** @type {Map<string, {at: number, kinds: string}>} what a block begins with, for which kinds */
    this.constants = new Map(all.map((one) => [one, { at: machine.room.take(size), kinds: "" }]));
    /** @type {Recent<string, Kept>} */
    this.recent = new Recent(Math.max(4, Math.floor(ROOM / (4 * size))));
  }

  /** The kinds whose states are asked, in the order of the block. @param {Pick<Reading, "semantic" | "kinds">} reading */
  kinds({ semantic, kinds }) {
    const own = this.predicts && this.semantics[semantic].of_model;
    const every = [...(this.probes?.kinds ?? []), ...(own ? [PREDICTION] : [])];
    return kinds ? every.filter((kind) => kinds.has(kind)) : every;
  }

  /** The numbers of a block. @param {Reading} reading */
  sizeOf(reading) {
    return reading.answers.names.length * padded(this.kinds(reading).length);
  }

  /** Where what a block of logits begins with is. @param {Reading} reading */
  constantsOf(reading) {
    const { floats } = this.machine, { semantic, answers } = reading, labels = answers.names.length, kinds = this.kinds(reading);
    const held = this.constants.get(semantic) ?? { at: 0, kinds: "" };
    if (held.kinds === kinds.join(" ")) return held.at;
    kinds.forEach((kind, k) => {
      const own = kind === PREDICTION, start = held.at + (k >> 2) * labels * 4 + (k & 3);
      const values = own ? this.session.network.bias : this.probes?.stack(semantic).constants(this.probes.kinds.indexOf(kind));
      const none = !values || (own && answers.scale);
      for (let label = 0; label < labels; label++) floats[start + 4 * label] = none ? 0 : values[label];
    });
    held.kinds = kinds.join(" ");
    return held.at;
  }

  /**
   * Do something that needs the block, while nobody else has it: others get their turn in the midst of a row, which in
   * plain JavaScript takes long, and may ask about states of their own then.
   * @template T @param {() => Promise<T>} work @returns {Promise<T>}
   */
  async alone(work) {
    const before = this.free;
    /** @type {() => void} */ let done = () => {};
    this.free = new Promise((resolve) => { done = resolve; });
    await before;
    try {
      return await work();
    } finally {
      done();
    }
  }

  /**
   * Leave the logits of a row in the block.
   * @param {Reading} reading @param {(kind: string) => Float32Array | undefined} stateOf @param {Pause} pause
   */
  async fill(reading, stateOf, pause) {
    const { floats } = this.machine, { semantic, answers } = reading, kinds = this.kinds(reading), start = this.constantsOf(reading);
    floats.copyWithin(this.block, start, start + this.sizeOf(reading));
    const probed = kinds.filter((kind) => kind !== PREDICTION), count = probed.length;
    const numbers = probed.map((kind) => this.probes?.kinds.indexOf(kind) ?? 0);
    if (count) this.probes?.stack(semantic).add(numbers, probed.map((kind) => stateOf(kind) ?? new Float32Array(0)), this.block);
    const y = kinds.length > count ? stateOf(PREDICTION) : undefined;
    await pause();
    if (y) this.predict(y, this.block + (count >> 2) * answers.names.length * 4 + (count & 3), answers);
    reading.edits?.checkSize(floats.subarray(this.block, this.block + this.sizeOf(reading)));
    this.computed++;
  }

  /** @param {Float32Array} y @param {number} at @param {Answers} answers */
  predict(y, at, { scale }) {
    const { network } = this.session, { floats } = this.machine;
    if (!scale) return network.predict(y, at, 4);
    floats[this.number] = network.bias?.[0] ?? 0;
    network.predict(y, this.number, 1);
    binLogits(scale, floats[this.number]).forEach((logit, label) => { floats[at + 4 * label] = logit; });
  }

  /**
   * Have the logits of each of some rows in the block, one after the other, and do something with them at once. The row
   * before the first is among them where a column shows what was one step back.
   * @param {Reading} reading @param {number} first @param {number} last @param {Pause} pause
   * @param {(t: number, kept: Encoding[] | null, key: string) => void | Promise<void>} work `kept`: what was encoded of it before
   */
  async visit(reading, first, last, pause, work) {
    const { session, machine } = this, { ids, edits } = reading;
    const prefixes = session.prefixes.of(ids.slice(0, last)), alone = session.network.forwards && !edits;
    if (first >= last) return;
    const way = [reading.semantic, reading.palette, ...(reading.wanted ?? [])].join(" ");
    const key = (/** @type {number} */ t) => (alone || (t < 0 && session.network.alike) ? `${prefixes[t + 1]} ${way}` : "");
    const begin = reading.earlier.size ? first - 1 : first;
    const kept = new Map(steps(begin, last).map((t) => [t, key(t) ? this.recent.get(key(t)) : undefined]));
    const missing = steps(Math.max(begin, 0), last).find((t) => !kept.get(t));
    const found = missing === undefined ? null : await session.read(ids, missing, last, edits, pause);
    for (let t = begin; t < last; t++) {
      await pause();
      const known = kept.get(t);
      await this.alone(async () => {
        if (known) machine.floats.set(known.logits, this.block);
        else if (t < 0) await this.fill(reading, (kind) => (session.network.alike ? null : found?.before.get(kind)) ?? session.zeros.get(kind), pause);
        else await this.fill(reading, (kind) => found?.states.get(kind)?.[t - (missing ?? 0)], pause);
        await work(t, known?.encodings ?? null, key(t));
      });
    }
  }

  /**
   * The encodings of the states of some rows by kind, for each timestep.
   * @param {Reading} reading @param {number} first @param {number} last @param {Pause} pause
   * @param {Work | null} keep is given what they say of every label, too
   * @returns {Promise<Map<number, Map<string, Encoded>>>}
   */
  async encoded(reading, first, last, pause, keep) {
    /** @type {Map<number, Map<string, Encoded>>} */ const rows = new Map();
    await this.visit(reading, first, last, pause, async (t, kept, key) => {
      const encodings = kept ?? await this.encodings(reading, t, pause);
      const size = this.sizeOf(reading);
      if (!kept && key && (t <= first || t >= last - NEXT || !this.session.network.causal)) {
        this.recent.put(key, { encodings, logits: this.machine.floats.slice(this.block, this.block + size) });
      }
      rows.set(t, this.withOutcomes(reading, t, encodings));
      if (keep) this.tell(reading, t, keep);
    });
    return rows;
  }

  /** The encodings of what is in the block, of one timestep. @param {Reading} reading @param {number} t @param {Pause} pause */
  async encodings(reading, t, pause) {
    const { answers } = reading, colours = this.palettes[this.semantics[reading.semantic].palettes][reading.palette];
    const kinds = this.kinds(reading), numbers = answers.scale ? kinds.map((kind) => this.ofNumber(reading, kind, t)) : [];
    const made = await this.encoder.encode(this.block, kinds.length, answers.names.length, colours, answers, numbers, pause);
    const outside = (/** @type {string} */ kind) => (kind === PREDICTION ? null
      : this.probes?.stack(reading.semantic).outside(this.probes.kinds.indexOf(kind)) ?? null);
    return made.map((encoding, k) => ({ ...encoding, outside: outside(kinds[k]) }));
  }

  /** Of a state that says a number. @param {Reading} reading @param {string} kind @param {number} t */
  ofNumber({ semantic }, kind, t) {
    const own = kind === PREDICTION, { probes } = this, k = own ? probes?.kinds.length ?? 0 : probes?.kinds.indexOf(kind) ?? 0;
    return { own: own ? this.machine.floats[this.number] : null, width: probes?.stack(semantic).width(k, t) ?? 1 };
  }

  /** What is in the block with what really came. @param {Reading} reading @param {number} t @param {Encoding[]} encodings */
  withOutcomes(reading, t, encodings) {
    const kinds = this.kinds(reading), wanted = kinds.map((kind) => this.wanted(reading, kind, t));
    const outcomes = this.encoder.outcomes(this.block, encodings, wanted, reading.answers.names.length);
    return new Map(kinds.map((kind, k) => [kind, { encoding: encodings[k], outcome: outcomes[k], wanted: wanted[k] }]));
  }

  /** The label that a state is asked about, -1 where the text has none. @param {Reading} reading @param {string} kind @param {number} t */
  wanted({ semantic, came, told }, kind, t) {
    const { of_model, offset, shift } = this.semantics[semantic];
    if (told) return told[t + (kind === PREDICTION ? 0 : shift)] ?? -1;
    return of_model ? came[t + (kind === PREDICTION ? 1 : offset)] ?? -1 : -1; // no text tells other labels
  }

  /**
   * Do something with what every state of some rows says of every label; a kind that a column shows one step back has
   * the state before the first, too.
   * @param {Reading} reading @param {number} first @param {number} last @param {Work} work @param {Pause} pause
   */
  async each(reading, first, last, work, pause) {
    const { earlier } = reading;
    await this.visit(reading, first, last, pause, (t) => this.tell(reading, t, (kind, step, logits) => {
      if (t >= first || earlier.has(kind)) work(kind, step, logits);
    }));
  }

  /** What is in the block, kind by kind. @param {Reading} reading @param {number} t @param {Work} work */
  tell(reading, t, work) {
    this.kinds(reading).forEach((kind, k) => work(kind, t, this.logits(k, reading.answers.names.length)));
  }

  /** The logits of one state of the block. @param {number} k its place @param {number} labels */
  logits(k, labels) {
    const { floats } = this.machine, found = new Float32Array(labels);
    const at = this.block + (k >> 2) * labels * 4 + (k & 3);
    for (let label = 0; label < labels; label++) found[label] = floats[at + 4 * label];
    return found;
  }

  /** What one state says of every label. @param {Reading} reading @param {string} kind @param {Float32Array} state @param {Pause} pause */
  logitsOf(reading, kind, state, pause) {
    const kinds = this.kinds(reading);
    return this.alone(async () => {
      await this.fill(reading, (one) => (one === kind ? state : this.session.zeros.get(one)), pause);
      return this.logits(kinds.indexOf(kind), reading.answers.names.length);
    });
  }
}

/** @param {number} first @param {number} last */
function steps(first, last) {
  return Array.from({ length: Math.max(0, last - first) }, (_, k) => first + k);
}
