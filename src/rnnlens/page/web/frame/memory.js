// A memory that is a matrix: how large it is and how long it lasts, and what it would answer if a word came next.

import { labelWords, percent, visible } from "../base/format.js";
import { readingAt } from "../base/lines.js";
import { bdi, html } from "../base/markup.js";
import { isMatrix, numberOf, short } from "../base/memories.js";

/** @typedef {import("../panel/subject.js").Subject} Subject */
/** @typedef {import("../base/schema.d.ts").MemoryTold} MemoryTold */
/** @typedef {import("../base/schema.d.ts").MemoryQuestion} MemoryQuestion */

const SETTLED = 150; // ms a state is selected before it is asked about
const TYPED = 500; // ms after the last key of a word

const HOW = "The memory as it is here, asked by the question of this word, as if it came next; the probe of what the layer reads tells of the answer. It is no cause of anything.";
const NUMBERS = "Norm: the length of the memory as one vector. Effective rank: how many directions it has in effect, by its singular values; 1 where it holds one pair of key and value. "
  + "Half-life: words until half of it would be gone, were every word like this one; every head or unit has its own.";
const FEW = 10; // heads or units of which the shortest and the longest are told

/** The numbers of a memory, in words. @param {MemoryTold} told */
export function numbersOf(told) {
  const { rank, half_life: lives } = told, [norm, effective, life] = /** @type {const} */ (["norm", "rank", "half_life"]).map((which) => short(numberOf(told, which) ?? 0));
  const parts = [`norm ${norm}`];
  if (rank.length) parts.push(`effective rank ${effective}${rank.length > 1 ? `, a mean over ${rank.length} heads` : ""}`);
  const [low, , high] = (lives ?? []).map((one) => one ?? Infinity), each = `${told.lasting.toLocaleString("en")} ${told.lasting === told.norm.length ? "heads" : "units"}`;
  const of = told.lasting > FEW ? `the middle four fifths of ${each}` : each;
  if (lives) parts.push(low === high ? `half-life ${life} words` : `half-life ${short(low)} to ${short(high)} words of ${of}, median ${life}`);
  return parts.join("; ");
}

/** What a memory answers, and how sure that is. @param {NonNullable<MemoryTold["asked"]>} asked @param {Pick<Held, "placeholders">} grid @returns {Node[]} */
function answerOf({ word, read, labels, seen, agree, contexts }, grid) {
  const told = labels.flatMap(([name, p], k) => [k ? ", " : "", html("b", {}, bdi(labelWords(name, grid))), ` ${percent(p)}`]);
  const sure = contexts ? `From ${agree} of ${contexts} other places of the text the same label comes first.` : "There is no other place of the text to ask from.";
  return [html("p", {}, "answers ", ...told),
    html("p", { class: "soft" }, `By the probe of ${read}. ${sure}${seen === null ? "" : ` “${visible(word)}” came ${seen.toLocaleString("en")} times in training.`}`)];
}

export class MemoryView {
  /** @param {import("../net/readings.js").Reader} read */
  constructor(read) {
    this.read = read;
    this.question = ""; // that was asked last
    this.timer = this.turn = 0;
    /** @type {Pick<Held, "placeholders">} */ this.grid = { placeholders: new Map() };
    /** @type {MemoryQuestion | null} */ this.asked = null;
    this.word = html("input", { type: "text", spellcheck: "false", autocomplete: "off", autocapitalize: "off", placeholder: "a word", title: HOW, input: () => this.ask(TYPED) });
    this.numbers = html("p", { class: "soft", title: NUMBERS });
    this.told = html("div", { role: "status" });
    this.root = html("section", { class: "memory", "aria-label": "the memory itself" }, this.numbers,
      html("label", { title: HOW }, "asked by ", this.word), this.told);
  }

  /** Tell of a state, where it is such a memory; null: of none. @param {Held} grid @param {Subject | null} subject */
  show(grid, subject) {
    const { run, text, row } = subject ? readingAt(grid, subject.place.row) : { run: "", text: "", row: null };
    this.grid = grid;
    const edits = grid.lines.length ? [] : grid.edits;
    this.asked = subject && isMatrix(subject.column) ? { run, text, semantic: grid.semantic, edits, column: subject.column.id, row: row ?? 0 } : null;
    this.root.hidden = !this.asked;
    this.ask(SETTLED);
  }

  /** Ask, unless it was asked already. @param {number} wait ms */
  ask(wait) {
    const word = this.word.value.trim(), asked = this.asked && { ...this.asked, word: word || null }, question = JSON.stringify(asked);
    if (question === this.question) return;
    this.question = question;
    clearTimeout(this.timer);
    const turn = ++this.turn;
    if (asked) this.timer = setTimeout(() => this.send(asked, turn), wait);
  }

  /** @param {MemoryQuestion} asked @param {number} turn */
  async send(asked, turn) {
    try {
      const told = await this.read("api/memory", asked, new AbortController().signal);
      if (turn !== this.turn) return;
      this.numbers.textContent = numbersOf(told);
      this.told.replaceChildren(...(told.asked ? answerOf(told.asked, this.grid) : []));
    } catch (error) {
      if (turn === this.turn) this.told.replaceChildren(html("p", { class: "wrong" }, error instanceof Error ? error.message : String(error)));
    }
  }
}
