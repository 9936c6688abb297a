// The edits of one text as changes that the model makes while it reads.

import { first, repr } from "../python.js";
import { COUNTS, NUMBERS } from "../../base/rules.js";
import { numberOf } from "../labels.js";
import { of, PREDICTION } from "../network.js";
import { message, refusal } from "../refusals.js";

/** @typedef {import("./edit.js").Address} Address */
/** @typedef {(state: Float32Array) => Float32Array} Change from a state to the one in its place */

/** Edits of a text, as a model can make them. */
export class TextEdits {
  /** @param {Subject} subject @param {number[]} ids @param {string} semantic @param {Edit[]} edits */
  constructor(subject, ids, semantic, edits) {
    this.subject = subject;
    this.ids = ids;
    this.semantic = semantic;
    this.edits = edits;
    /** @type {Map<string, Kind>} */
    this.kinds = new Map(subject.kinds.filter((kind) => kind.letter).map((kind) => [kind.id, kind]));
  }

  /** Refuse edits after which numbers are too large to compare or to draw. @param {Float32Array} logits */
  checkSize(logits) {
    if (logits.every((logit) => Math.abs(logit) < NUMBERS.largest_logit)) return; // nor are they where they are no numbers
    throw refusal("edit_too_large", { edits: first(this.edits.join(", "), COUNTS.quoted_edit) });
  }

  /** Tells them from others; a push depends on the semantic, too. */
  get key() {
    const pushes = this.edits.some((edit) => edit.label !== null);
    return JSON.stringify([...this.edits.map(String), pushes ? this.semantic : null]);
  }

  /** Refuse what is not there. @param {Edit} edit */
  check(edit) {
    const { kind } = edit;
    if (!this.kinds.has(kind)) {
      throw refusal(kind === PREDICTION ? "edit_prediction" : "edit_kind", { kind: repr(kind), known: [...this.kinds.keys()].join(", ") });
    }
    checkStep(edit, edit.step, this.ids.length, message("edited_text"));
    const before = this.stepBefore(edit);
    if (edit.freeze && (before < 0 || before >= this.ids.length)) throw refusal("edit_freeze", { edit, kind });
    if (edit.swap) this.idsOf(edit, edit.swap);
    if (edit.label !== null) this.direction(edit, edit.label);
    return true;
  }

  /** @param {Edit} edit */
  stepBefore(edit) {
    return edit.step + (this.kinds.get(edit.kind)?.reverse ? 1 : -1);
  }

  /** What the model is given, by timestep and kind. @param {Pause} pause */
  async stateEdits(pause) {
    /** @type {Map<number, Map<string, Change>>} */ const changes = new Map();
    const add = (/** @type {number} */ step, /** @type {string} */ kind, /** @type {Change} */ change) => {
      const here = changes.get(step) ?? new Map(), earlier = here.get(kind);
      changes.set(step, here.set(kind, earlier ? (/** @type {Float32Array} */ state) => change(earlier(state)) : change));
    };
    /** @type {(() => void)[]} */ const records = []; // last: what is kept is what other edits have made of it
    for (const edit of this.edits) {
      let change = edit.freeze ? null : await this.change(edit, pause);
      if (!change) {
        /** @type {Float32Array | null} */ let kept = null;
        records.push(() => add(this.stepBefore(edit), edit.kind, (state) => (kept = state.slice())));
        change = (state) => kept ?? state;
      }
      add(edit.step, edit.kind, among(edit, change));
    }
    for (const record of records) record();
    return changes;
  }

  /** @param {Edit} edit @param {Pause} pause @returns {Promise<Change>} */
  async change(edit, pause) {
    const { scale, label } = edit;
    if (edit.zero) return (state) => new Float32Array(state.length);
    if (scale !== null) return (state) => state.map((x) => x * scale);
    if (label !== null) {
      const [low, high] = this.kinds.get(edit.kind)?.range ?? [null, null];
      const push = this.direction(edit, label);
      return (state) => state.map((x, u) => Math.min(high ?? Infinity, Math.max(low ?? -Infinity, x + push[u])));
    }
    if (edit.swap) return put(edit, await this.found(edit, edit.swap, pause), null);
    return put(edit, edit.set ?? 0, edit.units);
  }

  /** The state at an address, without any edits. @param {Edit} edit @param {Address} address @param {Pause} pause */
  async found(edit, address, pause) {
    const ids = this.idsOf(edit, address), { states } = await this.subject.session.read(ids, address.step, address.step + 1, null, pause);
    return of(states, edit.kind)[0];
  }

  /** The words of the text that an address is in. @param {Edit} edit @param {Address} address */
  idsOf(edit, { step, text }) {
    const ids = text === null ? this.ids : this.subject.text.encode(this.subject.text.words(text));
    checkStep(edit, step, ids.length, text === null ? message("edited_text") : repr(first(text, COUNTS.quoted_edit)));
    return ids;
  }

  /** What a push adds to a state: so many of the kind's deviations along its pattern. @param {Edit} edit @param {string} label */
  direction(edit, label) {
    const { probes } = this.subject, number = numberOf(label, this.subject.answers(this.semantic).names);
    if (!probes?.kinds.includes(edit.kind)) throw refusal("edit_no_probe", { kind: edit.kind });
    const spread = probes.spread(edit.kind, this.semantic);
    const { weights } = probes.row(edit.kind, number, this.semantic), pattern = only(edit, patternOf(spread, weights));
    const sign = edit.push !== null ? 1 : -1, length = Math.max(NUMBERS.least_length, lengthOf(pattern));
    const size = (sign * edit.strength * lengthOf(spread.deviation)) / length;
    return pattern.map((x) => x * size);
  }
}

/** @param {Edit} edit @param {number} step @param {number} count @param {string} where */
function checkStep(edit, step, count, where) {
  if (step >= count) throw refusal("edit_row", { edit, row: step + 1, where, count });
}

/**
 * How the states of a kind vary with a label's logit: covariance times probe's row. Moving along it moves a state as
 * states do move where that label becomes more probable; the row itself would move it into where no state ever is.
 * @param {{deviation: Float32Array, packed: Float32Array}} spread correlations as rows of the lower triangle
 * @param {Float64Array} row
 */
function patternOf({ deviation, packed }, row) {
  const pattern = new Float64Array(row.length), scaled = row.map((x, u) => x * deviation[u]);
  for (let u = 0, at = 0; u < row.length; u++) {
    for (let other = 0; other <= u; other++, at++) {
      pattern[u] += packed[at] * scaled[other];
      if (other < u) pattern[other] += packed[at] * scaled[u];
    }
  }
  return pattern.map((x, u) => x * deviation[u]);
}

/** @param {Float32Array | Float64Array} vector */
function lengthOf(vector) {
  let sum = 0;
  for (const x of vector) sum += x * x;
  return Math.sqrt(sum);
}

/** The change of those units that an edit names. @param {Edit} edit @param {Change} change @returns {Change} */
function among(edit, change) {
  const { units } = edit;
  if (!units) return change;
  return (state) => {
    checkUnits(edit, state.length);
    const changed = state.slice(), all = change(state);
    for (const unit of units) changed[unit] = all[unit];
    return changed;
  };
}

/** @param {Edit} edit @param {number} width */
function checkUnits(edit, width) {
  const largest = (edit.units ?? [0]).reduce((most, unit) => Math.max(most, unit), 0);
  if (largest >= width) throw refusal("edit_unit", { kind: edit.kind, count: width, unit: largest });
}

/** A vector that is 0 but for the units that an edit names. @param {Edit} edit @param {Float64Array} vector */
function only(edit, vector) {
  if (!edit.units) return vector;
  checkUnits(edit, vector.length);
  const named = new Set(edit.units);
  return vector.map((x, u) => (named.has(u) ? x : 0));
}

/**
 * Put a number, or one for each of the units, in the place of a state.
 * @param {Edit} edit @param {number | ArrayLike<number>} values @param {number[] | null} units @returns {Change}
 */
function put(edit, values, units) {
  return (state) => {
    const count = units ? units.length : state.length, several = typeof values === "number" ? null : values;
    if (several && several.length !== count) throw refusal("edit_count", { given: several.length, count, kind: edit.kind });
    const changed = state.slice();
    for (let k = 0; k < count; k++) changed[units ? units[k] : k] = several ? several[k] : Number(values);
    return changed;
  };
}
