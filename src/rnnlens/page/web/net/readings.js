// Followed labels, turns and memories, asked for row by row: those in view first, and never while somebody types.

import { besideOf } from "../base/lines.js";
import { toldColumns } from "../base/memories.js";
import { Refusal } from "../base/refusal.js";

/**
 * Whoever answers: a server or a kernel.
 * @typedef {<P extends "api/continue" | "api/follow" | "api/labels" | "api/memories" | "api/memory" | "api/turns" | "api/written">(path: P, body: Posts[P]["asked"], signal: AbortSignal) =>
 *   Promise<Posts[P]["answer"]>} Reader
 */

/** @typedef {import("../base/schema.d.ts").MemoryTold} MemoryTold */

const LULL = 250; // ms after the last change before anything is asked for
const BLOCK = 24; // rows in one answer

export class Readings {
  /**
   * @param {Reader} read @param {() => void} onChange @param {(error: unknown) => void} onProblem null: none any more
   * @param {(told: string) => void} onRefused why labels cannot be followed, which are then as if nobody had named them
   * @param {number} lull ms
   */
  constructor(read, onChange, onProblem, onRefused, lull = LULL) {
    this.read = read;
    this.onChange = onChange;
    this.onProblem = onProblem;
    this.onRefused = onRefused;
    this.lull = lull;
    /** @type {Held | null} */ this.grid = null;
    /** @type {Follow | null} */ this.follow = null;
    this.turns = false;
    this.question = "";
    // By a row's own states: whatever row is sent anew is asked for anew, and no other.
    /** @type {WeakMap<(State | null)[], number[]>} */ this.numbers = new WeakMap();
    /** @type {WeakMap<(State | null)[], number[]>} */ this.unedited = new WeakMap(); // the numbers without the edits
    /** @type {WeakMap<(State | null)[], TurnRow>} */ this.turned = new WeakMap();
    /** @type {WeakMap<(State | null)[], Map<string, MemoryTold>>} */ this.told = new WeakMap(); // memories by their columns
    /** @type {{columns: string[], word: string | null}} */ this.memories = { columns: [], word: null };
    this.toldOf = "";
    /** @type {[number, number]} */ this.range = [0, 0];
    this.version = 0;
    this.timer = 0;
    this.failed = false;
    this.refused = false; // whether what is to be followed cannot be
    this.untold = false; // and whether memories cannot be asked
    /** @type {AbortController | null} */ this.flight = null;
  }

  /** What is to be read now, and the rows in view. @param {Held} grid @param {View} view @param {[number, number]} range */
  show(grid, view, range) {
    const question = JSON.stringify([grid.run, besideOf(grid), view.follow]);
    if (question !== this.question) {
      this.numbers = new WeakMap();
      this.unedited = new WeakMap();
      this.version++;
    }
    if (this.turns !== view.turns) this.version++;
    const memories = { columns: toldColumns(grid, view), word: view.asked }, told = JSON.stringify([grid.run, besideOf(grid), memories]), others = told !== this.toldOf;
    if (others) {
      this.told = new WeakMap();
      this.memories = memories;
    }
    this.toldOf = told;
    const changed = others || question !== this.question || this.turns !== view.turns || this.grid?.text !== grid.text
      || this.grid?.semantic !== grid.semantic;
    this.question = question;
    this.follow = view.follow;
    this.turns = view.turns;
    this.grid = grid;
    this.range = range;
    if (changed) {
      this.flight?.abort();
      if (this.failed || this.untold) this.onProblem(null);
      this.failed = this.refused = this.untold = false;
    }
    this.later(changed ? this.lull : 0);
  }

  /** The followed numbers of a row. @param {number} row @returns {number[] | null} */
  numbersOf(row) {
    const states = this.grid?.rows[row];
    return (states && this.follow && this.numbers.get(states)) ?? null;
  }

  /** The same without the edits; null where there are none. @param {number} row @returns {number[] | null} */
  uneditedOf(row) {
    const states = this.grid?.rows[row];
    return (states && this.follow && this.hasUnedited() && this.unedited.get(states)) || null;
  }

  /** Whether rows are compared with what they are without the edits; two readings are compared with each other. */
  hasUnedited() {
    return this.grid !== null && this.grid.edits.length > 0 && !this.grid.sides.length;
  }

  /** The turns of a row. @param {number} row @returns {TurnRow | null} */
  turnsOf(row) {
    const states = this.grid?.rows[row];
    return (states && this.turns && this.turned.get(states)) || null;
  }

  /** What a memory of a row is, while cells show that. @param {number} row @param {string} column @returns {MemoryTold | null} */
  memoryOf(row, column) {
    const states = this.grid?.rows[row];
    return (states && this.told.get(states)?.get(column)) ?? null;
  }

  /** @param {number} pause */
  later(pause) {
    clearTimeout(this.timer);
    if (!this.flight && !this.failed && this.next()) this.timer = setTimeout(() => this.fly(), pause);
  }

  /**
   * The rows to ask for next: those in view, then the others.
   * @returns {{path: "api/follow" | "api/memories" | "api/turns", edits: string[], first: number, limit: number} | null}
   */
  next() {
    const { grid } = this;
    if (!grid) return null;
    const [first, end] = this.range;
    const rows = [...grid.rows.keys()], seen = rows.slice(first, end);
    /** @param {WeakMap<(State | null)[], unknown>} known */
    const missing = (known) => [...seen, ...rows].find((row) => !known.has(grid.rows[row]));
    const open = [
      this.follow && !this.refused && { path: /** @type {const} */ ("api/follow"), known: this.numbers, edits: grid.edits },
      this.follow && !this.refused && this.hasUnedited() && { path: /** @type {const} */ ("api/follow"), known: this.unedited, edits: [] },
      this.memories.columns.length && !this.untold && { path: /** @type {const} */ ("api/memories"), known: this.told, edits: grid.edits },
      this.turns && { path: /** @type {const} */ ("api/turns"), known: this.turned, edits: grid.edits },
    ];
    for (const wish of open) {
      const at = wish ? missing(wish.known) : undefined;
      if (wish && at !== undefined) {
        let limit = 1;
        while (limit < BLOCK && at + limit < rows.length && !wish.known.has(grid.rows[at + limit])) limit++;
        return { path: wish.path, edits: wish.edits, first: at, limit };
      }
    }
    return null;
  }

  async fly() {
    const wish = this.next(), { grid, follow, memories } = this;
    if (!wish || !grid) return;
    const flight = new AbortController();
    this.flight = flight;
    const { path, first, limit } = wish, rows = grid.rows.slice(first, first + limit), question = this.question;
    const asked = { run: grid.run, text: grid.text, semantic: grid.semantic, first, limit, edits: wish.edits, beside: besideOf(grid),
      columns: columnsAtHand(grid, rows) };
    const known = wish.edits.length || !grid.edits.length ? this.numbers : this.unedited;
    try {
      if (path === "api/follow") {
        const found = await this.read(path, { ...asked, labels: follow?.labels ?? [], against: follow?.against ?? [] },
          flight.signal);
        if (question === this.question) found.rows.forEach((numbers, k) => known.set(rows[k], numbers.map((one) => one ?? NaN))); // of no state: it is not shown
      } else if (path === "api/memories") {
        const found = await this.read(path, { ...asked, ...memories }, flight.signal);
        if (memories === this.memories) found.rows.forEach((told, k) => this.told.set(rows[k], new Map(told.flatMap((one, c) => (one ? [[found.columns[c], one]] : [])))));
      } else {
        const found = await this.read(path, asked, flight.signal);
        found.rows.forEach((turns, k) => this.turned.set(rows[k], turns));
      }
      this.version++;
      if (this.failed) this.onProblem(null);
      this.failed = false;
      this.onChange();
    } catch (error) {
      if (!flight.signal.aborted && path === "api/follow" && error instanceof Refusal && error.status < 500) {
        this.refused = true;
        this.version++;
        this.onRefused(error.message);
        this.onChange();
      } else if (!flight.signal.aborted && path === "api/memories" && error instanceof Refusal && error.status < 500) {
        this.untold = true;
        this.onProblem(error);
      } else if (!flight.signal.aborted) {
        this.failed = true; // until what is asked for changes
        this.onProblem(error);
      }
    }
    this.flight = null;
    this.later(flight.signal.aborted ? this.lull : 0);
  }
}

/** The columns whose states some rows have; null: all. @param {Held} grid @param {(State | null)[][]} rows */
function columnsAtHand({ columns }, rows) {
  const there = columns.filter((_, k) => rows.some((states) => states[k]));
  return there.length < columns.length ? there.map(({ id }) => id) : null;
}
