// What the pictures of a corpus are made of: marks that lead to their words, and names beside them.

import { visible } from "../base/format.js";
import { shape } from "../base/markup.js";
import { tail } from "../base/text.js";
import { label, SOFT } from "../grid/bars.js";
import { textStyle } from "../grid/draw.js";

export const HUE = "#0072b2";
export const BAR = "#7d8ba1";
export const RULE = "#e4e4df";
export const SMALL = 10.5; // of type

/**
 * Something that says what it is and, where there is a question, leads to its words.
 * @param {string} question @param {string} told @param {Shape[]} inside
 */
export function mark(question, told, ...inside) {
  return shape("g", question ? { class: "leads", "data-question": question } : {}, shape("title", {}, told), ...inside);
}

/** The same, which keys reach too. @param {string} question @param {string} told @param {Shape[]} inside */
export function line(question, told, ...inside) {
  const drawn = mark(question, told, ...inside);
  return question ? { ...drawn, attributes: { ...drawn.attributes, tabindex: 0, role: "link", "aria-label": told } } : drawn;
}

/** A drawing with what it shows, for those who listen. @param {number} width @param {number} height @param {string} told @param {Shape[]} inside */
export function sheet(width, height, told, ...inside) {
  const role = inside.some(({ attributes }) => "tabindex" in attributes) ? "group" : "img"; // an image has nothing to reach inside
  return shape("svg", { width, height, role, "aria-label": told, ...textStyle() }, ...inside);
}

/** A kind's name, as much of its end as fits. @param {string} kind @param {number} width @param {Measure} measure */
export function kindName(kind, width, measure) {
  return tail(visible(kind), width, SMALL + 0.5, measure);
}

/** @param {number} x @param {number} y @param {string} text @param {Record<string, string | number>} more */
export function soft(x, y, text, more = {}) {
  return label(x, y, text, { class: "soft", fill: SOFT, "font-size": SMALL, ...more });
}
