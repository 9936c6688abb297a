// An answer that says what is wrong, whoever gives it.

import { MESSAGES } from "./rules.js";

export class Refusal extends Error {
  /** @param {string} message one line @param {number} status as HTTP has it */
  constructor(message, status = 400) {
    super(message);
    this.status = status;
  }
}

/** What is wrong, in the words that Python has for it. @param {keyof typeof MESSAGES} name @param {Record<string, unknown>} values of its slots */
export function message(name, values = {}) {
  return MESSAGES[name].replace(/\{(\w+)\}/g, (_, slot) => String(values[slot]));
}

/** @param {keyof typeof MESSAGES} name @param {Record<string, unknown>} [values] */
export function refusal(name, values) {
  return new Refusal(message(name, values));
}
