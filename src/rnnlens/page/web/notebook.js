// A grid or a lens in a notebook: the same view, with the kernel for a server.

import { leftOut, readHelp, semanticName, stillShown, thousands, visible } from "./base/format.js";
import { hold } from "./base/held.js";
import { besideOf } from "./base/lines.js";
import { html } from "./base/markup.js";
import { Controls, legend } from "./frame/controls.js";
import { Lens } from "./frame/lens.js";
import { action, menu } from "./frame/menus.js";
import { growing, skeleton } from "./frame/places.js";
import { keepToItself } from "./host/events.js";
import { followTheme } from "./host/theme.js";
import { plainView } from "./net/address.js";
import { Client } from "./net/client.js";
import { Kernel } from "./net/kernel.js";
import { savePng, saveSvg } from "./net/save.js";
import { lowerBound } from "./base/divergence.js";
import { comparison, keep, lives, pinKey } from "./panel/pins.js";

/** @typedef {import("./base/divergence.js").Divergence} Divergence */
/** @typedef {import("./base/held.js").Held} Held */
/** @typedef {import("./base/schema.d.ts").Pin} Pin */
/** @typedef {import("./base/schema.d.ts").View} View */
/** @typedef {import("./base/schema.d.ts").NotebookView} NotebookView */

const PATIENCE = 1500; // ms before a lower bound stands in for a divergence
const GONE = "the kernel does not answer: it is busy, or it was restarted; then run the cell again";

class Notebook {
  /** @param {HTMLElement} root @param {NotebookView} start @param {import("./net/kernel.js").Model} model */
  constructor(root, start, model) {
    this.place = skeleton(root);
    this.root = root;
    this.gone = new AbortController();
    /** @type {ReturnType<typeof growing> | null} */ this.field = null;
    this.typing = false; // whether the text is being typed, at its end
    /** @type {Held} */ this.grid = hold(start.grid, null);
    /** @type {View} */ this.view = { ...plainView(), text: this.grid.text, edits: this.grid.edits };
    this.kernel = new Kernel(model, (silent) => this.say("server", silent ? GONE : ""));
    this.lens = new Lens(this.place.stage, {
      onView: (change) => {
        if ("edits" in change) this.change(change);
        else this.view = { ...this.view, ...change };
      },
      divergence: (pairs) => this.divergence(pairs),
      lookUp: async () => null, // pins are of texts that were shown here
      strip: this.place.strip,
      ...(start.typing ? { onText: (/** @type {Partial<View>} */ change) => this.read(change.text ?? "") } : {}),
      read: (path, body) => this.kernel.ask(path, body),
      onUnread: (error) => this.say("unread", error === null ? "" : String(error instanceof Error ? error.message : error)),
    }, root);
    this.client = new Client({
      onGrid: (grid) => this.draw({ ...grid, typing: this.typing }),
      onProblem: (told) => this.say("problem", told),
      onServer: () => {}, // the kernel's silence is told of above
      onDiffer: (wish) => this.lens.differ(wish ? stillShown(this.grid, wish) : ""),
      onBusy: (busy) => this.lens.gridView.scroller.setAttribute("aria-busy", String(busy)),
      inView: (row) => this.lens.gridView.rowsInView(row),
    }, (path, body) => this.kernel.ask(path, body));
    this.controls = new Controls(this.place.controls, (change) => this.change(change),
      { semantic: start.typing, theme: false });
    this.furnish(start);
    const { run, text, semantic, palette, edits } = this.grid, beside = besideOf(this.grid);
    this.client.begin({ run, text, edits, beside, semantic: start.typing ? null : semantic, palette: start.typing ? null : palette },
      this.grid);
  }

  /** @param {NotebookView} start */
  furnish(start) {
    const { place } = this, { measure } = this.lens.gridView;
    place.accuracy.remove();
    place.work.setAttribute("role", "group"); // the notebook is the page's main part
    const save = async (/** @type {(grid: Held, view: View, measure: any) => unknown} */ as) => {
      try {
        const whole = this.grid.rows.length === this.grid.words.length;
        await as(whole ? this.grid : await this.client.complete(), this.view, measure);
      } catch (error) {
        this.say("problem", error instanceof Error ? error.message : String(error));
      }
    };
    place.controls.append(menu("save", "save", action("SVG, a drawing", () => save(saveSvg)),
      action("PNG, a picture", () => save(savePng))));
    if (!start.typing) {
      place.title.append(`${visible(this.grid.title)} · ${semanticName(this.grid.semantic, this.grid.follows, this.grid.numbers)}`);
      place.text.parentElement?.remove(); // the words stand beside their rows, the sentence in the cell above
      return;
    }
    place.title.append(visible(this.grid.title));
    const text = this.field = growing(place.text, (typed) => {
      this.typing = place.text.selectionEnd === typed.length;
      this.change({ text: typed });
    }, this.gone.signal);
    place.text.addEventListener("blur", () => {
      if (this.typing) this.draw({ ...this.grid, typing: this.typing = false });
    });
    text.set(this.grid.text);
    const examples = start.examples.map((example) => action(visible(example), () => this.read(example)));
    if (examples.length) place.examples.append(menu("examples", "examples", ...examples));
  }

  /** Read another text. @param {string} text */
  read(text) {
    this.field?.set(text);
    this.change({ text, focus: null, edits: [] });
  }

  /** @param {Partial<View>} change */
  change(change) {
    this.view = { ...this.view, ...change };
    const { text, semantic, palette, edits } = this.view;
    if ("edits" in change) this.say("edits", "");
    if (["text", "semantic", "palette", "edits"].some((key) => key in change)) {
      this.client.want({ run: this.grid.run, text: text ?? "", semantic, palette, edits, beside: besideOf(this.grid) });
    } else this.draw(this.grid);
  }

  /** @param {Held} grid */
  draw(grid) {
    this.say("problem", "");
    if (this.client.answered()) this.view = { ...this.view, edits: grid.edits };
    if (grid.dropped.length) this.say("edits", `dropped: ${grid.dropped.join(" · ")}`);
    this.grid = grid;
    this.place.legend.replaceChildren(...legend(grid));
    this.place.read.textContent = readHelp(grid);
    this.lens.show(grid, this.view);
    this.controls.show(grid, this.view);
    this.root.classList.toggle("compact", this.view.density === "compact");
    const { rows, words } = grid;
    this.say("cut", this.client.answered() ? leftOut(grid, this.view.text ?? "") : "");
    this.say("loading", rows.length < words.length
      ? `${thousands(rows.length)} of ${thousands(words.length)} words are here` : "");
    const none = this.lens.gridView.layout?.slots.length ? "" : "no kind is chosen; take some from the menu";
    this.say("empty", words.length ? none : "type a sentence, or take one of the examples");
  }

  /** @param {"problem" | "server" | "cut" | "unread" | "edits" | "loading" | "empty"} what @param {string} told */
  say(what, told) {
    const line = this.place.notes[what];
    if (line.textContent !== told) line.textContent = told;
    line.hidden = !told;
  }

  /**
   * Exactly, from the kernel; while it says nothing, at least.
   * @param {[Pin, Pin][]} pairs @returns {Promise<(Divergence | null)[]>}
   */
  async divergence(pairs) {
    const asked = comparison(pairs, this.grid);
    /** @type {Promise<Divergence[]>} */
    const exact = this.kernel.ask("api/divergence", asked)
      .then(({ bits }) => bits.map((/** @type {number} */ value) => ({ bits: value, exact: true })));
    const late = new Promise((resolve) => setTimeout(() => resolve(null), PATIENCE));
    const found = await Promise.race([exact, late]).catch(() => null);
    if (found) return found;
    exact.then((better) => this.lens.learn(pairs, better)).catch(() => {});
    return pairs.map(([a, b]) => this.atLeast(a, b));
  }

  /** @param {Pin} a @param {Pin} b @returns {Divergence | null} */
  atLeast(a, b) {
    const top = (/** @type {Pin} */ pin) =>
      ((lives(pin, this.grid) && keep(pin, this.grid)) || this.lens.kept.get(pinKey(pin)))?.state.top;
    const p = top(a), q = top(b);
    return p && q ? { bits: lowerBound(p, q), exact: false } : null;
  }

  close() {
    this.gone.abort();
    this.kernel.close();
  }
}

/**
 * What anywidget calls for each place the widget is shown in.
 * @param {{model: import("./net/kernel.js").Model, el: HTMLElement}} given
 * @param {string} style
 */
export function render({ model, el }, style) {
  // In a shadow, so that neither the notebook's style reaches the grid nor the grid's the notebook.
  const host = html("div", {});
  const shadow = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet(), root = html("div", {});
  sheet.replaceSync(style);
  shadow.adoptedStyleSheets = [sheet];
  shadow.append(root);
  el.append(host);
  const shown = new Notebook(root, JSON.parse(model.get("start")), model);
  keepToItself(host, shown.gone.signal);
  const hidden = hideTable(model.get("table"));
  const unfollow = followTheme(host, (theme) => { root.dataset.theme = theme; });
  return () => {
    unfollow();
    shown.close();
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== hidden);
  };
}

/** Hide the table that stands in for the widget wherever it is not alive. @param {string} name its class */
function hideTable(name) {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`.jp-OutputArea-child:has(.${name}), .${name} { display: none; }`);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  return sheet;
}
