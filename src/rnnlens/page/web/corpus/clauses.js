// Questions as the builder has them: conditions of a part, a relation and a thing, and what is shown of the answers. From the text of
// a question and back; a condition that the builder has no words for stays as it is written.

/** What the thing of a relation is. @typedef {"" | "group" | "label" | "kind" | "pair" | "number" | "text"} Thing */
/** @typedef {{id: string, text: string, thing: Thing, usual?: string, unit?: string}} Relation */
/** One condition; with `written` alone it is none of the builder's. @typedef {{part: string, relation: string, thing: string, written?: string}} Clause */
/** A question: its conditions, what is counted, and what stands behind. @typedef {{clauses: Clause[], show: string, rest: string}} Built */

// The parts of a question that are no kinds.
export const WORD = "word";
export const NEXT = "next";
export const TAG = "tag";

/** What can be said of a state. @type {Relation[]} */
export const OF_KIND = [
  { id: "expects", text: "expects a", thing: "group" },
  { id: "says", text: "says the word", thing: "label", usual: "was" },
  { id: "disagrees", text: "disagrees with", thing: "kind" },
  { id: "agrees", text: "agrees with", thing: "kind" },
  { id: "words", text: "says another word than", thing: "kind" },
  { id: "differs", text: "is far from", thing: "pair" },
  { id: "right", text: "has what came first", thing: "" },
  { id: "wrong", text: "has another word first than came", thing: "" },
  { id: "surprised", text: "is surprised by more than", thing: "number", usual: "8", unit: "bits" },
  { id: "undecided", text: "is undecided by more than", thing: "number", usual: "8", unit: "bits" },
  { id: "sure", text: "is undecided by less than", thing: "number", usual: "2", unit: "bits" },
];
/** What can be said of a word. @type {Relation[]} */
export const OF_WORD = [
  { id: "is", text: "is", thing: "text", usual: "that" },
  { id: "isnot", text: "is not", thing: "text", usual: "that" },
  { id: "like", text: "looks like (% for any letters)", thing: "text", usual: "%ing" },
  { id: "isa", text: "is a", thing: "group" },
];
const CAME = new Set(["right", "wrong", "surprised"]); // which the corpus must tell
const RESERVED = new Set(["word", "next", "tag", "split", "surprisal", "position", "length", "not", "before", "after", "within", "count", "sort", "limit", "and", "or"]);

/** What can be said of a part. @param {string} part @param {Pick<Corpus, "follows" | "pairs">} corpus */
export function relationsOf(part, { follows, pairs }) {
  if (part === TAG) return OF_WORD.filter(({ id }) => id === "is" || id === "isnot");
  if (part === WORD || part === NEXT) return OF_WORD.filter(({ id }) => follows || id !== "isa");
  return OF_KIND.filter(({ id, thing }) => (follows || !CAME.has(id)) && (thing !== "pair" || partners(part, pairs).length > 0));
}

/** The kinds that one is compared with. @param {string} kind @param {Corpus["pairs"]} pairs */
export function partners(kind, pairs) {
  return [...new Set(pairs.flatMap(([a, b]) => (a === kind ? [b] : b === kind ? [a] : [])))].filter((other) => other !== kind);
}

/** A kind as a question names it. @param {string} kind */
export function asKind(kind) {
  return (/^[\p{L}\p{N}_.]+<?$/u.test(kind) && !RESERVED.has(kind.toLowerCase())) || kind.includes("`") ? kind : `\`${kind}\``;
}

/** @param {string} text */
function asText(text) {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

/** @param {string} group */
function asGroup(group) {
  return /^[\p{L}_][\p{L}\p{N}_]*$/u.test(group) ? group : `group ${asText(group)}`;
}

/** The text of a condition. @param {Clause} clause */
export function written({ part, relation, thing, written: own }) {
  if (own !== undefined) return own;
  const kind = asKind(part);
  switch (relation) {
    case "expects": return `${kind} expects ${asGroup(thing)}`;
    case "says": return `${kind} expects ${asText(thing)}`;
    case "disagrees": return `${kind} disagrees with ${asKind(thing)}`;
    case "agrees": return `${kind} agrees with ${asKind(thing)}`;
    case "words": return `${kind} disagrees with ${asKind(thing)} on label`;
    case "differs": return `${kind} differs from ${asKind(thing)} > .5`;
    case "right": return `${kind} rank = 1`;
    case "wrong": return `${kind} rank > 1`;
    case "surprised": return `${kind} surprisal > ${thing}`;
    case "undecided": return `${kind} entropy > ${thing}`;
    case "sure": return `${kind} entropy < ${thing}`;
    case "isnot": return `${part} != ${asText(thing)}`;
    case "like": return `${part} like ${asText(thing)}`;
    case "isa": return `${part} is ${asGroup(thing)}`;
    default: return `${part} = ${asText(thing)}`;
  }
}

/** The text of a question. @param {Built} built */
export function compose({ clauses, show, rest }) {
  return [clauses.map(written).join(" and "), show, rest].filter(Boolean).join(" ");
}

const QUOTED = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`/y;

/** A question in pieces: what is quoted or in brackets is one. @param {string} question @returns {string[] | null} null: a quote or bracket is open */
function pieces(question) {
  /** @type {string[]} */ const found = [];
  let depth = 0, piece = "";
  for (let at = 0; at < question.length;) {
    QUOTED.lastIndex = at;
    const quoted = QUOTED.exec(question)?.[0], sign = quoted ?? question[at];
    if (!quoted && /["`]/.test(sign)) return null;
    if ("({".includes(sign)) depth += 1;
    if (")}".includes(sign)) depth -= 1;
    if (depth < 0) return null;
    if (/^\s$/.test(sign) && depth === 0) {
      if (piece) found.push(piece);
      piece = "";
    } else piece += sign;
    at += sign.length;
  }
  if (piece) found.push(piece);
  return depth === 0 ? found : null;
}

/** A text or a name without its quotes. @param {string} piece */
function plain(piece) {
  return /^["']/.test(piece) ? piece.slice(1, -1).replace(/\\(.)/g, "$1") : piece.replace(/^`(.*)`$/, "$1");
}

const NUMBER = /^-?(\d+\.?\d*|\.\d+)$/;

/** A condition as the builder has it; null: it has no words for it. @param {string[]} some its pieces @param {Pick<Corpus, "kinds" | "groups" | "follows" | "pairs">} corpus @returns {Clause | null} */
function clauseOf(some, corpus) {
  const [first, verb, ...rest] = some, part = plain(first ?? ""), last = rest[rest.length - 1] ?? "";
  /** @param {string} name */
  const group = (name) => Object.keys(corpus.groups).find((one) => one === name) ?? Object.keys(corpus.groups).find((one) => one.toLowerCase() === name.toLowerCase());
  const is = (/** @type {string} */ relation, /** @type {string} */ thing) => (relationsOf(part, corpus).some(({ id }) => id === relation) ? { part, relation, thing } : null);
  if ([WORD, NEXT, TAG].includes(first)) {
    if (rest.length === 2 && verb === "is" && rest[0] === "group") return group(plain(last)) ? is("isa", plain(last)) : null;
    if (rest.length !== 1) return null;
    if (verb === "is") return group(last) ? is("isa", group(last) ?? "") : null;
    const relation = new Map([["=", "is"], ["!=", "isnot"], ["like", "like"]]).get(verb);
    return relation ? is(relation, plain(last)) : null;
  }
  if (!corpus.kinds.includes(part) || (first === part && asKind(part) !== part)) return null;
  const text = rest.join(" "), other = plain(rest[1] ?? "");
  if (verb === "expects") {
    if (rest[0] === "group" && rest.length === 2) return group(plain(last)) ? is("expects", plain(last)) : null;
    if (rest.length !== 1 || last.startsWith("{")) return null;
    const named = /^["']/.test(last) ? undefined : group(last);
    return named ? is("expects", named) : is("says", plain(last));
  }
  if ((verb === "agrees" || verb === "disagrees") && rest[0] === "with" && corpus.kinds.includes(other)) {
    if (rest.length === 2) return is(verb, other);
    return verb === "disagrees" && rest.length === 4 && text.endsWith("on label") ? is("words", other) : null;
  }
  if (verb === "differs" && rest[0] === "from" && partners(part, corpus.pairs).includes(other)) {
    return rest.length === 2 || (rest.length === 4 && rest[2] === ">" && Number(last) === 0.5) ? is("differs", other) : null;
  }
  if (verb === "rank" && rest.length === 2 && last === "1") return rest[0] === "=" ? is("right", "") : rest[0] === ">" ? is("wrong", "") : null;
  if (rest.length !== 2 || !NUMBER.test(last)) return null;
  if (verb === "surprisal" && rest[0] === ">") return is("surprised", last);
  return verb === "entropy" ? (rest[0] === ">" ? is("undecided", last) : rest[0] === "<" ? is("sure", last) : null) : null;
}

/**
 * A question as the builder has it; null: it cannot be taken apart.
 * @param {string} question @param {Pick<Corpus, "kinds" | "groups" | "follows" | "pairs">} corpus @returns {Built | null}
 */
export function takeApart(question, corpus) {
  const some = pieces(question);
  if (!some) return null;
  const end = some.findIndex((piece) => ["count", "sort", "limit"].includes(piece)), conditions = end < 0 ? some : some.slice(0, end), tail = end < 0 ? [] : some.slice(end);
  const counted = tail[0] === "count" ? tail.findIndex((piece, k) => k > 0 && ["sort", "limit"].includes(piece)) : 0;
  const cut = counted < 0 ? tail.length : counted;
  /** @type {Clause[]} */ let clauses = [];
  if (conditions.includes("or")) clauses = [{ part: "", relation: "", thing: "", written: conditions.join(" ") }];
  else {
    /** @type {string[][]} */ const each = [[]];
    for (const piece of conditions) if (piece === "and") each.push([]);
      else each[each.length - 1].push(piece);
    if (each.length > 1 && each.some((one) => !one.length)) return null; // an "and" with nothing behind it yet
    clauses = each.filter((one) => one.length).map((one) => clauseOf(one, corpus) ?? { part: "", relation: "", thing: "", written: one.join(" ") });
  }
  return { clauses, show: tail.slice(0, cut).join(" "), rest: tail.slice(cut).join(" ") };
}
