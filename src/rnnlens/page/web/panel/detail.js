// The panel's account of one state: what it says, what came, and how far to trust it.

import {
  cameNumber, fromTo, groupName, groupWords, labelWords, offHere, semanticHelp, ordinal, OUTSIDE, outsideReason, paleness, percent, perplexity, readHelp, SILENT, SILENT_REASON, thousands, usedWords, visible, wantedName,
} from "../base/format.js";
import { columnsAt, hasNetwork } from "../base/lines.js";
import { attention, heads, sourceColumns } from "../base/pairs.js";
import { bdi, html, shape, toDom } from "../base/markup.js";
import { METRICS } from "../base/metrics.js";
import { TEXTS } from "../base/rules.js";
import { tail } from "../base/text.js";
import { drawLabel } from "../grid/bars.js";
import { hasMany } from "../base/columns.js";
import { textStyle } from "../grid/draw.js";
import { amountOn, drawAxis, given, numberWords } from "../grid/scale.js";

/** @typedef {import("./subject.js").Subject} Subject */
/** How a panel is drawn: its width, and the perplexity of guessing by frequency alone, where it is known. @typedef {{width: number, measure: Measure, unigram: number | null}} PanelLook */

const ROOMY = 250; // a panel whose labels can be larger
const FIRST = 5; // labels that are said at once; the tab goes on with the others
const UNREAD = "No word was read into this state yet: it is what the network starts from. What a probe makes of it means "
  + "nothing, so nothing is drawn.";
const GAP = "No word here", GAPS = "The other text has a word in this line, and this one has none that stands beside it.";
const BESIDE = " \u201cModel\u201d is the network\u2019s own, \u201cunigram\u201d that of guessing by frequency alone.";
const ATTENDED = 4; // words of the other side that are named
const PATH = 14; // the size of a path that stands for a symbol

/**
 * A symbol with its layer above, and below it the timestep where that is not the row's own; of a submodule's output,
 * the end of its path.
 * @param {Column} column @param {number} last @param {number} room @param {Measure} measure
 */
export function symbol(column, last, room, measure) {
  if (!column.letter) {
    const name = visible(column.name);
    return html("span", { class: "path", title: name }, tail(name, room, PATH, measure));
  }
  const inside = column.layer > 0 && column.layer < last;
  const raised = html("span", { class: "raised", ...(inside ? { title: `layer ${column.layer}` } : {}) }, inside ? String(column.layer) : "");
  const lowered = html("span", { class: "lowered" }, column.back ? `t\u2212${column.back}` : "");
  return html("span", { class: "symbol" }, html("i", {}, visible(column.symbol)),
    html("span", { class: "indices" }, raised, lowered));
}

/**
 * A button that takes a pin away.
 * @param {Column} column @param {Pin} pin
 * @param {{onRemove: (pin: Pin) => void}} how
 */
export function remover(column, pin, how) {
  const name = `${visible(column.name)} of word ${pin.row + 1 - column.back}`;
  return html("button", { type: "button", class: "plain", "aria-label": `remove the pin of ${name}`,
    click: () => how.onRemove(pin) }, "×");
}

/**
 * The most probable labels with their probabilities.
 * @param {Held} grid @param {State} state @param {number} width @param {Measure} measure @param {[number, number]} [which] of them: from one on, up to another
 */
export function drawTop(grid, state, width, measure, which = [0, Infinity]) {
  if (grid.scale) {
    const { shapes, height } = drawAxis(grid, grid.scale, state, width, measure);
    return shape("svg", { width, height, role: "img", "aria-label": numberWords(state, grid.scale), ...textStyle() }, ...shapes);
  }
  const size = width < ROOMY ? 12 : 13, pitch = Math.round(size * 1.42), top = state.top.slice(...which);
  const look = { width, size, pitch, values: true, measure };
  const rows = top.flatMap(([name, p], k) =>
    drawLabel(grid, name, p, k * pitch, look, state.wanted?.[0] === name ? 700 : 400));
  const said = top.map(([name, p]) => `${labelWords(name, grid)} ${percent(p)}`).join(", ");
  return shape("svg", { width, height: top.length * pitch + 4, role: "img", "aria-label": said, ...textStyle() }, ...rows);
}

const NEXT = "How probable this state finds the next word of each text, in percent. A word that the model does not know has no probability of its own.";

/** @param {string} term @param {string} title what it means, with its unit @param {(Node | string)[]} told */
function fact(term, title, ...told) {
  const help = title ? { title } : {};
  return [html("dt", help, term), html("dd", help, ...told)];
}

/** What came, or, where two texts part, what came in each. @param {Held} grid @param {Subject} subject @returns {Node[]} */
function came(grid, { place, column, index, state }) {
  const term = wantedName(grid.semantic, column, grid.follows), then = grid.lines[place.row]?.then, pair = grid.then[place.row]?.[index];
  if (then && pair) {
    return then.flatMap((word, k) => fact(`P(${visible(word) || "end"})`, NEXT, pair[k] !== null ? percent(pair[k]) : word ? "unknown word" : "\u2013"));
  }
  if (state.wanted) {
    const [name, p, rank] = state.wanted, number = cameNumber(grid, place.row, column, state);
    const told = number !== null && grid.scale ? [given(number)] : ["\u201c", bdi(visible(name)), "\u201d"];
    return [...fact(term, number === null ? "" : `in the part of the axis ${visible(name)}`, ...told),
      ...fact(number === null ? "its probability" : "probability of its part", `${METRICS.probability} ${METRICS.rank}`, `${percent(p)}, ${ordinal(rank)}`)];
  }
  if (sourceColumns(grid).has(column.id)) return [];
  return grid.follows && /^(in|out)put/.test(grid.semantic) ? fact(term, "", html("span", { class: "soft" }, "nothing yet")) : [];
}

const ATTENTION = "How much of the decoder\u2019s attention a word of the target has for words of the source: weights that sum to 1 over these. "
  + "What the decoder makes of them is not said by it: it is no cause. Explain reads the pair again without each word.";

/** What a word of the target attends to, or which attend to a word of the source. @param {Held} grid @param {Subject} subject @returns {Node[]} */
function attended(grid, { place }) {
  const found = attention(grid, place.row);
  if (!found) return [];
  const told = found.links.slice(0, ATTENDED).flatMap(([row, weight], k) => [k ? ", " : "", bdi(visible(grid.words[row]?.text ?? "")), ` ${percent(weight)}`]);
  const of = found.back ? `by ${found.words} words of the target` : `over ${found.words} words of the source`;
  const count = heads(grid), several = count ? `, the mean of ${count} heads` : "";
  return [...fact(found.back ? "attended to" : "attention", ATTENTION, ...told, html("span", { class: "soft" }, ` (${visible(found.of)}${several}, ${of})`)),
    ...(count && !found.back ? fact("by head", HEADS, ...byHead(grid, place.row, count)) : [])];
}

const HEADS = "The word of the source that each head of the attention has the largest weight for. The menu \u201cdisplay\u201d chooses whose links are drawn.";

/** The word of the source that each head attends to most. @param {Held} grid @param {number} row @param {number} count @returns {(Node | string)[]} */
function byHead(grid, row, count) {
  return Array.from({ length: count }, (_, k) => k + 1).flatMap((head) => {
    const first = attention(grid, row, head)?.links[0];
    return first ? [head > 1 ? ", " : "", `${head}: `, bdi(visible(grid.words[first[0]]?.text ?? "")), ` ${percent(first[1])}`] : [];
  });
}

/** That such probabilities are not what they say, where that was measured. @param {Off | null} off @returns {Node[]} */
function offFact(off) {
  if (!off) return [];
  const said = `${percent(off.start)}\u2013${percent(Math.min(1, off.start + 0.1))}`;
  return fact("calibration", METRICS["calibration error"], `right ${percent(off.accuracy)} of the time`,
    html("span", { class: "soft" }, ` where it says ${said} (${thousands(off.states)} states)`));
}

/** How far to trust what it says. @param {Held} grid @param {Subject} subject @param {number | null} unigram @returns {Node[]} */
function trust(grid, { place, column, state }, unigram) {
  const own = columnsAt(grid, place.row).find((one) => one.letter === "y");
  // The model itself is asked about the next word: only there are the two comparable.
  const model = grid.semantic === "output" && own && own !== column ? own.perplexity : null;
  const beside = [...(model === null ? [] : [`model ${perplexity(model)}`]), ...(unigram === null ? [] : [`unigram ${perplexity(unigram)}`])];
  return [
    ...(column.perplexity === null ? [] : fact("perplexity", METRICS.perplexity + (column.interval ? ` ${METRICS["95%"]}` : "") + (beside.length ? BESIDE : ""), perplexity(column.perplexity),
      ...(beside.length || column.interval ? [html("span", { class: "soft" }, ` (${[...(column.interval ? [fromTo(column.interval, perplexity)] : []), ...beside].join(", ")})`)] : []))),
    ...(column.used === null ? [] : fact("used", METRICS.used, column.used.toFixed(2), html("span", { class: "soft" }, usedWords(column) && ` (${usedWords(column)})`))),
    ...offFact(offHere(column, state)),
  ];
}

/** What stands above the tabs. @param {Held} grid @param {Subject} subject @param {PanelLook} look @returns {Node[]} */
export function drawDetail(grid, subject, { width, measure, unigram }) {
  const { state, column } = subject;
  if (state.unread) return [html("p", {}, UNREAD)];
  const facts = [...came(grid, subject), ...attended(grid, subject), ...trust(grid, subject, unigram)];
  const outside = state.outside ? [html("p", { class: "outside" }, html("b", {}, `${OUTSIDE[0].toUpperCase()}${OUTSIDE.slice(1)}. `), outsideReason(state.outside))] : [];
  const silent = column.silent ? [html("p", { class: "outside" }, html("b", {}, `${SILENT[0].toUpperCase()}${SILENT.slice(1)}. `), SILENT_REASON)] : [];
  return [...outside, ...silent, toDom(drawTop(grid, state, width, measure, [0, FIRST])), ...(facts.length ? [html("dl", {}, ...facts)] : [])];
}

/** Which group a state stands for, by the rule that its colour fades by. @param {Held} grid @param {State} state */
function leadingFact({ rule, several, alone }, state) {
  if (rule === "excess") return fact("leading group", METRICS["above base rate"], groupWords(state));
  const name = several || alone ? "likeliest" : "leading group";
  return fact(name, METRICS[name], groupWords(state));
}

/** Of a row that one of two texts has no word for. @returns {Node[]} */
export function drawGap() {
  return [html("h2", {}, GAP), html("p", {}, GAPS)];
}

/** The tab that goes on with what it says. @param {Held} grid @param {Subject} subject @param {PanelLook} look @returns {Node[]} */
export function drawSays(grid, { state, column }, { width, measure }) {
  if (state.unread) return [];
  const facts = html("dl", {}), { scale } = grid;
  if (state.number && scale) {
    const [mean, low, high] = state.number.map((value) => amountOn(value, scale));
    const own = column.kind === TEXTS.prediction, sure = METRICS[scale.calibrated ? "80% between" : "not calibrated"];
    facts.append(...fact(own ? "number" : "mean", own ? METRICS.number : METRICS.mean, mean),
      ...fact("80% between", sure, `${low} and ${high}${scale.calibrated ? "" : ", not calibrated"}`),
      ...fact("median", METRICS.median, `${visible(state.group)}; tells ${percent(state.share)}`));
  } else facts.append(...leadingFact(grid, state));
  facts.append(...fact("entropy", METRICS.entropy, `${state.entropy.toFixed(1)} bits`));
  if (scale) return [facts];
  const held = state.top.reduce((sum, [, p]) => sum + p, 0), more = thousands(state.top.length);
  const rest = state.top.length > FIRST ? [html("p", { class: "soft" }, "Less probable:"), toDom(drawTop(grid, state, width, measure, [FIRST, Infinity]))] : [];
  return [...rest, ...(grid.several || grid.alone ? [] : [...drawGroups(grid, state, width),
    html("p", { class: "soft" }, `The ${more} labels together: ${percent(held)} of the probability.`)]), facts];
}

/** How the labels that are listed share their probability out among groups. @param {Held} grid @param {State} state @param {number} width @returns {Node[]} */
function drawGroups(grid, { top }, width) {
  /** @type {Map<string, number>} */ const sums = new Map();
  for (const [name, p] of top) sums.set(grid.labels.get(name) ?? "", (sums.get(grid.labels.get(name) ?? "") ?? 0) + p);
  const whole = [...sums.values()].reduce((sum, p) => sum + p, 0), shares = [...sums].filter(([group]) => group).sort((a, b) => b[1] - a[1]);
  if (shares.length < 2 || !whole) return [];
  let at = 0;
  const parts = shares.map(([group, p]) => {
    const x = at, wide = (p / whole) * width;
    at += wide;
    return shape("rect", { x: Math.round(x * 10) / 10, width: Math.max(0, Math.round((wide - 1) * 10) / 10), height: 8, rx: 1.5, fill: grid.groups.get(group) ?? "" });
  });
  const said = shares.map(([group, p]) => `${groupName(group)} ${percent(p / whole)}`).join(" \u00b7 ");
  return [html("p", { class: "groups", title: "The listed labels by group, as shares of their probability." },
    toDom(shape("svg", { width, height: 8, "aria-hidden": "true" }, ...parts)), said)];
}

/** The keys, and what they do. */
export const KEYS = /** @type {const} */ ([
  ["arrows", "move the selection"], ["Enter or p", "pin it, or take the pin away"], ["e", "change it: what if it were another"],
  ["w", "explain it: which words wrote it"], ["a", "find similar states in a corpus"], ["f", "follow what it says through every state"],
  ["t", "go to the largest turn, then to the next"], ["o", "show its layer alone, or of many layers open it, and back"], ["Escape", "close what was opened last"],
  ["Ctrl Z", "undo; with Shift, redo"], ["?", "this list"],
]);

/** What the panel says while nothing is selected. @param {Held | null} grid */
export function drawHint(grid) {
  const asked = grid ? semanticHelp(grid.semantic, grid.follows, grid.numbers, grid.answer !== null) : semanticHelp("output");
  const plain = `${asked} The bars are its answer, the longer the more probable; the rectangle takes the colour of the `
    + `group that leads; faded: ${grid ? paleness(grid) : "nearer the base rate"}.`;
  const step = grid?.words[0]?.picture?.length ? "step" : grid?.words[0]?.value != null ? "number" : "word";
  const read = `Each row is a ${step} the network reads, each column a part of the network. `
    + (grid && (grid.scale || grid.several || grid.alone) ? readHelp(grid) : plain);
  const reads = hasNetwork(grid), can = reads ? "changed, explained, followed and pinned" : "followed and pinned";
  const look = `Click a state to select it: then it can be ${can} here. Point at one to see what feeds it and what it feeds. `
    + `Click a column\u2019s head to read what that part is and how well it predicts, a layer\u2019s name to ${grid && hasMany(grid) ? "open it into its kinds" : "see it alone"}. `
    + (reads ? "Write {is|are} into the text to hold two side by side." : "These are states that were recorded: there is no network, so that texts are chosen from a list, one or two side by side.")
    + (grid?.pairs?.length ? " Write source => target, or a source alone, whose target the network then writes itself." : "");
  const typed = [reads ? "While nothing is selected, a letter you type goes into the text. While a state is, letters are keys: " : "While a state is selected, letters are keys: ", html("kbd", {}, "?"), " lists them."];
  const bare = "This run has no probes, so only the model's own prediction is drawn. To see every state: ";
  const only = grid && !grid.semantics.length ? [html("p", {}, bare, html("code", {}, "rnnlens fit"))] : [];
  return [html("h2", {}, "How to read it"), html("p", {}, read), html("p", {}, look), html("p", {}, ...typed), ...only];
}
