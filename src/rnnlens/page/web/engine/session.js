// A model that is given texts: what was computed is kept, so that typing on costs one word. As rnnlens/reading/session.py
// and memory.py do it.

import { of } from "./network.js";

/** @typedef {import("./network.js").Carried} Carried */
/** @typedef {import("./network.js").Network} Network */
/** @typedef {import("./network.js").StateEdits} StateEdits */
/** @typedef {import("./network.js").States} States */
/** @typedef {{key: string, stateEdits: (pause: Pause) => Promise<StateEdits>}} Changes edits of one text, ready to be made */
/** @typedef {{states: States, before: Carried}} Reading states of some rows, and those before the first of them */

const ROOM = 24 * 2 ** 20; // bytes of what is carried after prefixes
const PREFIXES = 200_000; // that are told apart

/** A number for every prefix of a text: two texts share it as far as their words are the same. */
export class Prefixes {
  constructor() {
    /** @type {Map<string, number>} */ this.known = new Map();
    this.next = 1; // 0: nothing is read
  }

  /** One for each prefix, the empty one first. @param {number[]} ids @returns {number[]} */
  of(ids) {
    if (this.known.size > PREFIXES) this.known.clear(); // numbers are not given again
    let prefix = 0;
    return [0, ...ids.map((id) => {
      const key = `${prefix} ${id}`, known = this.known.get(key);
      prefix = known ?? this.next++;
      if (known === undefined) this.known.set(key, prefix);
      return prefix;
    })];
  }
}

/** Keeps what was used last, up to a number of entries. @template K, V */
export class Recent {
  /** @param {number} most */
  constructor(most) {
    this.most = most;
    /** @type {Map<K, V>} */ this.held = new Map();
  }

  /** @param {K} key @returns {V | undefined} */
  get(key) {
    const value = this.held.get(key);
    if (value !== undefined) this.put(key, value);
    return value;
  }

  /** @param {K} key @param {V} value */
  put(key, value) {
    this.held.delete(key);
    this.held.set(key, value);
    for (const oldest of this.held.keys()) {
      if (this.held.size <= this.most) break;
      this.held.delete(oldest);
    }
  }
}

export class Session {
  /** @param {Network} network @param {Kind[]} kinds */
  constructor(network, kinds) {
    this.network = network;
    this.kinds = kinds;
    this.prefixes = new Prefixes();
    this.zeros = new Map(kinds.map(({ id }) => [id, network.zeros(id)]));
    const carried = network.carried.reduce((sum, kind) => sum + (this.zeros.get(kind)?.length ?? 0), 0);
    /** @type {Recent<number, Carried>} */
    this.carried = new Recent(Math.max(16, Math.floor(ROOM / (4 * carried + 200))));
    /** @type {Recent<string, States>} */ this.texts = new Recent(2); // that were read as a whole: with edits, and without
  }

  /**
   * The states of every kind and of `y` after the words first..last-1, and the kinds that others read one step back as
   * they were before the first.
   * @param {number[]} ids @param {number} first @param {number} last @param {Changes | null} edits @param {Pause} pause
   * @returns {Promise<Reading>}
   */
  async read(ids, first, last, edits, pause) {
    if (this.network.forwards && !edits) return this.continued(ids, first, last, pause);
    const states = await this.whole(ids, edits, pause), before = this.beforeFirst(states, first);
    return { states: new Map([...states].map(([kind, some]) => [kind, some.slice(first, last)])), before };
  }

  /** @param {States} states @param {number} first @returns {Carried} */
  beforeFirst(states, first) {
    return first ? new Map(this.kinds.map(({ id }) => [id, of(states, id)[first - 1]])) : new Map([...this.zeros, ...(this.network.began(this.kinds, states))]);
  }

  /**
   * Go on from the longest prefix that was read before.
   * @param {number[]} ids @param {number} first @param {number} last @param {Pause} pause @returns {Promise<Reading>}
   */
  async continued(ids, first, last, pause) {
    const prefixes = this.prefixes.of(ids.slice(0, last));
    let start = first, carried = this.carried.get(prefixes[start]);
    while (start && !carried) carried = this.carried.get(prefixes[--start]);
    const states = await this.network.states(ids, start, last, start ? carried ?? null : null, null, pause);
    for (let t = start; t < last; t++) {
      this.carried.put(prefixes[t + 1], new Map(this.network.carried.map((kind) => [kind, of(states, kind)[t - start]])));
    }
    const before = first > start ? this.carriedAt(states, first - 1 - start) : start ? carried : this.zeros;
    return {
      states: new Map([...states].map(([kind, some]) => [kind, some.slice(first - start)])),
      before: new Map([...this.zeros, ...(before ?? [])]),
    };
  }

  /** @param {States} states @param {number} at @returns {Carried} */
  carriedAt(states, at) {
    return new Map(this.network.carried.map((kind) => [kind, of(states, kind)[at]]));
  }

  /** @param {number[]} ids @param {Changes | null} edits @param {Pause} pause */
  async whole(ids, edits, pause) {
    const key = `${edits?.key ?? ""} ${this.prefixes.of(ids)[ids.length]}`;
    let states = this.texts.get(key);
    if (!states) {
      const changes = edits ? await edits.stateEdits(pause) : null;
      states = await this.network.states(ids, 0, ids.length, null, changes, pause);
      this.texts.put(key, states);
    }
    return states;
  }
}
