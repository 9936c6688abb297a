// Asking for grids: one request for rows at a time, the newest wish next, again when it is gone.

import { allowed, quote, thousands } from "../base/format.js";
import { hold } from "../base/held.js";
import { Refusal } from "../base/refusal.js";
import { shownColumns } from "../base/columns.js";
import { keep } from "../panel/pins.js";

/** @typedef {import("./source.js").Source} Source */
/** @typedef {{run: string | null, text: string, semantic: string | null, palette: string | null, edits: string[], beside: string | null, columns?: string[] | null}} Wish */
/** @typedef {{wish: Wish, more: boolean, since: number, answered: boolean, stop: AbortController}} Flight */
/**
 * @typedef {{onGrid: (grid: Held) => void, onProblem: (told: string) => void,
 *   onServer: (there: boolean) => void, onBusy: (busy: boolean) => void,
 *   onDiffer: (wish: Wish | null) => void,
 *   inView: (row: number) => number, waits?: (text: string) => boolean}} ClientCallbacks `waits`: whether a text is only half typed
 */

const BLOCK = 100; // rows in one answer while more is loaded
const FEWEST = 3; // rows in the first answer to a wish, which is what a key press waits for; as many as are in view
const LULL = 300; // ms after it before more is asked for: longer than from key to key, so that none waits for that
const UNSEEN = 160; // ms that a grid may differ from what is wished for before that is said: most answers are here
const LATE = 250; // ms after which an answer to an older text is no longer waited for
const PAUSES = [400, 800, 1600, 3200, 6400]; // ms before a silent server is asked again

/**
 * Whether two wishes differ in their text and edits alone, and the first has all columns of the second.
 * @param {Wish} a @param {Wish} b @param {Held | undefined} grid
 */
function alike(a, b, grid) {
  return a.run === b.run && a.beside === b.beside && a.semantic === b.semantic && a.palette === b.palette && covers(a.columns, b.columns, grid);
}

/**
 * Whether columns are among others; none: all there are.
 * @param {Wish["columns"]} all @param {Wish["columns"]} some @param {Held | undefined} grid that tells what names stand for
 */
function covers(all, some, grid) {
  if (!all || !some) return !all;
  const ids = (/** @type {string[]} */ names) => (grid ? shownColumns(grid, names).map((column) => column.id) : names), has = new Set(ids(all));
  return ids(some).every((column) => has.has(column));
}

/**
 * The row of the first word that an edit changed, at a guess: words are separated at more than spaces.
 * @param {string} before @param {string} text
 */
export function editedRow(before, text) {
  let same = 0;
  while (same < text.length && text[same] === before[same]) same++;
  const start = text.slice(0, same), words = start.split(/\s+/).filter(Boolean).length;
  const inside = /\S$/.test(start) && /\S/.test((text[same] ?? "") + (before[same] ?? ""));
  return inside ? words - 1 : words;
}

export class Client {
  /** @param {ClientCallbacks} callbacks @param {Source["ask"]} asks who is asked: a server, a kernel or an engine */
  constructor(callbacks, asks) {
    this.callbacks = callbacks;
    this.asks = asks;
    /** @type {{wish: Wish, grid: Held} | null} */ this.held = null;
    /** @type {Wish | null} */ this.wished = null; // the newest, answered or not
    /** @type {Wish | null} */ this.next = null;
    /** @type {Flight | null} */ this.flight = null;
    this.failures = 0;
    this.hurried = false; // whether a late answer was given up and none has come since
    this.refused = ""; // why the newest wish has no answer, or not all of it
    this.timer = 0;
    this.fading = 0;
    /** @type {(() => void)[]} */ this.waiting = [];
  }

  /**
   * Wish for a grid, of as much of a text as can be asked for; an earlier wish that is still unanswered is forgotten.
   * @param {Wish} asked
   */
  want(asked) {
    const wish = { ...asked, text: allowed(asked.text) };
    this.wished = wish;
    this.next = wish;
    this.refused = "";
    this.callbacks.onBusy(true);
    this.compare(false);
    const { flight } = this;
    if (!flight) {
      clearTimeout(this.timer);
      this.go();
      return;
    }
    const late = !this.hurried && performance.now() - flight.since > LATE;
    if (flight.more || late || !alike(flight.wish, wish, this.held?.grid)) {
      // An answer that is nearly there is let through: its rows begin the next one's. So is the answer after one that was
      // late, or whoever types on would see nothing as long as the server is slow.
      this.hurried = late;
      flight.stop.abort();
    }
  }

  /** Begin with a grid that is at hand; rows it lacks are asked for. @param {Wish} wish @param {Held} grid */
  begin(wish, grid) {
    this.held = { wish, grid };
    this.wished = wish;
    this.callbacks.onGrid(grid);
    this.go();
  }

  /** Whether what is held is what was wished for last. */
  answered() {
    return this.held !== null && this.held.wish === this.wished;
  }

  /**
   * Say whether what is held is what was wished for; where it is about to be, later.
   * @param {boolean} now
   */
  compare(now) {
    clearTimeout(this.fading);
    if (this.answered() || this.waits()) this.callbacks.onDiffer(null);
    else if (now) this.callbacks.onDiffer(this.held && this.wished);
    else this.fading = setTimeout(() => this.compare(true), UNSEEN);
  }

  /** Whether the newest wish is for a text that is only half typed, over a grid that can stay meanwhile. */
  waits() {
    return this.held !== null && this.wished !== null && this.callbacks.waits?.(this.wished.text) === true;
  }

  /** Say why the newest wish has no answer, once its text is not merely half typed. */
  speak() {
    if (this.refused && !this.waits()) this.callbacks.onProblem(this.refused);
    this.compare(true);
  }

  /** Whether the newest wish has these columns. @param {Wish["columns"]} columns */
  has(columns) {
    return covers(this.wished?.columns, columns, this.held?.grid);
  }

  /** Resolves once every row of the newest wish is here, with all columns; fails where it has no answer. @returns {Promise<Held>} */
  async complete() {
    const drawn = this.answered();
    if (this.wished && drawn && !this.has(null)) this.want({ ...this.wished, columns: null });
    const { wished } = this, coming = () => (this.answered() ? this.flight || this.missing() : drawn && !this.refused);
    while (this.held && this.wished === wished && coming()) {
      await new Promise((resolve) => this.waiting.push(() => resolve(undefined)));
    }
    if (this.held && this.answered() && !this.refused) return this.held.grid;
    throw new Error(this.refused || "the grid of this text is on its way; try again when it is drawn");
  }

  /** Rows of the newest wish that are still to be asked for; those of an older one are no longer wanted. */
  missing() {
    const { held } = this;
    return held && this.answered() && !this.refused ? held.grid.words.length - held.grid.rows.length : 0;
  }

  go() {
    if (this.flight) return;
    if (this.next) this.fly(this.next, false);
    else if (this.held && this.missing()) this.fly(this.held.wish, true);
    else this.callbacks.onBusy(false);
    for (const done of this.waiting.splice(0)) done();
  }

  /** @param {Wish} wish @param {boolean} more whether it goes on with a text that is drawn */
  async fly(wish, more) {
    /** @type {Flight} */
    const flight = { wish, more, since: performance.now(), answered: false, stop: new AbortController() };
    this.flight = flight;
    if (!more) this.next = null;
    const known = this.held && alike(this.held.wish, wish, this.held.grid) ? this.held.grid : null;
    const first = () => Math.max(FEWEST, Math.min(BLOCK, this.callbacks.inView(editedRow(known?.text ?? "", wish.text))));
    const body = { ...wish, previous: known?.text ?? "", have: known?.rows.length ?? 0,
      limit: more ? BLOCK : first(), previous_edits: known?.edits ?? [], lenient: true };
    let pause = 0;
    try {
      const answer = await this.asks("api/grid", body, flight.stop.signal);
      flight.answered = true;
      this.hurried = false;
      const grid = hold(answer, known);
      this.held = { wish, grid };
      this.failures = 0;
      this.callbacks.onServer(true);
      this.callbacks.onGrid(grid);
      if (this.answered()) this.compare(true);
      if (!more && !this.next && this.missing()) pause = LULL;
    } catch (error) {
      pause = this.failed(error, wish, more);
    }
    this.flight = null;
    if (pause) this.timer = setTimeout(() => this.go(), pause);
    else this.go();
  }

  /** @param {unknown} error @param {Wish} wish @param {boolean} more @returns {number} ms to wait */
  failed(error, wish, more) {
    if (error instanceof DOMException && error.name === "AbortError") {
      return this.next || more ? 0 : 1;
    }
    const refused = error instanceof Refusal;
    if (refused && error.status !== 503) {
      this.callbacks.onServer(true);
      // A newer wish is not refused with it.
      if (wish === this.wished) {
        this.refused = error.message;
        this.speak();
      }
      return 0;
    }
    if (!refused && !(error instanceof TypeError && this.flight && !this.flight.answered)) {
      reportError(error); // a mistake of the page's own: the next key must still be answered
      return 0;
    }
    if (!more) this.next ??= wish;
    if (refused) this.callbacks.onProblem(error.message);
    else this.callbacks.onServer(false);
    this.compare(true);
    return PAUSES[Math.min(this.failures++, PAUSES.length - 1)];
  }
}

/**
 * Ask for the row that a pin of another text or run is of.
 * @param {Source["ask"]} ask @param {Pin} pin @param {string | null} palette @param {(problem: string) => void} tell what is wrong with the link
 * @returns {Promise<Kept | null>} null: there is no such state
 */
export async function lookUp(ask, pin, palette, tell) {
  const { run, semantic, row } = pin, text = pin.text ?? "";
  const word = `the link pins word ${thousands(row + 1)} of “${quote(text)}”`;
  const found = await ask("api/grid", { run, text, semantic, palette, previous: text, have: row, limit: 1 }).catch((error) => {
    if (!(error instanceof Refusal) || error.status === 503) throw error;
    tell(`${word}: ${error.message}`);
  });
  if (!found) return null;
  if (row >= found.words.length) {
    tell(`${word}, but that text is shorter`);
    return null;
  }
  return keep(pin, { ...hold({ ...found, rows: [] }, null), rows: [...Array(found.from), ...found.rows] });
}

/** What went wrong, in words. @param {unknown} error */
export function reason(error) {
  const told = error instanceof Error ? error.message : String(error);
  return error instanceof TypeError ? "the server does not answer" : told;
}
