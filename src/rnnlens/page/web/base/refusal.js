// An answer that says what is wrong, whoever gives it.

export class Refusal extends Error {
  /** @param {string} message one line @param {number} status as HTTP has it */
  constructor(message, status = 400) {
    super(message);
    this.status = status;
  }
}
