// A tour of four steps: type, select, change, explain. Each points at the real thing and goes on once it is done. It covers
// nothing else, takes no focus, and is offered once, to whoever comes for the first time with nothing particular in mind.

import { html, write } from "../base/markup.js";

const SEEN = "rnnlens-tour";
const TYPED = 1200; // ms after the last key, when a text is taken to be written
const GAP = 10; // px between the card and what it points at

/**
 * A step: its words, what it points at, the first that is there, and what has been done once it is.
 * @typedef {{name: string, says: string, at: string[], isDone: (change: Partial<View>) => boolean}} Step
 */

const STATES = ".row[aria-rowindex='3'] .state"; // of the second word

/** @type {Step[]} */
const STEPS = [
  { name: "Type", says: "Write a sentence, or go on with this one. Every word that the network reads becomes a row.", at: [".typing"],
    isDone: ({ text }) => text !== undefined },
  { name: "Select", says: "Click a state. It is one part of the network after one word, with what it expects to come next.", at: [STATES, ".scroller"],
    isDone: ({ focus }) => focus !== undefined && focus !== null },
  { name: "Change", says: "Change puts another value there, zero for one, and everything after it is computed anew.", at: ["[data-act=change]", ".panel"],
    isDone: ({ edits }) => edits !== undefined && edits.length > 0 },
  { name: "Explain", says: "Explain tells which words wrote a state, of the text as it is: undo the change first, there or with Ctrl+Z.", at: ["[data-act=explain]", ".panel"],
    isDone: ({ tab }) => tab === "written" },
];

export class Tour {
  /** @param {HTMLElement} root the page */
  constructor(root) {
    this.root = root;
    this.step = -1; // none
    this.timer = 0;
    this.ring = html("div", { class: "tourring" });
    this.name = html("h2", {});
    this.said = html("p", {});
    this.next = html("button", { type: "button", class: "toggle", click: () => this.turn(this.step + 1) }, "Next");
    const skip = html("button", { type: "button", class: "plain", title: "end the tour (Escape)", click: () => this.end() }, "Skip the tour");
    this.card = html("aside", { class: "tour", "aria-label": "tour" }, html("div", { "aria-live": "polite" }, this.name, this.said),
      html("div", { class: "tourend" }, skip, this.next));
    this.button = html("button", { type: "submit", class: "toggle", click: () => this.begin() }, "Take the tour");
    const place = () => this.place();
    window.addEventListener("resize", place);
    root.addEventListener("scroll", place, true);
    new ResizeObserver(place).observe(root);
  }

  /** Whether it is under way. */
  isOpen() {
    return this.step >= 0;
  }

  /** Begin by itself, once: where nobody asked for anything, in a window of its own, and a person is there to see it. */
  offer() {
    if (navigator.webdriver || window.parent !== window || location.hash.length > 1) return;
    try {
      if (localStorage.getItem(SEEN)) return;
      localStorage.setItem(SEEN, "seen");
    } catch {
      return; // a page without a memory would begin anew every time
    }
    this.begin();
  }

  begin() {
    this.root.append(this.ring, this.card);
    this.turn(0);
  }

  end() {
    clearTimeout(this.timer);
    this.step = -1;
    this.ring.remove();
    this.card.remove();
  }

  /** @param {number} step */
  turn(step) {
    clearTimeout(this.timer);
    if (step >= STEPS.length) {
      this.end();
      return;
    }
    this.step = step;
    write(this.name, `${step + 1} of ${STEPS.length}: ${STEPS[step].name}`);
    write(this.said, STEPS[step].says);
    write(this.next, step + 1 < STEPS.length ? "Next" : "Done");
    this.place();
  }

  /** Something was done: perhaps what a step asks for. @param {Partial<View>} change */
  acted(change) {
    if (!this.isOpen()) return;
    const done = STEPS.findIndex((step, k) => k >= this.step && step.isDone(change));
    clearTimeout(this.timer);
    if (done >= 0) this.timer = setTimeout(() => this.turn(done + 1), "text" in change ? TYPED : 0);
    else this.timer = setTimeout(() => this.place(), 0); // what it points at may have moved
  }

  /** What a step points at: what is there and can be seen, of several the last before the very last. @returns {DOMRect | null} */
  target() {
    for (const selector of STEPS[this.step].at) {
      const boxes = [...this.root.querySelectorAll(selector)].map((one) => one.getBoundingClientRect()), last = boxes[boxes.length - 1];
      const box = boxes.filter(({ left, right }) => left > 0 && right <= last.left).pop() ?? last; // the last column covers others
      if (box && box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < window.innerHeight) return box;
    }
    return null;
  }

  /** Stand beside what is pointed at, below it or above it, within the window. */
  place() {
    if (!this.isOpen() || !this.card.isConnected) return;
    const box = this.target(), { offsetWidth: width, offsetHeight: height } = this.card;
    this.ring.hidden = !box;
    if (!box) return;
    const { innerWidth, innerHeight } = window, most = Math.max(8, innerHeight - height - 8);
    const below = box.bottom + GAP, top = below <= most ? below : box.top - GAP - height >= 8 ? box.top - GAP - height : most;
    const left = Math.min(Math.max(8, box.left), Math.max(8, innerWidth - width - 8));
    Object.assign(this.card.style, { left: `${left}px`, top: `${top}px` });
    Object.assign(this.ring.style, { left: `${box.left - 4}px`, top: `${box.top - 4}px`, width: `${box.width + 8}px`, height: `${box.height + 8}px` });
  }
}
