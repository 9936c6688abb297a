// The answers to a question: sentences with the word in the middle and a strip of all kinds, or counts with bars.

import { between, groupName, percent, SURE, thousands, TOO_FEW, visible } from "../base/format.js";
import { bdi, html, shape, toDom } from "../base/markup.js";
import { meaning } from "../base/metrics.js";
import { label, NONE, round, SOFT } from "../grid/bars.js";
import { textStyle } from "../grid/draw.js";

/** @typedef {import("../base/schema.d.ts").Said} Said */
/** Where the kinds stand in a strip. @typedef {{kind: string, x: number, wide: number, letter: string, layer: number}[]} Places */

const CELL = 10, NARROW = 6, MANY = 24, HIGH = 18, GAP = 5, HEAD = 26; // of a strip, and of one of many kinds
const AROUND = 24; // words on each side of the one that is meant
const SHOWN = 3; // kinds that have a column of their own

/** @param {string[]} kinds @param {Column[]} columns @returns {Places} */
export function stripPlaces(kinds, columns) {
  const wide = kinds.length > MANY ? NARROW : CELL;
  let x = 0, last = -1;
  return kinds.map((kind) => {
    const column = columns.find((one) => one.id === kind), layer = column?.layer ?? last;
    if (last >= 0 && layer !== last) x += GAP;
    last = layer;
    x += wide;
    return { kind, x: x - wide, wide, letter: column?.letter ?? "", layer };
  });
}

/** @param {Places} places */
function stripWidth(places) {
  const last = places[places.length - 1];
  return last ? last.x + last.wide : 0;
}

/** The letters over the strips, those that the question names in ink. @param {Places} places @param {string[]} named */
function stripHead(places, named) {
  const layers = [...new Set(places.map(({ layer }) => layer))];
  const numbers = layers.flatMap((layer) => {
    const inside = places.filter((place) => place.layer === layer);
    return inside.length < 2 ? [] : [label(inside[0].x, 10, `layer ${layer}`, { "font-size": 10, fill: SOFT, class: "soft" })];
  });
  const letters = places.filter(({ wide }) => wide === CELL).map(({ kind, x, letter }) => {
    const isNamed = named.includes(kind);
    return shape("g", {}, shape("title", {}, visible(kind)), label(x + CELL / 2 - 0.5, 22, visible(letter || "·"), { "font-size": 11, "font-style": "italic",
      "text-anchor": "middle", ...(isNamed ? { "font-weight": 700 } : { fill: SOFT, class: "soft" }) }));
  });
  return toDom(shape("svg", { width: stripWidth(places), height: HEAD, "aria-hidden": "true", ...textStyle() }, ...numbers, ...letters));
}

/** What every kind says there, as small rectangles. @param {Hit} hit @param {Places} places @param {Corpus} corpus @param {string[]} named */
function drawStrip(hit, places, corpus, named) {
  const cells = hit.strip.map(([group, share, colour], k) => {
    const told = `${visible(places[k].kind)}: ${groupName(group)} ${percent(share)}`;
    return shape("g", {}, shape("title", {}, told), shape("rect", { class: "mark", x: places[k].x, y: 1, width: places[k].wide - 1.5, height: HIGH - 2, rx: 2,
      fill: colour, "--group": corpus.groups[group] ?? NONE, "--share": share, stroke: "#000",
      "stroke-opacity": named.includes(places[k].kind) ? 0.6 : 0.1 }));
  });
  return toDom(shape("svg", { class: "states", width: stripWidth(places), height: HIGH, role: "img",
    "aria-label": "what every kind says there" }, ...cells));
}

/** What a kind says, with its colour: the group that it expects where the question is about that, else its likeliest label. @param {Said} said @param {Corpus} corpus @param {boolean} asGroup */
function drawSaid(said, corpus, asGroup) {
  const rect = toDom(shape("svg", { width: 9, height: 13, "aria-hidden": "true" }, shape("rect", { class: "mark", x: 0.5, y: 0.5, width: 8, height: 12, rx: 2,
    fill: said.colour, "--group": corpus.groups[said.group] ?? NONE, "--share": said.share, stroke: "#000", "stroke-opacity": 0.15 })));
  const told = `${visible(said.kind)}: ${groupName(said.group)} ${percent(said.share)}; ${visible(said.label)} ${percent(said.probability)}`;
  return html("td", { class: "says", title: told }, html("span", {}, rect, bdi(asGroup ? groupName(said.group) : visible(said.label)),
    html("span", { class: "soft" }, percent(asGroup ? said.share : said.probability))));
}

/** @param {Hit} hit @param {Places} places @param {Corpus} corpus @param {Pick<Found, "kinds" | "groups">} found @param {(hit: Hit) => void} onOpen */
function drawHit(hit, places, corpus, { kinds: named, groups }, onOpen) {
  const { words, position } = hit;
  const left = words.slice(Math.max(0, position - AROUND), position).map(visible).join(" ");
  const [next = "", ...later] = words.slice(position + 1, position + 1 + AROUND).map(visible);
  const open = (/** @type {MouseEvent} */ event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return; // as links are opened elsewhere
    event.preventDefault();
    onOpen(hit);
  };
  const about = `${hit.split} ${thousands(hit.sentence)}, word ${position + 1}${hit.tag ? `, ${hit.tag}` : ""}`;
  const link = html("a", { href: hit.link, title: `${about}: open the grid here` }, bdi(visible(words[position])));
  const came = hit.surprisal === null ? "" : hit.surprisal.toFixed(1);
  return html("tr", { click: open },
    html("td", { class: "left" }, html("span", {}, bdi(left))), html("td", { class: "word" }, link),
    html("td", { class: "right" }, html("span", {}, html("b", {}, bdi(next)), " ", bdi(later.join(" ")))),
    html("td", { class: "bits", title: hit.next === null ? "nothing came after it" : `\u201c${visible(hit.next)}\u201d came: ${came} bits of surprisal` }, came),
    ...hit.says.slice(0, SHOWN).map((said) => drawSaid(said, corpus, groups.includes(said.kind))),
    html("td", { class: "cells" }, drawStrip(hit, places, corpus, named)));
}

/**
 * The table of answers.
 * @param {Found} found @param {Corpus} corpus @param {Column[]} columns of the run's grids @param {(hit: Hit) => void} onOpen
 */
export function drawHits(found, corpus, columns, onOpen) {
  const places = stripPlaces(corpus.kinds, columns), named = found.kinds;
  const body = html("tbody", {});
  const says = named.slice(0, SHOWN).map((kind) => html("th", { scope: "col", class: "says" }, html("i", {}, visible(kind)), found.groups.includes(kind) ? " expects" : " says"));
  const head = html("tr", {}, html("th", { scope: "col", class: "left" }), html("th", { scope: "col", class: "word" }, "word read"),
    html("th", { scope: "col", class: "right" }, "what came"), html("th", { scope: "col", class: "bits", ...meaning("surprisal") }, "bits"),
    ...says, html("th", { scope: "col", class: "cells" }, stripHead(places, named)));
  const table = html("table", { class: "hits" }, html("thead", {}, head), body);
  const add = (/** @type {Hit[]} */ hits) => body.append(...hits.map((hit) => drawHit(hit, places, corpus, found, onOpen)));
  add(found.hits);
  table.style.setProperty("--cells", `${stripWidth(places) + 4}px`);
  return { table, add };
}

/**
 * Counts as bars: how many, and of how many that is the share; where all words are counted, of them.
 * @param {Found} found @param {(question: string) => void} onAsk
 */
export function drawCounts(found, onAsk) {
  const { names, lines } = found.counts ?? { names: [], lines: [] };
  const all = lines.every(({ count, words }) => count === words);
  const shareOf = (/** @type {CountLine} */ { count, share }) => (all ? count / Math.max(1, found.total) : share);
  const most = Math.max(1e-9, ...lines.map(shareOf));
  const body = html("tbody", {});
  const head = html("tr", {}, ...names.map((name) => html("th", { scope: "col" }, visible(name))),
    html("th", { scope: "col", class: "number" }, "words"), html("th", { scope: "col", class: "number" }, all ? "" : "of"),
    html("th", { scope: "col", colspan: 2 }, "share"));
  const line = (/** @type {CountLine} */ counted) => {
    const { keys, count, words, low, high, question } = counted, share = shareOf(counted);
    const bar = toDom(shape("svg", { width: 220, height: 14, "aria-hidden": "true" },
      shape("rect", { class: "score", y: 2, width: round(Math.max(1, (share / most) * 220)), height: 10, rx: 2, fill: "#7d8ba1" })));
    const first = keys.map((key, k) => html("th", { scope: "row" }, k === 0 && question
      ? html("button", { type: "button", class: "plain key", title: question, click: () => onAsk(question) }, bdi(key === null ? "none" : visible(key)))
      : bdi(key === null ? "none" : visible(key))));
    return html("tr", question ? { class: "leads", click: () => onAsk(question) } : {}, ...first,
      html("td", { class: "number" }, thousands(count)), html("td", { class: "number soft" }, all ? "" : thousands(words)), html("td", {}, bar), html("td", all ? { class: "number" } : { class: "number", title: low === null ? TOO_FEW : SURE }, percent(share),
        ...(all || low === null ? [] : [html("span", { class: "soft" }, between(low, high))])));
  };
  const add = (/** @type {CountLine[]} */ more) => body.append(...more.map(line));
  add(lines);
  return { table: html("table", { class: "counts" }, html("thead", {}, head), body), add };
}
