// A tokenizer that a run keeps, as `Tokenizer` and `PieceText` have it in Python: a text is cut at the tokens that were added, steps
// make what lies between plain and cut it into words, and a model makes pieces of each word.

/** @typedef {"removed" | "isolated" | "contiguous" | "merged_with_previous" | "merged_with_next"} How */
/** @typedef {{do: string, text: string, pattern: string, how: How, inverted: boolean, first: boolean, always: boolean}} Step */
/** @typedef {{number: number, text: string, special: boolean, left: boolean, right: boolean, alone: boolean, normal: boolean, inside: boolean}} Added */
/**
 * @typedef {{model: "bpe" | "unigram" | "wordpiece" | "wordlevel", tokens: string[], plain: Step[], steps: Step[], added: Added[],
 *   merges: [number, number][], scores: number[], unknown: number | null, letters: boolean, fused: boolean, whole: boolean, prefix: string,
 *   suffix: string, most: number, joins: {first: string, last: string, on: string}}} PiecesJson
 */
/** @typedef {[number, number, number, number]} Waiting a rank, two places, and what they become */

import { thousands } from "../base/format.js";
import { COUNTS } from "../base/rules.js";
import { refusal } from "./refusals.js";

const BLANK = "[\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+";
const LETTER = /[\p{L}\p{N}\p{M}\p{Pc}]/u, UNLIKELY = 10, REMEMBERED = 16_384;
const UTF8 = new TextEncoder();

/** A visible letter for each byte, as GPT-2 has them. */
function byteLetters() {
  let other = 256;
  const own = (/** @type {number} */ byte) => (byte > 32 && byte < 127) || (byte > 160 && byte < 173) || byte > 173;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(own(byte) ? byte : other++));
}

const LETTERS = byteLetters();

/** How long a text is, as Python counts characters. @param {string} text */
function lengthOf(text) {
  return [...text].length;
}

/** What steps may make of a text: those of a stranger's run can make any amount. */
class Work {
  /** @param {number} length of the text */
  constructor(length) {
    this.most = COUNTS.swollen_text * Math.max(length, COUNTS.short_text);
    this.done = 0;
  }

  /** What a step has made, with what was made before, unless that is too much. @param {string} text @param {number} [beside] */
  grown(text, beside = 0) {
    const before = this.done + beside;
    if (before + text.length > this.most && before + lengthOf(text) > this.most) throw refusal("swollen", { most: thousands(this.most) });
    return text;
  }
}

export class Pieces {
  /** @param {PiecesJson} json */
  constructor(json) {
    this.json = json;
    const apart = new Set(json.added.filter((one) => !one.inside).map((one) => one.number));
    /** @type {Map<string, number>} */ this.numbers = new Map();
    json.tokens.forEach((token, number) => token && !apart.has(number) && this.numbers.set(token, number));
    this.special = new Set(json.added.filter((one) => one.special).map((one) => one.number));
    this.longest = Math.max(1, ...[...this.numbers.keys()].reduce((most, token) => [Math.max(most[0], [...token].length)], [1]));
    const bytes = Array.from({ length: 256 }, (_, byte) => this.numbers.get(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`));
    /** @type {(number | undefined)[] | null} */
    this.bytes = json.letters && bytes.every((number) => number !== undefined) ? bytes : null;
    this.least = json.scores.length ? [...this.numbers.values()].reduce((least, number) => Math.min(least, json.scores[number]), Infinity) : 0;
    /** @type {Map<string, [number, number]>} */ this.rules = new Map();
    json.merges.forEach(([left, right], rank) => {
      const made = this.numbers.get(json.tokens[left] + json.tokens[right].slice(json.prefix.length));
      if (made !== undefined) this.rules.set(`${left} ${right}`, [rank, made]);
    });
    /** @type {Map<Step, RegExp>} */ this.patterns = new Map();
    for (const step of [...json.plain, ...json.steps]) this.patterns.set(step, new RegExp(step.pattern, "gu"));
    /** @type {Map<string, number[]>} */ this.remembered = new Map();
    this.raw = this.found(json.added.filter((one) => !one.normal).map((one) => [one.text, one]));
    /** Found when a text first asks for them. @type {ReturnType<Pieces["found"]> | undefined} */ this.normal = undefined;
  }

  /** @param {[string, Added][]} pairs what tokens look like, and which they are */
  found(pairs) {
    const every = [...new Map(pairs).keys()].sort((a, b) => b.length - a.length).map((text) => text.replace(/[\\^$.*+?()[\]{}|/-]/gu, "\\$&"));
    return every.length ? { pattern: new RegExp(every.join("|"), "gu"), tokens: new Map(pairs) } : null;
  }

  /** The numbers of a text's pieces. @param {string} text @returns {number[]} */
  encode(text) {
    const work = new Work(lengthOf(text));
    return this.cut(text.replace(/\p{Surrogate}/gu, "\ufffd"), true, this.raw).flatMap(([part, number, first]) => {
      if (number !== null) return [number];
      const plain = this.madePlain(part, first, work);
      if (this.normal === undefined) this.normal = this.found(this.normalTokens());
      return this.cut(plain, first, this.normal).flatMap(([inner, other, begins]) => (other === null ? this.words(inner, begins, work) : [other]));
    });
  }

  /** Tokens that are looked for once a text is plain, by what they look like then. @returns {[string, Added][]} */
  normalTokens() {
    const work = new Work(this.json.added.reduce((length, one) => length + lengthOf(one.text), 0));
    return this.json.added.filter((one) => one.normal).map((one) => [this.madePlain(one.text, true, work) || one.text, one]);
  }

  /** A text after all steps that make it plain. @param {string} text @param {boolean} first @param {Work} work */
  madePlain(text, first, work) {
    const plain = this.json.plain.reduce((so, step) => work.grown(this.plain(step, so, first)), text);
    work.done += lengthOf(plain);
    return plain;
  }

  /**
   * A text with the tokens that were added apart, which have their numbers.
   * @param {string} text @param {boolean} first @param {ReturnType<Pieces["found"]>} tokens @returns {[string, number | null, boolean][]}
   */
  cut(text, first, tokens) {
    /** @type {[string, number | null, boolean][]} */ const parts = [];
    let end = 0;
    for (const match of tokens ? text.matchAll(tokens.pattern) : []) {
      const token = /** @type {Added} */ (tokens?.tokens.get(match[0]));
      let start = match.index, stop = start + match[0].length;
      const before = text.slice(0, start), behind = text.slice(stop);
      if (token.alone && (LETTER.test([...before].pop() ?? "") || LETTER.test([...behind][0] ?? ""))) continue;
      if (token.left) start -= new RegExp(`${BLANK}$`, "u").exec(before)?.[0].length ?? 0;
      if (token.right) stop += new RegExp(`^${BLANK}`, "u").exec(behind)?.[0].length ?? 0;
      [start, stop] = [Math.max(end, start), Math.max(end, stop)];
      if (start > end) parts.push([text.slice(end, start), null, first && end === 0]);
      parts.push([text.slice(start, stop), token.number, false]);
      end = stop;
    }
    if (end < text.length) parts.push([text.slice(end), null, first && end === 0]);
    return parts;
  }

  /** A text after one step. @param {Step} step @param {string} text @param {boolean} first */
  plain(step, text, first) {
    if (step.do === "normal") return text.normalize(step.text);
    if (step.do === "lower") return [...text].map((letter) => letter.toLowerCase()).join("");
    if (step.do === "front") {
      const there = !text || (!step.always && text.startsWith(step.text));
      return there || (step.first && !first) ? text : step.text + text;
    }
    if (step.do === "bytes") return Array.from(UTF8.encode(text), (byte) => LETTERS[byte]).join("");
    return text.replace(/** @type {RegExp} */ (this.patterns.get(step)), (found) => (!found ? "" : step.do === "apart" ? ` ${found} ` : step.text));
  }

  /** @param {string} text @param {boolean} first @param {Work} work @returns {number[]} */
  words(text, first, work) {
    /** @type {[string, boolean][]} */ let words = text ? [[text, first]] : [];
    let length = 0;
    for (const step of this.json.steps) {
      length = 0;
      words = words.flatMap(([word, begins]) => {
        const cuts = this.cutUp(step, word, begins);
        for (const [cut] of cuts) length += lengthOf(work.grown(cut, length));
        return cuts;
      });
    }
    work.done += length;
    return words.flatMap(([word]) => {
      let numbers = this.remembered.get(word);
      if (!numbers) {
        numbers = this.ofWord(word);
        if (this.remembered.size >= REMEMBERED) this.remembered.clear();
        this.remembered.set(word, numbers);
      }
      return numbers;
    });
  }

  /** What one step makes of a word. @param {Step} step @param {string} word @param {boolean} first @returns {[string, boolean][]} */
  cutUp(step, word, first) {
    if (step.do !== "split") return [[this.plain(step, word, first), first]];
    /** @type {[number, number, boolean][]} */ const parts = [];
    let end = 0;
    for (const { 0: found, index } of word.matchAll(/** @type {RegExp} */ (this.patterns.get(step)))) {
      if (!found) continue;
      if (index > end) parts.push([end, index, step.inverted]);
      end = index + found.length;
      parts.push([index, end, !step.inverted]);
    }
    if (end < word.length) parts.push([end, word.length, step.inverted]);
    return joined(parts, step.how).map(([a, b]) => [word.slice(a, b), first && a === 0]);
  }

  /** The pieces of a word. @param {string} word @returns {number[]} */
  ofWord(word) {
    const { model, whole } = this.json, own = this.numbers.get(word);
    if (model === "unigram") return this.likeliest([...word]);
    if (model === "bpe") return whole && own !== undefined ? [own] : this.merged(this.ofLetters([...word]));
    if (model === "wordlevel") return own === undefined ? this.none() : [own];
    return this.longestFirst([...word]);
  }

  none() {
    return this.json.unknown === null ? [] : [this.json.unknown];
  }

  /** The pieces of a text's bytes, where there are such. @param {string} text */
  bytesOf(text) {
    return this.bytes && Array.from(UTF8.encode(text), (byte) => /** @type {(number | undefined)[]} */ (this.bytes)[byte] ?? 0);
  }

  /** @param {string[]} letters @returns {number[]} */
  ofLetters(letters) {
    const { prefix, suffix, fused } = this.json;
    let unknown = false;
    return letters.flatMap((letter, at) => {
      const name = (at ? prefix : "") + letter + (at === letters.length - 1 ? suffix : ""), number = this.numbers.get(name);
      const known = number === undefined ? this.bytesOf(name) : [number];
      const again = unknown && fused;
      unknown = !known && this.json.unknown !== null;
      return known ?? (again ? [] : this.none());
    });
  }

  /** All merges, the earliest rule first and of one rule from left to right. @param {number[]} numbers */
  merged(numbers) {
    const after = numbers.map((_, k) => (k + 1 < numbers.length ? k + 1 : -1)), before = numbers.map((_, k) => k - 1), there = numbers.map(() => true);
    const rule = (/** @type {number} */ a, /** @type {number} */ b) => this.rules.get(`${numbers[a]} ${numbers[b]}`);
    /** @type {Waiting[]} */ const heap = [];
    const look = (/** @type {number} */ a, /** @type {number} */ b) => {
      const found = a >= 0 && b >= 0 ? rule(a, b) : undefined;
      if (found) push(heap, [found[0], a, b, found[1]]);
    };
    for (let k = 0; k + 1 < numbers.length; k++) look(k, k + 1);
    for (let next = pop(heap); next; next = pop(heap)) {
      const [rank, left, right, made] = next, now = there[left] && after[left] === right ? rule(left, right) : undefined;
      if (now?.[0] !== rank || now[1] !== made) continue;
      numbers[left] = made;
      there[right] = false;
      after[left] = after[right];
      if (after[left] >= 0) before[after[left]] = left;
      look(before[left], left);
      look(left, after[left]);
    }
    return numbers.filter((_, k) => there[k]);
  }

  /** The way to split a word whose pieces have the largest sum of scores. @param {string[]} letters @returns {number[]} */
  likeliest(letters) {
    const { scores, fused } = this.json, best = [0, ...letters.map(() => -Infinity)];
    /** @type {[number, boolean][]} */ const way = [[0, true], ...letters.map(() => /** @type {[number, boolean]} */ ([0, true]))];
    letters.forEach((_, at) => {
      let single = false, part = "";
      for (let end = at + 1; end <= Math.min(letters.length, at + this.longest); end++) {
        part += letters[end - 1];
        const number = this.numbers.get(part);
        if (number === undefined) continue;
        single ||= end === at + 1;
        if (best[at] + scores[number] > best[end]) [best[end], way[end]] = [best[at] + scores[number], [at, true]];
      }
      if (!single && best[at] + this.least - UNLIKELY > best[at + 1]) [best[at + 1], way[at + 1]] = [best[at] + (this.least - UNLIKELY), [at, false]];
    });
    /** @type {[string, boolean][]} */ const parts = [];
    for (let end = letters.length; end;) {
      const [at, known] = way[end], part = letters.slice(at, end).join(""), last = parts[parts.length - 1];
      if (last && !known && !last[1] && fused) last[0] = part + last[0];
      else parts.push([part, known]);
      end = at;
    }
    return parts.reverse().flatMap(([part]) => {
      const number = this.numbers.get(part);
      return number === undefined ? this.bytesOf(part) ?? this.none() : [number];
    });
  }

  /** From left to right always the longest piece. @param {string[]} letters @returns {number[]} */
  longestFirst(letters) {
    if (letters.length > this.json.most) return this.none();
    /** @type {number[]} */ const found = [];
    for (let at = 0; at < letters.length;) {
      let end = Math.min(letters.length, at + this.longest), number;
      for (; end > at && number === undefined; end--) number = this.numbers.get((at ? this.json.prefix : "") + letters.slice(at, end).join(""));
      if (number === undefined) return this.none();
      found.push(number);
      at = end + 1;
    }
    return found;
  }

  /** Which piece of its word each is. @param {number[]} numbers @returns {("" | "first" | "inner" | "last" | "mark")[]} */
  places(numbers) {
    const { first, last, on } = this.json.joins;
    const joins = numbers.map((number, k) => k > 0 && !this.special.has(number) && !this.special.has(numbers[k - 1])
      && (on[number] === "1" || (last[numbers[k - 1]] === "1" && first[number] === "1")));
    return numbers.map((number, k) => (joins[k] ? (joins[k + 1] ? "inner" : "last") : joins[k + 1] ? "first" : this.special.has(number) ? "mark" : ""));
  }
}

/** Parts of a word, some of which were found, as words. @param {[number, number, boolean][]} parts @param {How} how @returns {[number, number][]} */
function joined(parts, how) {
  if (how === "removed") return parts.filter(([, , found]) => !found).map(([a, b]) => [a, b]);
  /** @type {[number, number][]} */ const words = [];
  /** @type {boolean | null} */ let before = null;
  const back = how === "merged_with_next";
  for (const [a, b, found] of back ? [...parts].reverse() : parts) {
    const last = words[words.length - 1];
    if ((how === "contiguous" && found === before) || ((back || how === "merged_with_previous") && found && before === false)) {
      if (back) last[0] = a;
      else last[1] = b;
    } else {
      words.push([a, b]);
    }
    before = found;
  }
  return back ? words.reverse() : words;
}

/** Whether one comes before another. @param {Waiting} a @param {Waiting} b */
function earlier(a, b) {
  return a[0] - b[0] || a[1] - b[1];
}

/** @param {Waiting[]} heap @param {Waiting} one */
function push(heap, one) {
  let at = heap.push(one) - 1;
  for (let up = (at - 1) >> 1; at > 0 && earlier(one, heap[up]) < 0; up = (at - 1) >> 1) {
    heap[at] = heap[up];
    at = up;
  }
  heap[at] = one;
}

/** The earliest of all. @param {Waiting[]} heap */
function pop(heap) {
  const top = heap[0], end = heap.pop();
  if (!heap.length || !end) return top;
  let at = 0;
  for (let down = 1; down < heap.length; down = 2 * at + 1) {
    if (down + 1 < heap.length && earlier(heap[down + 1], heap[down]) < 0) down++;
    if (earlier(heap[down], end) >= 0) break;
    heap[at] = heap[down];
    at = down;
  }
  heap[at] = end;
  return top;
}
