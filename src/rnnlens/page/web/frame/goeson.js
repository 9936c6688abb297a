// How the model goes on by itself, under the last row: its likeliest words and samples, with the edits and without them.

import { editsOf } from "../base/edits.js";
import { visible } from "../base/format.js";
import { laneNames } from "../base/lanes.js";
import { hasNetwork, readings } from "../base/lines.js";
import { bdi, html } from "../base/markup.js";

/** @typedef {import("../net/readings.js").Reader} Reader */
/** @typedef {import("../base/schema.d.ts").Continued} Continued */
/** One way to go on: what it is called, its likeliest words and its samples. @typedef {{name: string, words: string[], samples: string[][], beside: {words: string[], samples: string[][]} | null}} Way */

const WORDS = 12, SAMPLES = 5, SEEDS = 10_000; // that the page itself takes
const CALM = 350; // ms after a key before it is asked again, so that no key waits for it
const MOVES = new Set(["Enter", " ", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End", "PageUp", "PageDown"]); // which the grid hears, too
const HOW = `The model\u2019s own words, each read before the next is asked for: the likeliest ones, and ${SAMPLES} samples drawn with the probabilities that it gives.`;

export class GoesOn {
  /** @param {GridView} gridView @param {Reader} read @param {(change: Partial<View>) => void} set */
  constructor(gridView, read, set) {
    this.gridView = gridView;
    this.read = read;
    this.seed = /** @type {number | null} */ (null); // null: it is not open
    this.question = ""; // that was asked last
    this.timer = 0;
    /** @type {AbortController | null} */ this.flight = null;
    this.button = html("button", { type: "button", class: "plain", "aria-expanded": "false", title: HOW,
      click: () => set({ seed: this.seed === null ? 1 : null }) }, "how it goes on");
    this.again = html("button", { type: "button", class: "plain", hidden: true, title: "Draw other samples: another seed",
      click: () => set({ seed: 1 + Math.floor(Math.random() * SEEDS) }) }, "other samples");
    this.said = html("span", { class: "soft" });
    this.ways = html("div", { class: "ways", role: "status" });
    const cell = html("div", { role: "gridcell" }, html("div", { class: "ask" }, this.button, this.again, this.said), this.ways);
    this.root = html("div", { class: "goeson", role: "rowgroup", hidden: true }, html("div", { class: "foot", role: "row" }, cell));
    this.root.addEventListener("keydown", (event) => {
      if (MOVES.has(event.key)) event.stopPropagation();
    });
    gridView.scroller.append(this.root);
  }

  /** Wherever words follow, a text can be gone on with. @param {Held} grid @param {View} view */
  show(grid, view) {
    const { layout, room } = this.gridView, there = grid.follows && hasNetwork(grid) && grid.words.length > 0 && !grid.left_out;
    this.root.hidden = !there;
    if (layout) this.root.style.minWidth = `${layout.words + layout.width}px`;
    this.root.style.setProperty("--room", `${room.width}px`);
    this.seed = there ? view.seed : null;
    const open = this.seed !== null, opened = open && this.again.hidden;
    this.button.setAttribute("aria-expanded", String(open));
    this.again.hidden = this.said.hidden = this.ways.hidden = !open;
    this.ask(open ? questions(grid, this.seed ?? 0) : [], grid, opened);
  }

  /** @param {ReturnType<typeof questions>} asked @param {Held} grid @param {boolean} now */
  ask(asked, grid, now) {
    const question = JSON.stringify(asked);
    if (question === this.question) return;
    const typed = this.question !== "" && JSON.parse(this.question)[0]?.text !== asked[0]?.text;
    this.question = question;
    this.flight?.abort();
    clearTimeout(this.timer);
    if (!asked.length) return;
    this.root.classList.add("stale");
    this.timer = setTimeout(() => this.fly(asked, grid, now), now || !typed ? 0 : CALM);
  }

  /** @param {ReturnType<typeof questions>} asked @param {Held} grid @param {boolean} opened just now */
  async fly(asked, grid, opened) {
    const flight = new AbortController(), { question } = this;
    this.flight = flight;
    const told = await Promise.all(asked.map((one) => this.read("api/continue", one, flight.signal)))
      .then((found) => drawWays(waysOf(found, grid)).concat(this.say(found[0], asked[0].seed)), (error) => [html("p", {}, String(error?.message ?? error))]);
    if (question !== this.question || flight.signal.aborted) return;
    this.root.classList.remove("stale");
    this.ways.replaceChildren(...told);
    if (opened) this.root.scrollIntoView({ block: "nearest" });
  }

  /** @param {Continued} found @param {number} seed @returns {HTMLElement[]} */
  say({ left_out: unknown, samples }, seed) {
    const without = unknown === null ? "" : `${visible(unknown)} (unknown words) is left out, and the other words share its probability`;
    this.again.hidden = !samples.length;
    this.said.textContent = samples.length ? `seed ${seed}${without && ` \u00b7 ${visible(unknown ?? "")} left out`}` : "";
    this.said.title = without;
    return [];
  }
}

/** What is asked of each reading. @param {Held} grid @param {number} seed */
function questions(grid, seed) {
  return readings(grid).map(({ run, text }, k) => ({ run, text, edits: editsOf(grid, k ? "second" : "first"), words: WORDS, samples: SAMPLES, seed }));
}

/** @param {Continued[]} found one for each reading @param {Held} grid @returns {Way[]} */
export function waysOf(found, grid) {
  const names = grid.sides.length ? laneNames(grid) : [""];
  return found.flatMap(({ before, after, samples, samples_before: without }, k) => {
    /** @type {Way[]} */ const ways = [];
    const edited = editsOf(grid, k ? "second" : "first").length > 0, name = names[k] ?? "";
    const [plain, changed] = [{ words: before, samples: without }, { words: after, samples }];
    if (!edited) ways.push({ name, ...plain, beside: null });
    else {
      ways.push({ name: [name, "with the edits"].filter(Boolean).join(", "), ...changed, beside: plain },
        { name: [name, "without them"].filter(Boolean).join(", "), ...plain, beside: changed });
    }
    return ways;
  });
}

/** The ways side by side; a word that is another in the way beside is set off. @param {Way[]} ways */
function drawWays(ways) {
  const said = (/** @type {string[]} */ words, /** @type {string[] | undefined} */ others) => words.flatMap((word, k) =>
    [!others || word === others[k] ? bdi(visible(word)) : html("b", {}, bdi(visible(word))), " "]);
  return ways.map(({ name, words, samples, beside }) => html("section", { class: "way", "aria-label": name || "how it goes on" }, ...(name ? [html("h3", {}, bdi(visible(name)))] : []),
    html("p", { class: "likeliest", title: "the likeliest word each time" }, ...said(words, beside?.words)),
    ...(samples.length ? [html("ol", { "aria-label": "samples" }, ...samples.map((one, k) => html("li", {}, ...said(one, beside?.samples[k]))))] : [])));
}
