// What if a state were another: a menu on the states, the edits above the grid, and a way back.

import { editsAt, editWords, push, targetOf, ways, withEdit } from "../base/edits.js";
import { columnsAt, hasNetwork } from "../base/lines.js";
import { bdi, html } from "../base/markup.js";
import { momentName, partName } from "../panel/subject.js";

/**
 * `focus` selects a state.
 * @typedef {{edits: (edits: string[]) => void, focus: (place: Place) => void}} OnEdit
 */

export class WhatIf {
  /**
   * @param {HTMLElement} place where the grid stands @param {GridView} gridView
   * @param {OnEdit | null} on null: nobody is there who could make edits
   */
  constructor(place, gridView, on) {
    this.place = place;
    this.gridView = gridView;
    this.on = on;
    /** @type {Held | null} */ this.grid = null;
    /** @type {View | null} */ this.view = null;
    /** @type {HTMLElement | null} */ this.opener = null; // whatever had the keys before the menu
    this.line = html("div", { class: "editline", role: "group", "aria-label": "edits", hidden: true });
    this.sheet = html("div", { class: "sheet whatif", role: "dialog", "aria-label": "change a state", hidden: true });
    place.append(this.sheet);
    if (on) this.listen();
  }

  listen() {
    const { scroller, body } = this.gridView;
    scroller.addEventListener("contextmenu", (event) => {
      const pointed = event.target instanceof Node && body.contains(event.target) ? this.gridView.at(event) : null;
      const at = pointed ?? this.gridView.marks.focus;
      if (!at || this.gridView.picking || !this.open(at, scroller)) return;
      event.preventDefault();
    });
    this.place.getRootNode().addEventListener("pointerdown", (event) => {
      if (!event.composedPath().includes(this.sheet)) this.sheet.hidden = true;
    });
    this.sheet.addEventListener("keydown", (event) => this.key(event));
  }

  /** @param {Held} grid @param {View} view */
  show(grid, view) {
    if (grid.text !== this.grid?.text || grid.run !== this.grid?.run) this.sheet.hidden = true;
    this.grid = grid;
    this.view = view;
    const items = grid.edits.map((text) => html("li", {}, bdi(editWords(grid, text)), ...this.takeBack(text, editWords(grid, text))));
    const all = this.on && items.length > 1 ? [html("button", { type: "button", class: "plain", click: () => this.on?.edits([]) }, "take all back")] : [];
    const had = focusedIn(this.line);
    this.line.hidden = !items.length;
    this.line.replaceChildren(html("b", {}, "What if"), html("ul", {}, ...items), ...all);
    if (had && !focusAgain(this.line)) this.gridView.scroller.focus();
  }

  /** @param {string} text @param {string} name */
  takeBack(text, name) {
    return !this.on ? [] : [html("button", { type: "button", class: "plain", title: "take it back", "aria-label": `take back ${name}`,
      click: () => this.on?.edits((this.view?.edits ?? []).filter((other) => other !== text)) }, "×")];
  }

  /** @param {Place} place @param {string} what */
  make(place, what) {
    const target = this.grid && targetOf(this.grid, place);
    if (!target || !this.view || !this.on) return;
    this.close();
    this.gridView.scroller.focus({ preventScroll: true }); // what was clicked is drawn anew
    this.on.edits(withEdit(this.view.edits, { kind: target.kind, units: "", side: target.side, row: target.row, what }));
  }

  /** Close the menu, if it is open. @returns {boolean} whether it was */
  close() {
    if (this.sheet.hidden) return false;
    this.sheet.hidden = true;
    (this.opener?.isConnected ? this.opener : this.gridView.scroller).focus();
    return true;
  }

  /** Open the menu of a state, if it can be changed. @param {Place} place @param {HTMLElement} opener */
  open(place, opener) {
    const { grid, gridView } = this;
    if (!grid || !hasNetwork(grid) || !targetOf(grid, place) || !grid.rows[place.row]) return false;
    this.opener = opener;
    this.on?.focus(place);
    this.sheet.replaceChildren(...this.inside(grid, place));
    this.sheet.hidden = false;
    const at = gridView.boxOf(place);
    const box = this.place.getBoundingClientRect(), { offsetWidth: wide, offsetHeight: tall } = this.sheet;
    const left = (at ? at.left - box.left : box.width), under = at ? at.bottom - box.top + 4 : 40;
    const top = at && under + tall > box.height ? Math.max(4, at.top - box.top - tall - 4) : under;
    this.sheet.style.left = `${Math.max(4, Math.min(left, box.width - wide - 6))}px`;
    this.sheet.style.top = `${top}px`;
    this.sheet.querySelector("button")?.focus();
    return true;
  }

  /** @param {Held} grid @param {Place} place @returns {Node[]} */
  inside(grid, place) {
    const target = targetOf(grid, place), { view } = this;
    if (!target || !view) return [];
    const line = (/** @type {string} */ name, /** @type {() => void} */ click) =>
      html("button", { type: "button", class: "action", click }, bdi(name));
    const choices = ways(grid, place, view.pins).map(({ name, what }) => line(name, () => this.make(place, what)));
    const back = editsAt(view.edits, target).map((text) => line(`take back: ${editWords(grid, text)}`, () => {
      this.close();
      this.on?.edits(view.edits.filter((other) => other !== text));
    }));
    const state = grid.rows[place.row][grid.columns.indexOf(target.column)];
    const label = html("input", { type: "text", "aria-label": "a label to push it towards or away from", spellcheck: "false",
      autocomplete: "off", autocapitalize: "off" });
    label.value = view.follow?.labels[0] ?? state?.wanted?.[0] ?? state?.top[0]?.[0] ?? "";
    const pushed = (/** @type {boolean} */ towards) => () => label.value && this.make(place, push(towards, label.value));
    label.addEventListener("keydown", (event) => {
      if (event.key === "Enter") pushed(true)();
    });
    return [
      html("h3", {}, `What if ${partName(target.column, columnsAt(grid, place.row))}, ${momentName(grid, place, target.column)}, were`),
      ...choices,
      html("div", { class: "push" }, html("span", {}, "push"), html("button", { type: "button", class: "toggle", click: pushed(true) }, "towards"),
        html("button", { type: "button", class: "toggle", click: pushed(false) }, "away from"), label),
      ...back,
    ];
  }

  /** Arrows go through the menu, Escape leaves it. @param {KeyboardEvent} event */
  key(event) {
    event.stopPropagation();
    if (event.key === "Escape") return void this.close();
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (!step) return undefined;
    event.preventDefault();
    const stops = [...this.sheet.querySelectorAll("button, input")], at = stops.findIndex((one) => one === event.target);
    const next = stops[(at + step + stops.length) % stops.length];
    if (next instanceof HTMLElement) next.focus();
    return undefined;
  }
}

/** Whether something inside has the keys. @param {HTMLElement} root */
function focusedIn(root) {
  const tree = root.getRootNode(), active = tree instanceof Document || tree instanceof ShadowRoot ? tree.activeElement : null;
  return active !== null && active !== root && root.contains(active);
}

/** Give the keys to the first button inside, where there is one. @param {HTMLElement} root */
function focusAgain(root) {
  const button = root.querySelector("button");
  button?.focus();
  return button !== null;
}
