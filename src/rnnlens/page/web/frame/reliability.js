// How often states are right that are about as sure: a small curve for each kind.

import { percent, thousands } from "../base/format.js";
import { html, shape, toDom } from "../base/markup.js";
import { meaning } from "../base/metrics.js";
import { tail } from "../base/text.js";
import { INK, label, round, SOFT } from "../grid/bars.js";
import { textStyle } from "../grid/draw.js";
import { partName } from "./overtraining.js";

const SIDE = 96, LEFT = 30, TOP = 20, GAP = 22, BELOW = 26; // of a curve, its margins, and what lies between two
const RULE = "#e4e4df", COLOURS = ["#d55e00", "#e69f00", "#0072b2"]; // of labels seldom seen, and more often
const OFF = 0.1; // what lies further from the diagonal is marked

/**
 * The curve of one kind: what states say to the right, how often they are right upwards.
 * @param {Score} score @param {string} name @param {string} whole what it is called in full @param {number} x @param {number} y @param {Measure} measure
 * @returns {Shape}
 */
export function drawCurve(score, name, whole, x, y, measure) {
  const { all = [], ...bands } = score.reliability;
  const at = (/** @type {number} */ p) => round(p * SIDE), up = (/** @type {number} */ p) => round(SIDE - p * SIDE);
  const path = (/** @type {Bin[]} */ bins) => bins.map(({ confidence, accuracy }, k) => `${k ? "L" : "M"}${at(confidence)} ${up(accuracy)}`).join("");
  return shape("g", { class: "curve", transform: `translate(${x} ${y})` },
    shape("g", {}, shape("title", {}, whole), label(0, -7, tail(name, SIDE, 12, measure), { "font-size": 12 })),
    shape("rect", { width: SIDE, height: SIDE, fill: "none", stroke: RULE }),
    shape("line", { class: "rule", x1: 0, y1: SIDE, x2: SIDE, y2: 0, stroke: RULE }),
    ...Object.values(bands).map((bins, k) => shape("path", { class: "band", d: path(bins), fill: "none", stroke: COLOURS[k], "stroke-opacity": 0.75 })),
    shape("path", { class: "all", d: path(all), fill: "none", stroke: INK, "stroke-width": 1.6 }),
    ...all.flatMap(({ confidence, accuracy, low, high, states }) => [
      ...(low === null || high === null ? [] : [shape("line", { class: "sure", x1: at(confidence), x2: at(confidence), y1: up(low), y2: up(high), stroke: INK })]),
      shape("circle", { class: Math.abs(confidence - accuracy) > OFF ? "off" : "near", cx: at(confidence), cy: up(accuracy), r: 2.6,
        fill: Math.abs(confidence - accuracy) > OFF ? "#fff" : INK, stroke: INK },
      shape("title", {}, `says ${percent(confidence)}, right ${percent(accuracy)} of the time (${thousands(states)} states)`)),
    ]),
    label(0, SIDE + 13, "0", { class: "soft", fill: SOFT, "font-size": 10 }),
    label(SIDE, SIDE + 13, "100%", { class: "soft", fill: SOFT, "font-size": 10, "text-anchor": "end" }));
}

/** A short line of a colour, for a key: an inline style would be against the page's policy. @param {string} colour */
function stroke(colour) {
  return shape("svg", { width: 14, height: 8, "aria-hidden": "true" }, shape("path", { d: "M0 4H14", stroke: colour, "stroke-width": 2 }));
}

/**
 * The curves of all kinds, folded away.
 * @param {Score[]} scores @param {(kind: string) => {name: string, symbol: string, layer: string}} naming @param {number} width @param {Measure} measure
 * @returns {Node[]}
 */
export function calibrated(scores, naming, width, measure) {
  const measured = scores.filter(({ reliability }) => reliability?.all?.length);
  if (!measured.length) return [];
  const columns = Math.max(1, Math.floor((width - LEFT + GAP) / (SIDE + GAP))), rows = Math.ceil(measured.length / columns);
  const bands = Object.keys(measured[0].reliability).filter((name) => name !== "all");
  const curves = measured.map((score, k) => drawCurve(score, score.kind, partName(score.kind, naming),
    LEFT + (k % columns) * (SIDE + GAP), TOP + Math.floor(k / columns) * (SIDE + TOP + BELOW), measure));
  const drawn = shape("svg", { width, height: rows * (SIDE + TOP + BELOW), role: "img", ...textStyle(),
    "aria-label": "how often states of each part are right that are about as sure" }, ...curves);
  const key = bands.flatMap((name, k) => [" ", toDom(stroke(COLOURS[k])), ` labels ${name}`]);
  return [html("details", { class: "reliability" }, html("summary", {}, "How often each part is right when it is so sure"),
    html("p", { class: "soft" }, "To the right what the probe says of its most probable label, upwards how often that label is right. On the diagonal the two agree; hollow dots are off by more than ten ",
      html("span", meaning("calibration error"), "points"), `, and where that is sure, cells write ~ before such a number.${key.length ? " Lines:" : ""}`, ...key), toDom(drawn))];
}
