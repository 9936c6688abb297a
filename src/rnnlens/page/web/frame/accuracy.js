// The accuracy page: how well each kind predicts, beside the model itself and the unigram baseline.

import { fromTo, lastLayer, layerName, perplexity, semanticHelp, semanticName, thousands, visible } from "../base/format.js";
import { html, shape, toDom } from "../base/markup.js";
import { METRICS, meaning } from "../base/metrics.js";
import { fitted, tail } from "../base/text.js";
import { INK, label, round, SOFT } from "../grid/bars.js";
import { textStyle } from "../grid/draw.js";
import { drawConfusion } from "./confusion.js";
import { overTraining, partName } from "./overtraining.js";
import { calibrated } from "./reliability.js";

/** @typedef {import("../base/metrics.js").Metric} Metric */
/** @typedef {(kind: string) => {name: string, symbol: string, layer: string}} Naming */

/** @type {["error" | "precision", "mean absolute error" | "average precision"][]} */
const MORE = [["error", "mean absolute error"], ["precision", "average precision"]];
const PITCH = 22, NAMES = 190, VALUES = 64, TOP = 30, USED = 190; // the last: of the bars that say what is used
const SLIVER = 8; // times that the baseline may be longer than the longest bar
const READ_USED = "What can be read in a state need not be used by the model. The right-hand bars show how much of it is: what the model\u2019s own "
  + "log-probability of a label gains when a state is pushed towards it, by two deviations of the states themselves, over a push of equal size along the gradient.";
const SURE = "Thin lines are 95% intervals over sentences.";
const NEARLY = 0.975; // of the resampled texts: rarer, and the order of two kinds is not told
const NO_MORE = 2e-4; // of the frequencies' perplexity: what half precision changes in it
const CLOSE = 6; // pairs that are not told apart, at most; of more it is said how many
const BETTER = "Some probes predict better than the model itself (below 1 in the column \u201c× the model\u2019s\u201d): their parts hold what the model\u2019s "
  + "output layer does not yet make use of, which is usual of small or little-trained networks.";
const BELOW = 0.98; // of the model's perplexity: nearer it is no better
const BAR = "#7d8ba1", RULE = "#e4e4df";

/**
 * How far the axis goes: a little past the baseline, and what is longer is cut; but where every bar
 * would be a sliver beside the baseline, a little past the longest, and the baseline is beyond.
 * @param {Score[]} scores @param {number[]} lines
 */
export function axisEnd(scores, lines) {
  const measured = scores.flatMap((score) => score.perplexity ?? []);
  const longest = Math.max(0, ...measured), far = lines.length ? Math.max(...lines) : longest;
  return measured.length && longest * SLIVER < far ? longest * 1.3 : (far || 1) * 1.08;
}

/** Round values for an axis: at most six of them. @param {number} end */
export function ticks(end) {
  const rough = end / 5, unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * unit).find((value) => value >= rough) ?? rough;
  const made = [];
  for (let value = 0; value <= end; value += step) made.push(round(value));
  return made;
}

/**
 * Perplexity per kind as bars; those past the axis are cut and say so.
 * @param {Score[]} scores @param {[string, number][]} lines @param {Naming} naming @param {number} width
 * @param {Measure} measure
 * @returns {Shape}
 */
export function drawAccuracy(scores, lines, naming, width, measure) {
  const uses = scores.some((score) => score.used), left = width - (uses ? USED : 0);
  const end = axisEnd(scores, lines.map(([, value]) => value)), room = left - NAMES - VALUES;
  const height = TOP + scores.length * PITCH + 34;
  const at = (/** @type {number} */ value) => round(NAMES + (Math.min(value, end) / end) * room);
  const bottom = height - 30;
  const axis = ticks(end).flatMap((value) => [
    shape("line", { class: "rule", x1: at(value), x2: at(value), y1: TOP - 6, y2: bottom, stroke: RULE }),
    label(at(value), bottom + 15, String(value), { class: "soft", fill: SOFT, "text-anchor": "middle" }),
  ]);
  let layer = "";
  const bars = scores.flatMap((score, k) => {
    const y = TOP + k * PITCH, named = naming(score.kind);
    const value = score.perplexity ?? 0, cut = value > end, length = at(value) - NAMES;
    const first = named.layer !== layer;
    layer = named.layer;
    const heading = label(0, y + 14, named.layer, { class: "soft", fill: SOFT, "font-size": 11 });
    const above = shape("line", { class: "rule", x1: 0, x2: width, y1: y - 0.5, y2: y - 0.5, stroke: RULE });
    const tear = `M${NAMES + length - 12} ${y + 2}l-4 7l4 2l-4 7h5l4 -7l-4 -2l4 -7z`;
    return [...(first ? [heading] : []), ...(first && k ? [above] : []),
      ...drawName(named, y + 14, measure),
      shape("rect", { class: "score", x: NAMES, y: y + 4, width: round(Math.max(1, length)), height: PITCH - 8,
        rx: 2, fill: BAR }),
      ...(cut ? [shape("path", { class: "tear", d: tear, fill: "#fff" })] : []),
      ...whisker(cut ? null : score.intervals?.perplexity, at, y),
      label(Math.max(NAMES + length, cut ? 0 : at(score.intervals?.perplexity?.high ?? 0)) + 6, y + 15, perplexity(score.perplexity) + (cut ? " (cut)" : ""), { "font-size": 12 }),
    ];
  });
  const said = lines.map(([name, value]) => `${name} ${perplexity(value)}${value > end ? " →" : ""}`);
  const middles = dodged(lines.map(([, value], k) => ({ at: at(value), width: measure(said[k], 11) })), width);
  const limits = lines.flatMap(([name, value], k) => [
    shape("line", { class: "limit", "data-name": name, x1: at(value), x2: at(value), y1: 18, y2: bottom, stroke: INK,
      "stroke-dasharray": name === "unigram" ? "3 3" : "none" }),
    shape("g", {}, shape("title", {}, name === "unigram" ? METRICS.unigram : METRICS.perplexity),
      label(middles[k], 14, said[k], { "font-size": 11, "text-anchor": "middle" })),
  ]);
  return shape("svg", { width, height, role: "img", ...textStyle(),
    "aria-label": "perplexity of each part; the table below says the same" }, ...axis, ...bars, ...limits,
    ...(uses ? drawUsed(scores, left + 24, USED - 70, bottom) : []));
}

/** An interval across the end of a bar. @param {Ends | null | undefined} ends @param {(value: number) => number} at @param {number} y @returns {Shape[]} */
function whisker(ends, at, y) {
  const middle = y + PITCH / 2;
  return ends ? [shape("line", { class: "sure", x1: at(ends.low), x2: at(ends.high), y1: middle, y2: middle, stroke: INK, "stroke-width": 1.2 })] : [];
}

/**
 * Where the middles of names stand that would overprint: side by side, as near as can be to where they belong.
 * @param {{at: number, width: number}[]} names @param {number} room
 */
export function dodged(names, room) {
  const order = names.map((_, k) => k).sort((a, b) => names[a].at - names[b].at), middles = names.map(({ at }) => at);
  /** How far two stand apart at least. @param {number} a @param {number} b */
  const apart = (a, b) => (names[a].width + names[b].width) / 2 + 10;
  order.forEach((k, n) => { if (n) middles[k] = Math.max(middles[k], middles[order[n - 1]] + apart(order[n - 1], k)); });
  // Half of the way each: the first gives way to the left as the second does to the right.
  for (let n = 1; n < order.length; n++) {
    const over = (middles[order[n]] - names[order[n]].at) / 2, first = order[n - 1];
    const left = n > 1 ? middles[order[n - 2]] + apart(order[n - 2], first) : names[first].width / 2;
    const given = Math.max(0, Math.min(over, middles[first] - left));
    middles[first] -= given;
    middles[order[n]] -= given;
  }
  for (let n = order.length - 1; n >= 0; n--) {
    const k = order[n], most = n === order.length - 1 ? room - names[k].width / 2 : middles[order[n + 1]] - apart(k, order[n + 1]);
    middles[k] = round(Math.min(middles[k], most));
  }
  return middles;
}

/**
 * Beside what is read, how much of it is used: 1 is as much as along the gradient.
 * @param {Score[]} scores @param {number} x @param {number} room @param {number} bottom
 * @returns {Shape[]}
 */
function drawUsed(scores, x, room, bottom) {
  const end = Math.max(1, ...scores.flatMap(({ used }) => (used ? [used.used, used.intervals?.used?.high ?? 0] : [])));
  const at = (/** @type {number} */ value) => round(x + (Math.max(0, value) / end) * room);
  const axis = [0, 0.5, 1].flatMap((value) => [
    shape("line", { class: "rule", x1: at(value), x2: at(value), y1: TOP - 6, y2: bottom, stroke: RULE }),
    label(at(value), bottom + 15, String(value), { class: "soft", fill: SOFT, "text-anchor": "middle" }),
  ]);
  const bars = scores.flatMap(({ used }, k) => (!used ? [] : [
    shape("rect", { class: "use", x, y: TOP + k * PITCH + 4, width: round(Math.max(1, at(used.used) - x)), height: PITCH - 8, rx: 2, fill: BAR }),
    ...whisker(used.intervals?.used, at, TOP + k * PITCH),
    label(at(Math.max(used.used, used.intervals?.used?.high ?? 0)) + 6, TOP + k * PITCH + 15, used.used.toFixed(2), { "font-size": 12 }),
  ]));
  return [shape("g", {}, shape("title", {}, METRICS.used), label(x, 14, "used: 1 is as the gradient", { "font-size": 11 })), ...axis, ...bars];
}

/**
 * A kind's symbol and name; one without a symbol is called by its path, whose end tells it from others.
 * @param {ReturnType<Naming>} named @param {number} y @param {Measure} measure
 */
function drawName({ name, symbol }, y, measure) {
  if (!symbol) return [label(56, y, tail(name, NAMES - 64, 12, measure), { "font-size": 12 })];
  return [label(56, y, symbol, { "font-style": "italic", "font-size": 13, "font-family": "Georgia, serif" }),
    label(76, y, fitted(name, NAMES - 84, 12, measure), { "font-size": 12 })];
}

/** What kinds are called, as far as they have columns. @param {Column[]} columns @returns {Naming} */
export function namesOf(columns) {
  return (kind) => {
    const column = columns.find((one) => one.id === kind);
    if (!column) return { name: visible(kind), symbol: "", layer: "" };
    const layer = layerName(column.layer, lastLayer(columns));
    return { name: visible(column.name), symbol: column.letter && visible(column.symbol), layer };
  };
}

/** @param {number} share */
const tenths = (share) => `${(share * 100).toFixed(1)}%`;
/** @param {number} value */
const hundredths = (value) => (Math.round(value * 100) / 100 + 0).toFixed(2);

/** The interval of something that has its ends in it. @param {{low: number | null, high: number | null} | null | undefined} found @returns {Ends | null} */
function ends(found) {
  return found && found.low !== null && found.high !== null ? { low: found.low, high: found.high } : null;
}

/** A number of the table, with its interval beside it. @param {string | null | undefined} value @param {Ends | null} [sure] @param {(value: number) => string} [written] */
function cell(value, sure = null, written = hundredths) {
  return html("td", {}, value ?? "", ...(value && sure ? [" ", html("small", { class: "soft sure", ...meaning("95%") }, fromTo(sure, written))] : []));
}

/** A number and, in brackets, that of its control. @param {number | null | undefined} value @param {number | null | undefined} control */
function against(value, control) {
  const known = value !== null && value !== undefined;
  return html("td", {}, known ? hundredths(value) : "", ...(known && typeof control === "number" ? [" ", html("small", { class: "soft sure" }, `(${hundredths(control)})`)] : []));
}

/**
 * Which kinds are not told apart: neighbours by perplexity whose order another draw of sentences often turns. Those that are both no
 * better than the frequencies are left out: which of them is below another says nothing.
 * @param {Score[]} scores @param {number} unigram
 */
export function close(scores, unigram) {
  const order = scores.filter(({ perplexity: p, below }) => p !== null && below).sort((a, b) => Number(a.perplexity) - Number(b.perplexity));
  const pairs = order.slice(1).flatMap((second, k) => {
    if (Number(order[k].perplexity) >= unigram * (1 - NO_MORE)) return [];
    const share = order[k].below[second.kind] ?? 1;
    return share < NEARLY ? [`${order[k].kind} below ${second.kind} in ${Math.round(share * 100)}% of resamples`] : [];
  });
  const more = pairs.length - CLOSE;
  return more > 0 ? [...pairs.slice(0, CLOSE), `and ${more} more ${more > 1 ? "pairs" : "pair"}`] : pairs;
}

/** What the numbers of the table are of, and of how many. @param {Score[]} scores */
function counted(scores) {
  const [first] = scores, used = scores.find((score) => score.used)?.used, control = scores.find((score) => score.control)?.control;
  const told = [
    ...(first.sentences ? [`on ${thousands(first.sentences)} test sentences`] : []),
    ...(used?.deviations ? [`used: a state of each of ${thousands(used.sentences)} sentences, pushed by ${used.deviations} deviations; ${used.rank} directions erased`] : []),
    ...(control ? [`selectivity: ${thousands(control.states)} states of ${thousands(control.sentences)} sentences`] : []),
  ];
  return told.length ? ` (${told.join("; ")})` : "";
}

/** @param {Score[]} scores @param {string} caption @param {Naming} naming */
function table(scores, caption, naming) {
  const uses = scores.some((score) => score.used), controls = scores.some((score) => score.control), warm = scores.some((score) => score.temperature);
  const more = MORE.filter(([key]) => scores.some((score) => score[key]));
  /** @type {Metric[]} */ const heads = ["perplexity", "× the model’s", "accuracy", "from the model", "calibration error",
    ...(warm ? /** @type {const} */ (["temperature"]) : []),
    ...(controls ? /** @type {const} */ (["selectivity", "description, bits"]) : []),
    ...(uses ? /** @type {const} */ (["used", "later", "interchanged", "erased"]) : []), ...more.map(([, name]) => name)];
  const head = html("tr", {}, html("th", { scope: "col" }, "part"),
    ...heads.map((name) => html("th", { scope: "col", ...meaning(name) }, name === "from the model" ? `${name}, bits` : name)));
  const rows = scores.map((score) => {
    const { intervals: sure, control, description, used, temperature } = score;
    const numbers = [
      cell(perplexity(score.perplexity), sure?.perplexity, perplexity), cell(score.ratio?.toFixed(2)),
      cell(score.accuracy === null ? null : tenths(score.accuracy), sure?.accuracy, tenths), cell(score.kl?.toFixed(2)),
      cell(score.calibration === null ? null : tenths(score.calibration)),
      ...(warm ? [cell(temperature?.value.toFixed(2))] : []),
      ...(controls ? [cell(control && tenths(control.selectivity), ends(control), tenths), cell(description?.bits.toFixed(2), ends(description), hundredths)] : []),
      ...(uses ? [cell(used?.used.toFixed(2), used?.intervals.used, hundredths), against(used?.later, used?.later_random),
        against(used?.interchange, used?.interchange_shuffled), against(used?.erased, used?.erased_random)] : []),
      ...more.map(([key]) => cell(score[key]?.probe.toPrecision(3))),
    ];
    return html("tr", {}, html("th", { scope: "row" }, partName(score.kind, naming)), ...numbers);
  });
  return html("table", {}, html("caption", {}, caption), html("thead", {}, head), html("tbody", {}, ...rows));
}

/**
 * What the kinds are measured against under a semantic. The model itself is asked about the next
 * word, so only there it can be compared.
 * @param {Accuracy} found @param {string} semantic
 * @returns {[string, number][]}
 */
export function baselines(found, semantic) {
  const unigram = Object.hasOwn(found.unigrams, semantic) ? found.unigrams[semantic] : found.unigram;
  /** @type {[string, number][]} */ const lines = semantic === "output" && found.own !== null ? [["the model itself", found.own]] : [];
  return unigram === null ? lines : [...lines, ["unigram", unigram]];
}

/** What is measured of numbers, and of sets of labels. @param {Score[]} scores */
function also(scores) {
  const said = MORE.flatMap(([key, name]) => {
    const first = scores.find((score) => score[key])?.[key];
    if (!first) return [];
    const own = first.model === null ? "" : `, that of the model itself is ${first.model.toPrecision(3)}`;
    return [` ${name[0].toUpperCase()}${name.slice(1)} is in the table${own}; without reading any state it is ${first.constant.toPrecision(3)}.`];
  });
  return said.join("");
}

/** Whether a probe predicts better than the model itself. @param {Score[]} scores */
export function betters(scores) {
  return scores.some(({ ratio }) => ratio !== null && ratio < BELOW);
}

/** @param {[string, number][]} lines */
export function lead(lines) {
  const said = lines.map(([name, value]) => `${name === "unigram" ? "guessing by frequency (unigram)" : name} ${perplexity(value)}`);
  return said.length ? `Perplexity of ${said.join(", of ")}` : "Perplexity";
}

/**
 * Of a network that tags or classifies, how often it is right and which labels it takes for which.
 * @param {Accuracy} found @param {number} width @param {Measure} measure
 * @returns {Node[]}
 */
function answered({ accuracy, macro_f1: f1, confusion }, width, measure) {
  if (accuracy === null) return [];
  const said = html("p", {}, "The model itself is right in ", html("b", {}, `${(accuracy * 100).toFixed(1)}%`),
    ...(f1 === null ? ["."] : ["; ", html("span", meaning("macro F1"), "macro F1"), ` is ${(f1 * 100).toFixed(1)}%.`]));
  if (!confusion) return [said];
  return [said, html("details", {}, html("summary", {}, "Which labels it takes for which"), toDom(drawConfusion(confusion, width, measure)))];
}

/** The model's own figure, how sure it is, and what it is without sentences that it was trained on. @param {Accuracy} found @returns {Node[]} */
function fresh({ own, sentences, intervals, unseen }) {
  const sure = intervals?.perplexity;
  if (own === null || !sure) return [];
  const without = unseen ? ` Without the ${thousands(sentences - unseen.sentences)} that also occur in training it is ${perplexity(unseen.perplexity)}`
    + `${unseen.intervals.perplexity ? ` (${fromTo(unseen.intervals.perplexity, perplexity)})` : ""}.` : "";
  return [html("p", {}, `The model\u2019s own perplexity is ${perplexity(own)} (`, html("span", meaning("95%"), fromTo(sure, perplexity)),
    `) on ${thousands(sentences)} test sentences.${without}`)];
}

/**
 * The page.
 * @param {Accuracy} found @param {string | null} semantic @param {Column[]} columns of a grid of the run
 * @param {number} width @param {Measure} measure
 */
export function accuracyPage(found, semantic, columns, width, measure) {
  const naming = namesOf(columns);
  const measured = semantic !== null && Object.hasOwn(found.semantics, semantic);
  const asked = measured ? semantic : Object.keys(found.semantics)[0] ?? "output";
  const scores = Object.hasOwn(found.semantics, asked) ? found.semantics[asked] : [];
  const lines = baselines(found, asked), near = close(scores, lines.find(([name]) => name === "unigram")?.[1] ?? Infinity);
  const heading = html("h2", {}, `How well each part predicts the ${semanticName(asked, found.follows, found.numbers)}`);
  const help = html("p", { class: "soft" }, `${semanticHelp(asked, found.follows, found.numbers)} `,
    "The bars show the ", html("span", meaning("perplexity"), "perplexity"), ` of each part\u2019s probe on test sentences: shorter is better.${also(scores)}`,
    scores.some((score) => score.used) ? ` ${READ_USED}` : "", betters(scores) ? ` ${BETTER}` : "",
    scores.some((score) => score.intervals?.perplexity) ? ` ${SURE}` : "", near.length ? ` Not told apart: ${near.join("; ")}.` : "");
  if (found.rounding) help.append(` ${found.rounding}`);
  const todo = "No part has been measured yet: run rnnlens fit, then rnnlens eval.";
  const answers = answered(found, width, measure);
  if (!scores.length) return [heading, html("p", {}, `${lead(lines)}. ${todo}`), ...answers];
  const training = overTraining(found.training, asked, naming, width), below = training.find((one) => one instanceof HTMLHeadingElement);
  const down = below ? [html("p", {}, html("button", { type: "button", class: "plain", click: () => below.scrollIntoView({ block: "start" }) }, `${below.textContent} \u2193`))] : [];
  return [heading, help, ...down, ...answers, ...fresh(found), toDom(drawAccuracy(scores, lines, naming, width, measure)),
    table(scores, `${lead(lines)}${counted(scores)}`, naming), ...calibrated(scores, naming, width, measure), ...training];
}
