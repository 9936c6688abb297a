// Questions to a memory that is a matrix: what a probe of it reads are the answers, as in rnnlens/probe/memory_questions.py.

/** @typedef {import("./manifest.d.ts").QuestionsJson} QuestionsJson */
/** Of a place of the memory and a question, what it counts for in an answer. @typedef {(memory: number, answer: number, weight: number) => void} Visit */

export class Questions {
  /** @param {QuestionsJson} json @param {Float32Array} weight a row for each key of each head */
  constructor(json, weight) {
    this.json = json;
    this.weight = weight;
    /** How many there are for each head. */ this.count = weight.length / (json.heads * json.keys);
  }

  /** @param {Visit} visit */
  each(visit) {
    const { json: { heads, keys, values, keys_last: last }, weight, count } = this;
    for (let h = 0; h < heads; h++) {
      for (let k = 0; k < keys; k++) {
        for (let v = 0; v < values; v++) {
          const memory = h * keys * values + (last ? v * keys + k : k * values + v);
          for (let m = 0; m < count; m++) visit(memory, h * values * count + (last ? v * count + m : m * values + v), weight[(h * keys + k) * count + m]);
        }
      }
    }
  }

  /** What a memory answers. @param {Float32Array} memory */
  answers(memory) {
    const { heads, values } = this.json, found = new Float32Array(heads * values * this.count);
    this.each((from, to, weight) => { found[to] += weight * memory[from]; });
    return found;
  }

  /** What is a linear map of answers, as one of the memory. @param {Float64Array} row */
  lifted(row) {
    const { heads, keys, values } = this.json, found = new Float64Array(heads * keys * values);
    this.each((to, from, weight) => { found[to] += weight * row[from]; });
    return found;
  }
}
