// Pictures of the network over a corpus: which kinds disagree, and along which edges predictions turn.

import { between, percent, thousands, visible } from "../base/format.js";
import { shape } from "../base/markup.js";
import { label, round } from "../grid/bars.js";
import { BAR, HUE, kindName, line, mark, RULE, sheet, SMALL, soft } from "./marks.js";

const NUMBERED = 17; // pixels of a square that has room for a number
const MOST = 16; // edges that are drawn
const PITCH = 20, VALUE = 46, FAR = 74;

/**
 * A square for each pair of kinds, the darker the more often they disagree.
 * @param {Disagreement} disagreement @param {number} width @param {string} by groups, clear (groups that lead by a margin) or labels @param {Measure} measure
 */
export function drawDisagreement({ kinds, pairs, margin }, width, by, measure) {
  const shareOf = (/** @type {Disagreement["pairs"][0]} */ pair) => (by === "labels" ? pair.labels : by === "clear" ? pair.clear : pair.groups);
  if (pairs.some((pair) => !shareOf(pair))) return null;
  const names = Math.min(90, Math.max(20, ...kinds.map((kind) => measure(visible(kind), SMALL) + 8)));
  const side = round(Math.min(28, (width - names) / kinds.length)), size = side * kinds.length;
  const at = new Map(kinds.map((kind, k) => [kind, round(names + k * side)]));
  const top = round(names > 40 ? names : 18), down = (/** @type {string} */ kind) => round((at.get(kind) ?? 0) - names + top);
  const heads = kinds.map((kind) => {
    const x = round((at.get(kind) ?? 0) + side / 2), name = kindName(kind, names - 6, measure);
    return names > 40 ? label(0, 0, name, { "font-size": SMALL, transform: `translate(${round(x + 4)} ${top - 5}) rotate(-90)` })
      : label(x, top - 5, name, { "font-size": SMALL, "text-anchor": "middle" });
  });
  const rows = kinds.map((kind) => label(names - 6, round(down(kind) + side / 2 + 3.5), kindName(kind, names - 6, measure), { "font-size": SMALL, "text-anchor": "end" }));
  const most = Math.max(0.01, ...pairs.map((pair) => shareOf(pair)?.share ?? 0));
  const squares = pairs.flatMap((pair) => {
    const share = shareOf(pair)?.share ?? 0, question = by === "labels" ? pair.label_question : by === "clear" ? pair.clear_question : pair.question;
    const clearly = by === "labels" || !pair.clear ? "" : `; after ${sureShare(pair.clear)} each leads its second group by ${margin}`;
    const told = `${visible(pair.kind)} and ${visible(pair.other)} expect different ${by === "labels" ? "labels" : "groups"} after ${
      sureShare(by === "labels" ? pair.labels : pair.groups)} of words${clearly}`;
    return [[pair.kind, pair.other], [pair.other, pair.kind]].map(([row, column]) => {
      const x = at.get(column) ?? 0, y = down(row);
      const number = side >= NUMBERED ? [label(round(x + side / 2), round(y + side / 2 + 3.5), String(Math.round(share * 100)),
        { "font-size": 10, "text-anchor": "middle", class: "number" })] : [];
      return mark(question, told, shape("rect", { class: "square", x: round(x + 0.5), y: round(y + 0.5), width: round(side - 1), height: round(side - 1), rx: 2,
        fill: HUE, "fill-opacity": round(0.03 + 0.72 * (share / most)) }), ...number);
    });
  });
  return sheet(round(names + size + 2), round(top + size + 2), "how often parts disagree, in hundredths of words", ...heads, ...rows, ...squares);
}

/** A share of words, and how sure it is. @param {{share: number, low: number | null, high: number | null}} measured */
function sureShare({ share, low, high }) {
  return `${percent(share)}${between(low, high)}`;
}

/** How an edge is called. @param {TurnEdge} edge */
export function edgeName({ kind, other, sort }) {
  if (sort === "beside") return `${visible(kind)} | ${visible(other)}`;
  return `${visible(other.replace(/@-(\d+)$/, " t−$1").replace(/@\+(\d+)$/, " t+$1"))} → ${visible(kind)}`;
}

/**
 * Edges as bars, the longest first; null: there are none of this sort.
 * @param {TurnEdges} turns @param {number} width @param {string} sort @param {Measure} measure
 */
export function drawTurns({ edges, far }, width, sort, measure) {
  const all = edges.filter((edge) => edge.sort === sort), shown = all.slice(0, MOST);
  if (!shown.length) return null;
  const names = Math.min(width * 0.4, Math.max(...shown.map((edge) => measure(edgeName(edge), 12)))) + 10;
  const room = width - names - VALUE - FAR, most = Math.max(0.01, shown[0].bits), top = 20;
  const bars = shown.map((edge, k) => {
    const y = top + k * PITCH, share = edge.words ? edge.far / edge.words : 0, length = round(Math.max(1, (edge.bits / most) * room));
    const told = `${edgeName(edge)}: ${edge.bits.toFixed(3)} bits on average; more than ${far} bits after ${thousands(edge.far)} of ${thousands(edge.words)} words (${percent(share)})`;
    return line(edge.question, told, shape("rect", { class: "hover", x: 0, y, width, height: PITCH, fill: "#fff", "fill-opacity": 0 }),
      label(0, y + 14, kindName(edgeName(edge), names - 6, measure), { "font-size": 12 }),
      shape("rect", { class: "score", x: round(names), y: y + 4, width: length, height: PITCH - 8, rx: 2, fill: BAR }),
      label(round(names + length + 6), y + 14, edge.bits.toFixed(2), { "font-size": 11.5 }),
      soft(width, y + 14, percent(share), { "text-anchor": "end" }));
  });
  const left = all.length - shown.length, height = top + shown.length * PITCH + (left ? 18 : 4);
  return sheet(width, height, "mean divergence along edges, in bits", soft(names, 12, "bits, mean"), soft(width, 12, `words over ${far}`, { "text-anchor": "end" }),
    shape("line", { class: "rule", x1: 0, x2: width, y1: 17.5, y2: 17.5, stroke: RULE }), ...bars,
    ...(left ? [soft(0, height - 4, `and ${left} others, all smaller`)] : []));
}
