// An answer that says what is wrong.

export class Refusal extends Error {
  /** @param {string} message one line @param {number} status as HTTP has it */
  constructor(message, status = 400) {
    super(message);
    this.status = status;
  }
}

/** A template of rules.json with a value in each {slot}. @param {string} template @param {Record<string, unknown>} values */
export function filled(template, values) {
  return template.replace(/\{(\w+)\}/g, (_, slot) => String(values[slot]));
}
