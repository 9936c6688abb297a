// What the engine refuses, in the words that Python has for it.

import { filled, Refusal } from "../base/refusal.js";
import { MESSAGES } from "./messages.js";

/** @param {keyof typeof MESSAGES} name @param {Record<string, unknown>} values of its slots */
export function message(name, values = {}) {
  return filled(MESSAGES[name], values);
}

/** @param {keyof typeof MESSAGES} name @param {Record<string, unknown>} [values] */
export function refusal(name, values) {
  return new Refusal(message(name, values));
}

/** Whether it is a whole number within its limits. @param {number} value @param {number} least @param {number} most */
export function isWithin(value, least, most) {
  return Number.isInteger(value) && value >= least && value <= most;
}
