// The page: a text, its grid, and all that can be asked of both, whoever answers.

import { lowerBound } from "./base/divergence.js";
import { leftOut, readHelp, semanticName, stillShown, thousands, visible } from "./base/format.js";
import { hold } from "./base/held.js";
import { besideOf, halfTyped, hasNetwork } from "./base/lines.js";
import { write } from "./base/markup.js";
import { Controls, legend } from "./frame/controls.js";
import { FigureMode } from "./frame/figure.js";
import { Keys } from "./frame/keys.js";
import { Lens } from "./frame/lens.js";
import { action, menu } from "./frame/menus.js";
import { Pages } from "./frame/pages.js";
import { growing, skeleton } from "./frame/places.js";
import { exampleFor, RunControls } from "./frame/runs.js";
import { copyLink } from "./frame/share.js";
import { named, TextPicker } from "./frame/texts.js";
import { Tour } from "./frame/tour.js";
import { Waiting } from "./frame/waiting.js";
import { hasMany, kindNames, neededColumns, shownColumns } from "./base/columns.js";
import { revealRow } from "./grid/movement.js";
import { addressOf, decode, encode, fitGrid, fitRun, plainView } from "./net/address.js";
import { Client, editedRow, lookUp, reason } from "./net/client.js";
import { saveAs } from "./net/save.js";
import { patiently } from "./net/source.js";
import { Steps } from "./net/steps.js";
import { comparison, keep, lives, pairsOf, pinKey } from "./panel/pins.js";

/**
 * What a page begins with where no address says it; `hosted`: in a page that has a title and a theme of its own.
 * @typedef {{grid: Grid, typing: boolean, examples: string[], view?: Partial<View>,
 *   bits?: import("./base/schema.d.ts").SavedPage["bits"], hosted?: boolean, until?: AbortSignal}} Start
 */

const STEPS = new Set(["run", "beside", "semantic", "page", "density", "kinds", "naming", "palette", "bars", "head",
  "text", "follow", "turns", "memories", "asked", "edits", "pins", "map", "seed", "tab", "reading", "contrast", "alike", "folded"]);
const TOGETHER = 1000; // ms between two keys that are undone together
const BESIDE = new Set(["focus", "pins", "page", "find", "map", "tab", "reading", "contrast", "alike", "folded"]); // which the grid does not show

export class Page {
  /**
   * @param {HTMLElement} root @param {import("./net/source.js").Source} source @param {Start | null} start null: what the address says
   * @param {typeof import("./corpus/corpuspage.js").CorpusPage | null} corpusPage where a corpus can be asked: files do without its code
   */
  constructor(root, source, start = null, corpusPage = null) {
    this.root = root;
    this.source = source;
    this.start = start;
    this.place = skeleton(root);
    const { place } = this, can = source.can, typing = start?.typing ?? true;
    /** @type {RunSummary[]} */ this.runs = [];
    /** @type {View} */ this.view = plainView();
    /** @type {Held | null} */ this.grid = null;
    /** @type {Map<string, Accuracy | null>} */ this.accuracies = new Map(); // by runs; null: asked for
    this.colours = ""; // of the legend that is shown
    this.unseen = this.unchecked = start === null; // whether an address has a state to show, and may name what is not there
    this.steps = new Steps(start === null, { go: (view) => this.adopt(view), changed: () => this.showSteps() });
    /** @type {TextPicker | null} */ this.picker = null; // where texts cannot be typed
    /** @type {number | null} */ this.raised = null; // the step at which the panel came up from below
    this.burst = 0; // when a key was last typed, of those that are undone together; 0: the next one begins others
    this.lens = new Lens(place.stage, {
      onView: (change, quiet) => this.change(change, quiet ? false : null),
      ...(typing ? { onText: (/** @type {Partial<View>} */ change) => this.otherText(change) } : {}),
      divergence: (pairs) => this.divergence(pairs),
      lookUp: async (pin) => (can("api/grid") ? this.lookUp(pin) : null),
      onProblem: (error) => this.say("pins", error === null ? "" : `pins could not be compared: ${reason(error)}`),
      strip: place.strip, unfolds: start?.hosted ?? false,
      ...(can("api/follow") ? { read: source.ask } : {}),
      ...(can("api/memory") ? { memory: source.ask } : {}),
      ...(can("api/similar") ? { similar: this.similar() } : {}),
      unigram: (grid) => this.unigram(grid),
      ...(start ? {} : { accuracy: () => this.change({ page: "accuracy" }) }),
      onUnread: (error) => this.say("unread", error === null ? "" : reason(error)),
    });
    this.keys = new Keys(root, { isOn: () => this.view.page === "grid", isSelected: () => this.lens.subject() !== null,
      move: (event) => (!gridView.picking || event.composedPath().includes(gridView.scroller)) && gridView.move(event),
      act: (act) => this.lens.act(act), turn: () => this.lens.overlay.turn(), open: () => this.lens.openLayer(), escape: () => this.escape(),
      type: () => this.type(), undo: () => this.steps.go(-1), redo: () => this.steps.go(1), text: place.text });
    place.undo.addEventListener("click", () => this.steps.go(-1));
    place.redo.addEventListener("click", () => this.steps.go(1));
    if (!start && /^(https?|file):$/.test(location.protocol)) place.steps.append(copyLink(() => this.link())); // elsewhere there is no address
    const { gridView } = this.lens, { measure } = gridView;
    this.waiting = start ? null : new Waiting(place.stage);
    this.client = !can("api/grid") ? null : new Client({
      onGrid: (grid) => this.arrived(grid),
      onProblem: (told) => {
        this.say("problem", told);
        this.say("loading", "");
      },
      onServer: (there) => source.patience === undefined && this.say("server", there ? "" : "the server does not answer; asking again"),
      onDiffer: (wish) => this.lens.differ(wish && this.grid ? stillShown(this.grid, wish) : ""),
      onBusy: (busy) => gridView.setBusy(busy),
      inView: (row) => gridView.rowsInView(row),
      waits: (text) => place.text.matches(":focus") && halfTyped(text, place.text.selectionEnd ?? 0),
    }, source.ask);
    this.runControls = start ? null : new RunControls(place.title, {
      switchTo: (id) => this.switchTo(id, exampleFor(this.view.text, this.run(), this.runs.find((one) => one.id === id))),
      slide: (id) => this.switchTo(id, { focus: this.view.focus }),
      beside: (beside) => this.change({ beside: beside === this.run().id ? null : beside, focus: null }),
    });
    this.controls = new Controls(place.controls, (change) => this.change(change), { semantic: typing, theme: !start?.hosted });
    place.controls.append(menu("save", "save",
      action("SVG: a drawing for print and web", () => this.save("svg")),
      ...(this.client ? [action("PNG: a picture", () => this.save("png"))] : []),
      ...(can("api/publish") ? [action("HTML: this grid as a page", () => this.save("html")),
        action("HTML: the live page in one file", () => this.save("live"))] : [])));
    const prints = can("api/figure") || (start && !start.hosted); // a saved page tells the command that does
    this.figure = !prints ? null : new FigureMode(place.stage, gridView,
      can("api/figure") ? (asked, signal) => source.ask("api/figure", asked, signal) : null);
    root.addEventListener("keydown", (event) => this.figure?.escape(event), true);
    this.pages = start ? null : new Pages(root, place, { turn: (page) => this.change({ page }), measure,
      accuracy: (run) => source.ask("api/accuracy", { run }), corpus: corpusPage && this.corpus(corpusPage) });
    place.controls.append(...(this.figure ? [this.figure.button] : []), ...(this.pages?.buttons ?? []), this.keys.button);
    this.tour = start ? null : new Tour(root);
    if (this.tour) this.keys.dialog.querySelector("form")?.prepend(this.tour.button);
    this.typing = false; // whether the text is being typed, at its end
    /** @type {number | null} */ this.edited = null; // the row of an edit, until it is drawn
    this.text = growing(place.text, (text, whole) => {
      this.typing = place.text.selectionEnd === text.length;
      this.edited = editedRow(this.view.text ?? "", text);
      revealRow(gridView, this.edited); // before rows are asked for, so that it is these that are in view
      const now = performance.now(), isMore = !whole && this.burst > 0 && now - this.burst < TOGETHER;
      this.change({ text }, !isMore);
      this.burst = whole ? 0 : now;
    }, start?.until);
    place.text.addEventListener("blur", () => {
      this.burst = 0; // whoever comes back types something else
      if (this.typing && this.grid) this.draw({ ...this.grid, typing: this.typing = false });
      this.client?.speak();
    });
    if (start) return;
    window.addEventListener("popstate", () => this.follow());
    window.addEventListener("hashchange", () => this.follow());
  }

  /** @param {string} address what to show where the page's own address says nothing */
  async begin(address = "") {
    if (this.start) return this.beginWith(this.start);
    const { runs } = await patiently(() => this.source.ask("api/runs", {}), (told) => this.say("server", told));
    this.runs = runs;
    this.follow(address);
    return undefined;
  }

  /** Begin with a grid that is at hand. @param {Start} start */
  beginWith(start) {
    const grid = hold(start.grid, null), { run, title, text, semantic, palette, edits, follows, numbers } = grid, beside = besideOf(grid);
    this.view = { ...plainView(), ...start.view, run, text, edits, beside, page: "grid" };
    this.place.title.append(visible(title), start.typing ? "" : ` · ${semanticName(semantic, follows, numbers)}`);
    this.text.set(text);
    if (start.typing && !hasNetwork(grid)) this.offerTexts();
    else this.offerExamples(start.examples);
    if (!start.typing) this.view = { ...this.view, semantic, palette };
    const columns = grid.rows[0]?.includes(null) ? grid.columns.flatMap(({ id }, k) => (grid.rows[0][k] ? [id] : [])) : null;
    if (this.client) this.client.begin({ run, text, edits, beside, semantic: this.view.semantic, palette: this.view.palette, columns }, grid);
    else this.arrived(grid);
    this.steps.arrived(this.view, this.address());
    const known = pairsOf(start.bits ?? [], grid);
    this.lens.learn(known.map(({ pair }) => pair), known.map(({ bits }) => ({ bits, exact: true })));
  }

  /** Who knows states of a corpus. @returns {import("./frame/likeness.js").SimilarReader} */
  similar() {
    return { has: (run) => this.runs.some(({ id, corpus }) => corpus && id === run), open: (change) => this.open(change),
      find: (asked, signal) => this.source.ask("api/similar", asked, signal) };
  }

  /** @param {typeof import("./corpus/corpuspage.js").CorpusPage} corpusPage */
  corpus(corpusPage) {
    return new corpusPage(this.place.corpus, { read: this.source.ask, measure: this.lens.gridView.measure, onOpen: (change) => this.open(change), onFind: (find, step) => this.change({ find }, step), onMap: (map) => this.change({ map }) });
  }

  /** The perplexity of guessing by frequency alone, once it is known. @param {Held} grid @returns {number | null} */
  unigram({ run, semantic, columns }) {
    const found = this.accuracies.get(run);
    if (found) return Object.hasOwn(found.unigrams, semantic) ? found.unigrams[semantic] : semantic === "output" ? found.unigram : null;
    if (found === null || this.start || columns.every(({ perplexity }) => perplexity === null)) return null;
    this.accuracies.set(run, null);
    this.source.ask("api/accuracy", { run }).then((answer) => {
      this.accuracies.set(run, answer);
      this.lens.refresh();
    }, () => {});
    return null;
  }

  /** @returns {RunSummary} */
  run() {
    return this.runs.find((run) => run.id === this.view.run) ?? this.runs[0];
  }

  /** Show what the address asks for. @param {string} usual where it says nothing */
  follow(usual = "") {
    const { hash } = location;
    if (this.steps.address === hash) return this.steps.arrived(this.view, hash);
    const { view, problems } = this.viewAt(hash.length > 1 ? hash : usual);
    this.steps.arrived(view, hash);
    return this.adopt(view, problems);
  }

  /** Go to an address; `step`: so that going back leads here again. @param {string} address @param {boolean} step */
  goTo(address, step) {
    const { view, problems } = this.viewAt(address);
    this.steps.flush();
    this.steps.visit(view, address, step);
    this.adopt(view, problems);
  }

  /** What an address asks for, and what of it there is not. @param {string} address */
  viewAt(address) {
    const { view, problems } = decode(address);
    const run = this.runs.find((one) => one.id === view.run) ?? this.runs[0];
    const fitted = fitRun(view, { runs: this.runs, semantics: run.semantics, palettes: run.palettes });
    fitted.view.text ??= run.examples[0] ?? "";
    return { view: fitted.view, problems: [...problems, ...fitted.problems] };
  }

  /** Show a view as a whole. @param {View} view @param {string[]} problems with its link */
  adopt(view, problems = []) {
    this.view = view;
    this.unchecked = this.unseen = true;
    this.burst = 0;
    this.say("link", problems.join("; "));
    this.say("problem", "");
    this.say("edits", "");
    this.text.set(view.text ?? "");
    this.waiting?.show(view.text ?? "");
    this.frame();
    if (!this.start) this.offer();
    if (this.client) this.wish();
    else if (this.grid) this.draw(this.grid);
    this.turn();
  }

  /** The runs and examples that can be chosen. */
  offer() {
    const run = this.run();
    document.title = `rnnlens · ${run.title}`;
    this.runControls?.show(this.runs, run, this.view.beside, this.view.semantic);
    if (run.reads) this.offerExamples(run.examples);
    else this.offerTexts();
  }

  /** A list of texts in the place of a field, where there is no network to read what is typed. */
  offerTexts() {
    const { text, examples } = this.place, choose = (/** @type {string} */ chosen) => {
      this.change({ text: chosen, focus: null, edits: [] });
      this.write(true);
    };
    /** @type {import("./frame/texts.js").TextsOf["list"]} */
    const list = (find, first) => this.source.ask("api/texts", { run: this.view.run ?? this.runs[0]?.id ?? null, find, first });
    this.picker ??= new TextPicker({ choose, list,
      beside: async (other) => choose(`{${await named(this.grid?.sides[0]?.text ?? this.view.text ?? "", list)}|${other}}`) });
    text.hidden = true;
    examples.replaceChildren();
    if (!this.picker.root.isConnected) text.after(this.picker.root);
  }

  /** @param {string[]} texts */
  offerExamples(texts) {
    this.picker?.root.remove();
    this.place.text.hidden = false;
    const examples = texts.map((text) => action(visible(text), () => {
      this.change({ text, focus: null, edits: [] });
      this.write(true);
    }));
    this.place.examples.replaceChildren(...(examples.length ? [menu("examples", "examples", ...examples)] : []));
  }

  /** Read another text, perhaps by another run. @param {Partial<View>} change */
  otherText(change) {
    if (change.run === undefined || this.start) this.change(change);
    else this.switchTo(change.run ?? this.runs[0].id, change);
  }

  /** @param {string} id @param {Partial<View>} more that changes with it */
  switchTo(id, more = {}) {
    const run = this.runs.find((one) => one.id === id) ?? this.runs[0];
    /** @param {string | null} value @param {string[]} known */
    const still = (value, known) => (value !== null && known.includes(value) ? value : null);
    this.unchecked = true;
    const semantic = still(this.view.semantic, run.semantics), palette = still(this.view.palette, run.palettes);
    const can = run.comparable[semantic ?? run.semantics[0] ?? "output"] ?? [], beside = this.view.beside !== null && can.includes(this.view.beside) ? this.view.beside : null;
    if (more.text) this.text.set(more.text);
    this.change({ run: id, focus: null, semantic, palette, beside, ...more });
  }

  /** @param {Partial<View>} change @param {boolean | null} step whether it can be undone by itself; null: if it is more than another selection */
  change(change, step = null) {
    const before = this.view;
    this.view = { ...this.view, ...change };
    this.tour?.acted(change);
    if (!("pins" in change || "focus" in change)) this.say("link", "");
    if ("edits" in change || "run" in change) this.say("edits", "");
    if (change.text !== undefined) this.text.set(change.text ?? "");
    if (!this.start && ("run" in change || "beside" in change || "semantic" in change)) this.offer();
    const asks = ["run", "text", "beside", "semantic", "palette", "edits"].some((key) => key in change);
    if (asks || this.client?.has(neededColumns(this.grid, this.view)) === false) this.wish();
    if (!asks && this.grid && !Object.keys(change).every((key) => BESIDE.has(key))) this.draw(this.grid);
    if ("page" in change || "run" in change || (before.page === "accuracy" && "semantic" in change)) this.turn();
    const rises = before.focus === null && this.view.focus !== null && step === null && !this.start && this.lens.sheet.isBelow();
    const leaves = this.view.focus === null && Object.keys(change).join() === "focus" && this.raised === this.steps.at;
    if (leaves) this.steps.go(-1); // as the browser's back does, so that nothing is left to undo
    else this.write(rises || (step ?? Object.keys(change).some((key) => STEPS.has(key))));
    this.raised = rises ? this.steps.at : leaves ? null : this.raised;
  }

  wish() {
    const { text, semantic, palette, edits, beside } = this.view, run = this.view.run ?? this.run().id;
    const columns = neededColumns(this.grid?.run === run ? this.grid : null, this.view);
    this.client?.want({ run, text: text ?? "", semantic, palette, edits, beside, columns });
  }

  /** @param {Held} grid */
  arrived(grid) {
    const answered = this.client?.answered() ?? true;
    if (answered) this.say("problem", "");
    if (this.unchecked) {
      if (!answered) return; // a link is checked against its own text
      this.unchecked = false;
      const { view, problems } = fitGrid(this.view, grid);
      this.view = view;
      this.add(problems);
    }
    if (answered) this.taken(grid);
    const first = this.grid?.run !== grid.run;
    if (answered) [this.lens.gridView.sought, this.edited] = [this.edited, null]; // it may be a new row
    this.draw({ ...grid, typing: this.typing });
    if (first && this.view.page !== "grid") this.turn();
    if (first && hasNetwork(grid)) this.tour?.offer();
    const { focus } = this.view;
    if (this.unseen && focus && grid.rows[focus.row]) this.lens.gridView.reveal(focus);
    this.unseen &&= focus !== null && !grid.rows[focus.row];
    this.say("cut", answered ? leftOut(grid, this.view.text ?? "") : "");
    const missing = grid.words.length - grid.rows.length;
    const here = `${thousands(grid.rows.length)} of ${thousands(grid.words.length)} words are drawn so far`;
    this.say("loading", missing > 0 ? here : "");
  }

  /** The edits that were made are those of the view; it is said which were not. @param {Held} grid */
  taken({ edits, dropped }) {
    if (dropped.length) this.say("edits", `dropped: ${dropped.join(" · ")}`);
    if (edits.join() === this.view.edits.join()) return;
    this.view = { ...this.view, edits };
    this.write();
  }

  /** @param {Held} grid */
  draw(grid) {
    this.waiting?.end();
    const colours = JSON.stringify([...grid.groups]);
    if (colours !== this.colours) this.place.legend.replaceChildren(...legend(grid));
    this.colours = colours;
    this.grid = grid;
    write(this.place.read, readHelp(grid));
    if (!this.start) document.title = [`rnnlens · ${grid.title}`, ...grid.edits].join(" · ");
    this.lens.show(grid, this.view);
    this.controls.show(grid, this.view);
    this.figure?.show(grid, this.view);
    this.frame();
    this.picker?.show(grid);
    if (!grid.words.length) this.say("empty", "type a sentence, or take one of the examples");
    else if (!this.lens.gridView.layout?.slots.length) this.say("empty", "no part of the network is shown; choose some in the menu \u201cparts\u201d");
    else this.say("empty", "");
  }

  /** What stands around the grid: nothing but the text in a bare view, which links to the whole page. */
  frame() {
    this.root.classList.toggle("compact", this.view.density === "compact");
    this.root.classList.toggle("bare", this.view.view === "bare");
    if (!this.start) this.place.full.href = addressOf({ ...this.view, view: "full" }, this.run(), this.runs[0].id, this.grid?.semantic ?? null) || "#";
  }

  /**
   * One line that says something; nothing hides it.
   * @param {"problem" | "server" | "link" | "pins" | "cut" | "unread" | "edits" | "loading" | "empty"} what @param {string} told
   */
  say(what, told) {
    const line = this.place.notes[what];
    write(line, told);
    line.hidden = !told;
  }

  /** Say more of what is wrong with the link. @param {string[]} problems */
  add(problems) {
    const said = this.place.notes.link.textContent;
    if (problems.length) this.say("link", [said, ...problems].filter(Boolean).join("; "));
  }

  /** What stands behind the page's own address. */
  address() {
    return this.start ? encode(this.view) : addressOf(this.view, this.run(), this.runs[0].id, this.grid?.semantic ?? null);
  }

  /** The address that brings all of this back. */
  link() {
    this.steps.flush();
    return location.href.replace(/#.*$/, "") + this.address();
  }

  /** Keep the address up to date; `step`: so that it can be undone. @param {boolean} step */
  write(step = false) {
    if (step) this.burst = 0;
    this.steps.write(this.view, this.address(), step);
  }

  /** Whether there is something to undo and to redo. */
  showSteps() {
    const { undo, redo } = this.place, had = [undo, redo].find((button) => button.matches(":focus"));
    undo.disabled = !this.steps.canUndo();
    redo.disabled = !this.steps.canRedo();
    if (had?.disabled) (had === undo ? redo : undo).focus(); // a button that is off drops the keys
  }

  /** Give the keys to the text, at its end; whether there is one. */
  type() {
    const { text } = this.place;
    if (this.picker?.root.isConnected) {
      this.picker.open();
      return true;
    }
    if (!text.isConnected) return false;
    text.focus({ preventScroll: true });
    text.setSelectionRange(text.value.length, text.value.length);
    return true;
  }

  /** Close one thing: a menu, or what the lens opened last. */
  escape() {
    const menu = this.root.querySelector("details[open]");
    if (menu instanceof HTMLDetailsElement) menu.open = false;
    else if (this.tour?.isOpen()) this.tour.end();
    else this.lens.escape();
  }

  /** Turn to the page the view is on. */
  turn() {
    this.pages?.show(this.view, this.run(), this.grid);
  }

  /** Show the grid of a sentence of the corpus, at a state of it. @param {Partial<View>} change */
  open(change) {
    const { grid, view } = this, isShown = !grid || shownColumns(grid, view.kinds).some(({ id }) => id === change.focus?.column);
    this.unseen = this.unchecked = true;
    const more = grid && hasMany(grid) ? [...kindNames(view.kinds), change.focus?.column ?? ""] : "all";
    this.change({ page: "grid", beside: null, edits: [], kinds: isShown ? view.kinds : more, ...change });
    this.write(true);
  }

  /** Exactly, or at least, where nobody answers soon. @param {[Pin, Pin][]} pairs @returns {Promise<(Divergence | null)[]>} */
  async divergence(pairs) {
    const { source } = this, atLeast = () => pairs.map(([a, b]) => this.atLeast(a, b));
    if (!source.can("api/divergence")) return atLeast();
    const exact = source.ask("api/divergence", comparison(pairs, this.grid)).then(({ bits }) => bits.map((value) => ({ bits: value, exact: true })));
    if (source.patience === undefined) return exact;
    const late = new Promise((resolve) => setTimeout(() => resolve(null), source.patience));
    const found = await Promise.race([exact, late]).catch(() => null);
    if (!found) exact.then((better) => this.lens.learn(pairs, better)).catch(() => {});
    return found ?? atLeast();
  }

  /** @param {Pin} a @param {Pin} b @returns {Divergence | null} */
  atLeast(a, b) {
    const top = (/** @type {Pin} */ pin) =>
      ((this.grid && lives(pin, this.grid) && keep(pin, this.grid)) || this.lens.kept.get(pinKey(pin)))?.state.top;
    const p = top(a), q = top(b);
    return p && q ? { bits: lowerBound(p, q), exact: false } : null;
  }

  /** @param {Pin} pin */
  lookUp(pin) {
    const own = this.view.run ?? this.run().id;
    return lookUp(this.source.ask, { ...pin, run: pin.run ?? own }, pin.run === own ? this.view.palette : null, (problem) => this.add([problem]));
  }

  /** @param {"svg" | "png" | "html" | "live"} as */
  async save(as) {
    const { measure, over } = this.lens.gridView, grid = this.client ? this.client.complete() : Promise.resolve(/** @type {Held} */ (this.grid));
    const whole = grid.catch((error) => {
      throw new Error(`nothing was saved: ${reason(error)}`);
    });
    if (as === "live") this.say("loading", "the live page is being written");
    this.say("problem", await saveAs(as, whole, this.view, measure, over.of, this.lens.knownBits(), this.source.file));
    if (as === "live") this.say("loading", "");
  }
}
