// The address bar holds the whole view, so a link reproduces it. Short, readable, defaults left out.

import { editParts } from "../base/edits.js";
import { quote, thousands, tooLong, wellFormed } from "../base/format.js";
import { columnNames } from "../base/columns.js";

/** @returns {View} */
export function plainView() {
  return {
    run: null, text: null, beside: null, semantic: null, palette: null, density: "bars", kinds: null,
    naming: "both", bars: 3, head: 0, pins: [], focus: null, follow: null, turns: false, memories: null, asked: null, edits: [], page: "grid", find: null, map: null, seed: null,
    tab: "says", reading: "without", stand_in: null, contrast: null, alike: "cosine", folded: false,
    view: "full",
  };
}

/** Percent-encode only what an address cannot hold. @param {string} text */
function quoted(text) {
  return encodeURIComponent(wellFormed(text))
    .replace(/%(2C|3A|3B|40|24|2F|3F)/g, (code) => decodeURIComponent(code))
    .replace(/%20/g, "+");
}

/** @param {string} text */
function unquoted(text) {
  const spaced = text.replace(/\+/g, " ");
  try {
    return decodeURIComponent(spaced);
  } catch {
    return spaced; // a link cut in the middle of a character
  }
}

/** One of a list, whose own commas are not the list's. @param {string} id */
function item(id) {
  return quoted(id).replace(/,/g, "%2C");
}

/** One part of a pin, whose own slashes are not the pin's. @param {string} id */
function piece(id) {
  return item(id).replace(/\//g, "%2F");
}

/** @param {{column: string, row: number}} place */
function placed(place) {
  return `${item(place.column)}:${place.row + 1}`;
}

/** @param {Pin} pin @param {View} view */
function pinned(pin, view) {
  const run = pin.run === null || pin.run === view.run ? "" : `@${piece(pin.run)}`;
  const semantic = pin.semantic === null || pin.semantic === view.semantic ? "" : item(pin.semantic);
  const text = pin.text === null || pin.text === view.text ? null : quoted(pin.text);
  const where = placed(pin) + run;
  if (text !== null) return `${where}/${semantic}/${text}`;
  return semantic ? `${where}/${semantic}` : where;
}

/**
 * The view as the part of an address after the #.
 * @param {View} view
 * @param {Partial<View>} usual what the page would show without being told
 */
export function encode(view, usual = {}) {
  /** @type {string[]} */ const parts = [];
  const plain = { ...plainView(), ...usual };
  /** @param {"run" | "beside" | "semantic" | "palette" | "density" | "naming" | "page" | "map" | "tab" | "reading" | "stand_in" | "alike" | "view" | "memories" | "asked"} key */
  const add = (key) => {
    const value = view[key];
    if (value !== null && value !== plain[key]) parts.push(`${key}=${quoted(value)}`);
  };
  add("view");
  add("run");
  add("beside");
  add("page");
  if (view.find !== null) parts.push(`find=${quoted(view.find)}`);
  add("map");
  if (view.text !== null && view.text !== plain.text) parts.push(`text=${quoted(view.text)}`);
  for (const edit of view.edits) parts.push(`edit=${quoted(edit).replace(/%3D/g, "=")}`);
  add("semantic");
  add("density");
  if (typeof view.kinds === "string") parts.push(`kinds=${view.kinds}`);
  else if (view.kinds) parts.push(`kinds=${view.kinds.map(item).join(",")}`);
  add("naming");
  if (view.bars !== plain.bars) parts.push(`bars=${view.bars}`);
  if (view.head) parts.push(`head=${view.head}`);
  add("palette");
  for (const pin of view.pins) parts.push(`pin=${pinned(pin, view)}`);
  if (view.focus) parts.push(`at=${placed(view.focus)}`);
  if (view.follow) parts.push(`follow=${view.follow.labels.map(item).join(",")}`);
  if (view.follow?.against.length) parts.push(`against=${view.follow.against.map(item).join(",")}`);
  if (view.turns) parts.push("turns=1");
  if (view.asked === null) add("memories");
  add("asked");
  add("tab");
  add("reading");
  add("stand_in");
  if (view.contrast?.labels.length) parts.push(`explain=${view.contrast.labels.map(item).join(",")}`);
  if (view.contrast?.against.length) parts.push(`than=${view.contrast.against.map(item).join(",")}`);
  add("alike");
  if (view.seed !== null) parts.push(`seed=${view.seed}`);
  if (view.folded) parts.push("folded=1");
  return parts.join("&");
}

/**
 * What stands in the address bar behind the page's own address.
 * @param {View} view @param {RunSummary} run @param {string} first the id of the run that is usual
 * @param {string | null} semantic that is shown where none is chosen
 */
export function addressOf(view, run, first, semantic) {
  const usual = { run: first, text: run.examples[0] ?? "", semantic: run.semantics[0] ?? null,
    palette: run.palettes[0] ?? null };
  const hash = encode({ ...view, run: run.id, semantic: view.semantic ?? semantic }, usual);
  return hash ? `#${hash}` : "";
}

/** @param {string} text @returns {{column: string, row: number} | null} */
function place(text) {
  const found = /^(.+):(\d{1,6})$/.exec(text);
  if (!found || Number(found[2]) < 1) return null;
  return { column: unquoted(found[1]), row: Number(found[2]) - 1 };
}

/** @param {string} text @returns {Pin | null} */
function pin(text) {
  const [where, semantic, ...rest] = text.split("/");
  const [, at, run] = /^(.+:\d+)@(.+)$/.exec(where) ?? [where, where];
  const found = place(at);
  if (!found) return null;
  return {
    ...found,
    run: run ? unquoted(run) : null,
    semantic: semantic ? unquoted(semantic) : null,
    text: rest.length ? unquoted(rest.join("/")) : null,
  };
}

/**
 * The view that the part of an address after the # asks for, and what of it was not understood.
 * @param {string} hash
 * @returns {{view: View, problems: string[]}}
 */
export function decode(hash) {
  const view = plainView();
  /** @type {string[]} */ const problems = [];
  for (const part of hash.replace(/^#/, "").split("&").filter(Boolean)) {
    const [key, ...rest] = part.split("=");
    const raw = rest.join("=");
    if (take(view, key, raw)) continue;
    problems.push(`the link says ${quote(`${key}=${unquoted(raw)}`)}, which means nothing here`);
  }
  if (!view.follow?.labels.length) view.follow = null;
  if (!view.contrast?.labels.length) view.contrast = null;
  return { view, problems };
}

/** @param {View} view @param {string} key @param {string} raw @returns {boolean} understood */
function take(view, key, raw) {
  const value = unquoted(raw);
  switch (key) {
    case "run": case "beside": case "semantic": case "palette": case "map": case "asked":
      if (value === "") return false;
      view[key] = value;
      return true;
    case "text": case "find":
      view[key] = value;
      return true;
    case "density":
      if (value !== "bars" && value !== "compact") return false;
      view.density = value;
      return true;
    case "naming":
      if (value !== "both" && value !== "names" && value !== "symbols") return false;
      view.naming = value;
      return true;
    case "page":
      if (value !== "grid" && value !== "accuracy" && value !== "corpus") return false;
      view.page = value;
      return true;
    case "view":
      if (value !== "full" && value !== "bare") return false;
      view.view = value;
      return true;
    case "bars":
      if (!/^[1-5]$/.test(value)) return false;
      view.bars = Number(value);
      return true;
    case "head":
      if (!/^\d{1,2}$/.test(value)) return false;
      view.head = Number(value);
      return true;
    case "kinds":
      view.kinds = value === "all" || value === "outputs" ? value
        : raw.split(",").filter(Boolean).map(unquoted);
      return true;
    case "pin": {
      const found = pin(raw);
      if (found) view.pins.push(found);
      return found !== null;
    }
    case "follow": case "against": case "explain": case "than": {
      const given = raw.split(",").filter(Boolean).map(unquoted), field = key === "follow" || key === "against" ? "follow" : "contrast";
      const { labels = [], against = [] } = view[field] ?? {};
      view[field] = key === "follow" || key === "explain" ? { labels: given, against } : { labels, against: given };
      return given.length > 0;
    }
    case "tab":
      if (value !== "says" && value !== "changed" && value !== "written" && value !== "alike") return false;
      view.tab = value;
      return true;
    case "reading":
      if (value !== "stored" && value !== "path" && value !== "without" && value !== "gates") return false;
      view.reading = value;
      return true;
    case "stand_in":
      if (value !== "tag" && value !== "model" && value !== "unknown" && value !== "left_out") return false;
      view.stand_in = value;
      return true;
    case "memories":
      if (value !== "norm" && value !== "rank" && value !== "half_life") return false;
      view.memories = value;
      return true;
    case "alike":
      if (value !== "cosine" && value !== "divergence") return false;
      view.alike = value;
      return true;
    case "edit": {
      const edit = value.replace(/(@(?:[12]:)?\d+) /, "$1+"); // where a push begins, + is no space
      if (editParts(edit)) view.edits.push(edit);
      return editParts(edit) !== null;
    }
    case "seed":
      if (!/^\d{1,10}$/.test(value) || Number(value) >= 2 ** 32) return false;
      view.seed = Number(value);
      return true;
    case "turns": case "folded":
      view[key] = value === "1";
      return view[key];
    case "at":
      view.focus = place(raw);
      return view.focus !== null;
    default:
      return false;
  }
}

const NAMED = { run: "names run", beside: "names run", semantic: "asks about", palette: "names colours" };
const NO_PROBES = "for which this run has no probes";

/**
 * The view as far as a run can show it, and what it cannot.
 * @param {View} view
 * @param {{runs: {id: string}[], semantics: string[], palettes: string[]}} has
 * @returns {{view: View, problems: string[]}}
 */
export function fitRun(view, has) {
  const fitted = { ...view };
  /** @type {string[]} */ const problems = [];
  /** @param {"run" | "beside" | "semantic" | "palette"} key @param {string[]} known @param {string} who */
  const check = (key, known, who) => {
    const value = view[key];
    if (value === null || known.includes(value)) return;
    problems.push(`the link ${NAMED[key]} ${quote(value)}, ${who}`);
    fitted[key] = null;
  };
  const ids = has.runs.map((run) => run.id);
  check("run", ids, "which is not served here");
  check("beside", ids, "which is not served here");
  if (fitted.beside !== null && fitted.beside === (fitted.run ?? ids[0])) {
    problems.push(`the link has run ${quote(fitted.beside)} beside itself, which is the same`);
    fitted.beside = null;
  }
  check("semantic", has.semantics, NO_PROBES);
  check("palette", has.palettes, "which this run does not have");
  const served = new Set([null, ...ids]);
  for (const { run } of view.pins) {
    if (run !== null && !served.has(run)) problems.push(`the link pins a state of run ${quote(run)}, which is not served here`);
  }
  fitted.pins = view.pins.filter((pin) => served.has(pin.run));
  return { view: fitted, problems };
}

/**
 * The view without the columns and rows a grid has not, nor pins that its run cannot answer.
 * @param {View} view
 * @param {{run: string, columns: Column[], words: unknown[], semantic: string, semantics: string[]}} grid
 * @returns {{view: View, problems: string[]}}
 */
export function fitGrid(view, grid) {
  const ids = new Set(grid.columns.map((column) => column.id));
  /** @type {Set<string>} */ const missing = new Set();
  /** @param {string} id */
  const known = (id) => ids.has(id) || (missing.add(id), false);
  const fitted = { ...view };
  if (Array.isArray(view.kinds)) {
    const names = columnNames(grid.columns), kept = view.kinds.filter((name) => names.has(name) || known(name));
    fitted.kinds = kept.length || !view.kinds.length ? kept : null;
  }
  const here = (/** @type {Pin} */ pin) => pin.run === null || pin.run === grid.run;
  fitted.pins = view.pins.filter((pin) => !here(pin) || known(pin.column));
  if (view.focus && !known(view.focus.column)) fitted.focus = null;
  const problems = [...missing].map((id) => `the link names part ${quote(id)}, which this run does not have`);
  const absent = (/** @type {number} */ row) => row >= grid.words.length;
  if (fitted.focus && absent(fitted.focus.row)) {
    problems.push(`the link selects word ${thousands(fitted.focus.row + 1)}, but the text is shorter`);
    fitted.focus = null;
  }
  const semantics = new Set([grid.semantic, ...grid.semantics]);
  /** @param {Pin} pin what is wrong with it, as far as that can be known here */
  const wrong = (pin) => {
    if (!here(pin)) return "";
    if (pin.semantic !== null && !semantics.has(pin.semantic)) {
      return `the link asks about ${quote(pin.semantic)}, ${NO_PROBES}`;
    }
    if (pin.text !== null) return tooLong(pin.text) && `the link pins a word of a text whose ${tooLong(pin.text)}`;
    return absent(pin.row) ? `the link pins word ${thousands(pin.row + 1)}, but the text is shorter` : "";
  };
  problems.push(...fitted.pins.map(wrong).filter(Boolean));
  fitted.pins = fitted.pins.filter((pin) => !wrong(pin));
  return { view: fitted, problems: [...new Set(problems)] };
}
