// Pictures of the words of a corpus: surprise against doubt, how far kinds reach, memories by part of speech.

import { between, percent, thousands, visible } from "../base/format.js";
import { shape } from "../base/markup.js";
import { METRICS } from "../base/metrics.js";
import { INK, label, round } from "../grid/bars.js";
import { BAR, HUE, kindName, line, mark, RULE, sheet, SMALL, soft } from "./marks.js";

const LEFT = 34, BOTTOM = 34, TICKS = 6;
const PITCH = 22;

/** Whole numbers of bits for an axis. @param {number} end */
function bits(end) {
  const step = [1, 2, 4, 5, 10].find((one) => end / one <= TICKS) ?? Math.ceil(end / TICKS);
  return Array.from({ length: Math.floor(end / step) + 1 }, (_, k) => k * step);
}

/** How many words have which entropy, across, and which surprisal, up. @param {Density} density @param {number} width */
export function drawSurprise({ width: bin, columns, rows, cells }, width) {
  const side = (width - LEFT - 10) / columns, high = Math.min(side, 320 / rows), end = rows * high, top = 6;
  const x = (/** @type {number} */ bit) => round(LEFT + (bit / bin) * side), y = (/** @type {number} */ bit) => round(top + end - (bit / bin) * high);
  const most = Math.max(...cells.map(({ words }) => words));
  const squares = cells.map((cell) => {
    const [low, far] = [cell.x * bin, cell.y * bin], last = cell.y === rows - 1;
    const told = `${thousands(cell.words)} words: entropy ${low} to ${low + bin} bits, surprisal ${far}${last ? " bits or more" : ` to ${far + bin} bits`}`;
    return mark(cell.question, told, shape("rect", { class: "square", x: x(low), y: y(far + bin), width: round(side - 0.6), height: round(high - 0.6),
      fill: HUE, "fill-opacity": round(0.07 + 0.93 * (cell.words / most) ** 0.4) }));
  });
  const diagonal = Math.min(columns, rows) * bin;
  const axes = [
    ...bits(columns * bin).map((bit) => soft(x(bit), round(top + end + 15), String(bit), { "text-anchor": "middle" })),
    ...bits(rows * bin).map((bit) => soft(LEFT - 7, round(y(bit) + 4), String(bit), { "text-anchor": "end" })),
    shape("g", {}, shape("title", {}, METRICS.entropy), soft(round(LEFT + (columns * side) / 2), round(top + end + 30), "entropy of the prediction, bits", { "text-anchor": "middle" })),
    shape("g", {}, shape("title", {}, METRICS.surprisal), soft(0, 0, "surprisal, bits", { "text-anchor": "middle", transform: `translate(9 ${round(top + end / 2)}) rotate(-90)` })),
    shape("path", { class: "rule", d: `M${LEFT - 2.5} ${top}V${round(top + end + 2.5)}H${round(LEFT + columns * side)}`, fill: "none", stroke: RULE }),
  ];
  const even = shape("line", { class: "even", x1: x(0), y1: y(0), x2: x(diagonal), y2: y(diagonal), stroke: INK, "stroke-dasharray": "4 3", "stroke-opacity": 0.6 });
  return sheet(width, round(top + end + BOTTOM), "words by entropy of the prediction and surprisal of what came", ...axes, ...squares, even);
}

/** A square for each kind and each label around, the darker the more it tells. @param {Reach} reach @param {number} width @param {Measure} measure */
export function drawReach({ cells }, width, measure) {
  const kinds = [...new Set(cells.map(({ kind }) => kind))], steps = [...new Set(cells.map((cell) => cell.steps))].sort((a, b) => a - b);
  const names = Math.min(110, Math.max(20, ...kinds.map((kind) => measure(visible(kind), SMALL) + 10)));
  const wide = Math.min(64, (width - names) / steps.length), high = 19, top = 20;
  const heads = steps.map((step, k) => soft(round(names + (k + 0.5) * wide), 13, step > 0 ? `+${step}` : String(step).replace("-", "−"), { "text-anchor": "middle" }));
  const rows = kinds.map((kind, k) => label(names - 6, round(top + (k + 0.5) * high + 3.5), kindName(kind, names - 6, measure), { "font-size": SMALL, "text-anchor": "end" }));
  const squares = cells.map(({ kind, steps: step, told, perplexity, unigram, question }) => {
    const at = { x: round(names + steps.indexOf(step) * wide), y: round(top + kinds.indexOf(kind) * high) };
    const number = told === null ? "–" : String(Math.round(told * 100));
    const means = `${visible(kind)}, ${step > 0 ? `+${step}` : step}: ${told === null ? "not measured" : `tells ${percent(told)} of the bits`}`
      + `${perplexity === null ? "" : `; perplexity ${perplexity.toFixed(1)}, of frequencies ${unigram.toFixed(1)}`}`
      + (question ? "" : "; the index is of another semantic, so that it has no words of this");
    return mark(question, means, shape("rect", { class: "square", x: round(at.x + 0.5), y: round(at.y + 0.5), width: round(wide - 1), height: high - 1, rx: 2, fill: HUE,
      "fill-opacity": round(0.03 + 0.75 * (told ?? 0)) }), label(round(at.x + wide / 2), round(at.y + high / 2 + 3.5), number, { "font-size": 10, "text-anchor": "middle", class: "number" }));
  });
  return sheet(round(names + wide * steps.length + 2), top + kinds.length * high + 4, "how much each kind tells of the words around", ...heads, ...rows, ...squares);
}

/** A bar for each part of speech and each pair of memories. @param {Tags} tags @param {number} width @param {Measure} measure */
export function drawTags({ pairs }, width, measure) {
  const last = pairs[pairs.length - 1], share = (/** @type {{count: number, words: number}} */ one) => (one.words ? one.count / one.words : 0);
  const order = [...last.tags].sort((a, b) => share(b) - share(a)).map(({ tag }) => tag);
  const names = Math.max(...order.map((tag) => measure(visible(tag), 12))) + 10, room = width - names - 96, thin = pairs.length > 1 ? 7 : 12;
  const most = Math.max(0.01, ...pairs.flatMap((pair) => pair.tags.map(share))), pitch = Math.max(PITCH, pairs.length * thin + 8), top = 22;
  const paint = (/** @type {number} */ k) => (k === pairs.length - 1 ? HUE : BAR);
  let x = names;
  const key = pairs.flatMap(({ kind, other }, k) => {
    const name = `${visible(kind)} and ${visible(other)}`, at = x;
    x += measure(name, SMALL) + 30;
    return [shape("rect", { x: round(at), y: 4, width: 10, height: 10, rx: 2, fill: paint(k) }), soft(round(at + 15), 13, name)];
  });
  const rows = order.flatMap((tag, row) => {
    const y = top + row * pitch, ones = pairs.map((pair) => pair.tags.find((one) => one.tag === tag));
    const bars = ones.flatMap((one, k) => {
      if (!one) return [];
      const told = `${visible(tag)}: ${visible(pairs[k].kind)} and ${visible(pairs[k].other)} disagree after ${thousands(one.count)} of ${thousands(one.words)} words (${percent(share(one))}${between(one.low, one.high)})`;
      return [line(one.question, told, shape("rect", { class: "hover", x: 0, y: round(y + 2 + k * thin), width, height: thin, fill: "#fff", "fill-opacity": 0 }),
        shape("rect", { class: "score", x: round(names), y: round(y + 3 + k * thin), width: round(Math.max(1, (share(one) / most) * room)), height: thin - 1, rx: 1.5, fill: paint(k) }))];
    });
    const own = ones[ones.length - 1];
    return [label(0, round(y + pitch / 2 + 3), visible(tag), { "font-size": 12 }), ...bars,
      ...(own ? [label(round(names + room + 42), round(y + pitch / 2 + 3), percent(share(own)), { "font-size": 11.5, "text-anchor": "end" }),
        soft(width, round(y + pitch / 2 + 3), thousands(own.words), { "text-anchor": "end" })] : [])];
  });
  return sheet(width, top + order.length * pitch + 4, "how often memories disagree by part of speech", ...key, soft(width, 13, "words", { "text-anchor": "end" }), ...rows);
}
