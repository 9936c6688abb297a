// Followed labels and turns over a grid: what is known of them, on one scale, and where to jump.

import { followText, scaleOf } from "../base/follow.js";
import { rowsAfter } from "../base/lines.js";
import { html } from "../base/markup.js";
import { toldColumns } from "../base/memories.js";
import { shownColumns } from "../base/columns.js";
import { fullOf } from "../grid/memorycell.js";
import { labelAt, ranked } from "../grid/over.js";
import { Readings } from "../net/readings.js";
import { answerOf, drawDecision, toldBy } from "../panel/decision.js";
import { drawTurnList } from "../panel/turns.js";
import { Strip } from "./strip.js";

/**
 * `strip` is where marks are explained and labels are chosen; `read` answers, where there is somebody who can;
 * `onUnread` is given what went wrong, or null once nothing does.
 * @typedef {{strip?: HTMLElement, read?: import("../net/readings.js").Reader,
 *   onUnread?: (error: unknown) => void}} OverlayCallbacks
 */

export class Overlay {
  /**
   * @param {GridView} gridView @param {OverlayCallbacks} callbacks
   * @param {{set: (change: Partial<View>) => void, focus: (place: Place) => void}} lens
   */
  constructor(gridView, { strip, read, onUnread }, lens) {
    this.gridView = gridView;
    this.lens = lens;
    this.list = html("div", { class: "turning" });
    this.decision = html("div", { class: "turning decision" });
    this.strip = strip ? new Strip(strip, lens.set, read ?? null) : null;
    this.readings = read ? new Readings(read, () => this.arrived(), (error) => onUnread?.(error),
      (told) => this.strip?.tell(told)) : null;
    /** @type {Held | null} */ this.grid = null;
    /** @type {View | null} */ this.view = null;
    /** @type {Scale | null} */ this.scale = null;
    /** @type {Map<string, number>} */ this.full = new Map(); // what the longest bar of a memory's column stands for
    this.seen = ""; // what the scale and the drawn rows were made of
    this.rank = -1; // of the turn last jumped to
    this.jumping = false; // whether the largest turn is to be shown once it is known
    /** @type {(() => void) | null} */ this.then = null; // what is done after that
    this.text = "";
  }

  /** Take in a grid and a view, before they are drawn. @param {Held} grid @param {View} view */
  show(grid, view) {
    if (grid.text !== this.text || !view.turns) {
      this.rank = -1;
      this.jumping &&= view.turns;
      this.then = null;
    }
    this.text = grid.text;
    this.grid = grid;
    this.view = view;
    this.readings?.show(grid, view, this.inView());
    this.prepare();
  }

  /** The rows in view. @returns {[number, number]} */
  inView() {
    const [first, end] = this.gridView.range();
    return [first, end];
  }

  /** Rows came into view. */
  moved() {
    if (this.grid && this.view) this.readings?.show(this.grid, this.view, this.inView());
  }

  arrived() {
    this.prepare();
    this.gridView.draw();
    this.refresh();
  }

  /** Fit the scale, and have rows drawn anew where what is known of them changed. */
  prepare() {
    const { grid, view, readings, gridView } = this;
    if (!grid || !view || !readings) return;
    const seen = `${readings.version} ${JSON.stringify([view.kinds, followText(view.follow), view.turns, view.memories, view.asked])}`;
    if (seen === this.seen) return;
    this.seen = seen;
    const columns = shownColumns(grid, view.kinds).map((column) => grid.columns.indexOf(column));
    const values = grid.rows.flatMap((_, row) => {
      const numbers = readings.numbersOf(row);
      return numbers?.length ? columns.map((k) => numbers[k]) : [];
    });
    this.scale = view.follow && !readings.refused ? scaleOf(values, view.follow.against.length > 0) : null;
    this.full = new Map(toldColumns(grid, view).map((id) => [id, fullOf(grid.rows.map((_, row) => readings.memoryOf(row, id)), view.memories)]));
    gridView.over = { version: gridView.over.version + 1, of: (row) => this.over(row) };
  }

  /** @param {number} row @returns {Over | null} */
  over(row) {
    const { readings, scale, full, view } = this;
    if (!readings || (!scale && !readings.turns && !full.size)) return null;
    const cells = { which: view && !view.asked ? view.memories : null, full: (/** @type {string} */ column) => full.get(column) ?? 1,
      of: (/** @type {string} */ column) => readings.memoryOf(row, column) };
    const after = (this.grid ? rowsAfter(this.grid, row, 1) : []).map((other) => ({ numbers: readings.numbersOf(other), below: other - row,
      second: this.grid?.lines[other]?.side === "second" }));
    return { scale, here: readings.numbersOf(row), after, unedited: readings.uneditedOf(row), turns: readings.turnsOf(row), cells };
  }

  /** The turns between states that are shown, largest first. */
  turns() {
    const { grid, readings } = this;
    return grid && readings ? ranked(grid, (row) => readings.turnsOf(row), this.shown()) : [];
  }

  shown() {
    return new Set(this.grid && this.view ? shownColumns(this.grid, this.view.kinds).map((column) => column.id) : []);
  }

  /** Draw what is said of followed labels and turns. */
  refresh() {
    const { grid, view, readings } = this;
    if (!grid || !view) return;
    this.strip?.show(grid, view, this.scale);
    const list = readings && view.turns
      ? drawTurnList(grid, (row) => readings.turnsOf(row), this.shown(), (place) => this.go(place)) : [];
    this.list.replaceChildren(...list);
    this.decision.replaceChildren(...this.decided(grid, view));
    if (this.jumping && this.turns().length) this.next();
  }

  /** When the network makes up its mind, of the label that is followed or else of its answer. @param {Held} grid @param {View} view */
  decided(grid, view) {
    const { follow } = view, answer = answerOf(grid);
    if (answer === null || (follow && (follow.against.length || follow.labels.length > 1))) return [];
    const asked = follow?.labels[0] ?? answer, told = toldBy(grid, asked);
    const valueOf = (/** @type {number} */ row, /** @type {number} */ k) => this.readings?.numbersOf(row)?.[k] ?? told(row, k);
    return drawDecision(grid, { answer: asked, valueOf, shown: this.shown(), measure: this.gridView.measure, onChoose: (place) => this.go(place) });
  }

  /** @param {string} label */
  follow(label) {
    this.lens.set({ follow: { labels: [label], against: [] } });
  }

  /** A click in the panel, where labels are too. @param {Event} event */
  click(event) {
    const label = labelAt(event);
    if (label !== null && this.readings) this.follow(label);
  }

  /** Follow a label, and have another one typed if that is wished. @param {string} label */
  followAndType(label) {
    this.follow(label);
    this.strip?.field.focus();
    this.strip?.field.select();
  }

  /** Go to the largest turn, and then to the next ones; where they are not known yet, once they are. */
  turn() {
    if (!this.readings || !this.view) return;
    this.jumping = !this.view.turns || !this.turns().length;
    if (!this.view.turns) this.lens.set({ turns: true });
    else if (!this.jumping) this.next();
  }

  /** Do something with the state that is selected once the jump to a turn is over. @param {() => void} does */
  afterJump(does) {
    if (this.jumping) this.then = does;
    else does();
  }

  next() {
    const turns = this.turns();
    this.jumping = false;
    if (!turns.length) return;
    this.rank = (this.rank + 1) % turns.length;
    this.go({ column: turns[this.rank].target, row: turns[this.rank].row });
    const { then } = this;
    this.then = null;
    then?.();
  }

  /** @param {Place} place */
  go(place) {
    this.gridView.reveal(place);
    this.lens.focus(place);
  }
}
