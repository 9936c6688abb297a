// Pinned states side by side: labels down, states across, bars on one scale, what differs most first.

import { apart, inWords, labelWords, nameOf, percent, semanticName, visible } from "../base/format.js";
import { bdi, html, shape, toDom } from "../base/markup.js";
import { METRICS } from "../base/metrics.js";
import { colourOf, drawBar, LABEL } from "../grid/bars.js";
import { textStyle } from "../grid/draw.js";
import { remover, symbol } from "./detail.js";
import { ELSEWHERE } from "./pins.js";

/** @typedef {{pin: Pin, kept: Kept | null}} Compared */

const ROWS = 10; // labels at most, so that the grid keeps its place
const NAMES = 128; // the width of the first column
const VALUE = 42; // the width of a value

/**
 * How probable a state finds a label: of one that is not listed, only that it is less than the last.
 * @param {Kept} kept @param {string} name @returns {{p: number, listed: boolean}}
 */
export function probabilityOf({ state }, name) {
  const found = state.top.find(([label]) => label === name);
  const [, last] = state.top[state.top.length - 1] ?? ["", 0];
  return found ? { p: found[1], listed: true } : { p: last, listed: false };
}

/**
 * The labels that states name, those first whose probabilities differ most.
 * @param {Kept[]} kept @param {number} most
 */
export function differing(kept, most) {
  const names = new Set(kept.flatMap(({ state }) => state.top.map(([name]) => name)));
  const ranges = [...names].map((name) => {
    // What is not listed is taken for the nearest it can be: a difference is never made up.
    const listed = kept.map((one) => probabilityOf(one, name));
    const high = Math.max(...listed.filter((one) => one.listed).map(({ p }) => p));
    return { name, range: high - Math.min(...listed.map(({ p }) => p)) };
  });
  return ranges.sort((a, b) => b.range - a.range).slice(0, most).map(({ name }) => name);
}

/** A label as cells have it: a sign by its name, with the label itself on pointing at it. @param {string} name @param {Pick<Held, "placeholders">} grid */
export function labelled(name, grid) {
  const called = nameOf(name, grid);
  return html("bdi", { "data-label": name, title: labelWords(name, grid), ...(called ? { class: "named" } : {}) }, called ?? visible(name));
}

/** @param {Compared} compared @param {string} name @param {number} width */
function cell({ kept }, name, width) {
  if (!kept) return html("td", {}, "…");
  if (kept.state.unread) return html("td", { title: "nothing was read into this state yet" }, "—");
  const { p, listed } = probabilityOf(kept, name), track = width - VALUE;
  const said = listed ? percent(p) : `<${percent(p).replace("<", "")}`;
  const value = shape("text", { x: width, y: 11, class: "soft", "text-anchor": "end", "font-size": LABEL + 0.5 }, said);
  const bar = drawBar(0, 5, track, 5, listed ? p : 0, colourOf(kept, name));
  return html("td", { "aria-label": said },
    toDom(shape("svg", { width, height: 15, "aria-hidden": "true", ...textStyle() }, ...(listed ? bar : bar.slice(0, 1)), value)));
}

/** @param {Held} grid @param {Compared} compared @param {number} width @param {How} how */
function head(grid, { pin, kept }, width, how) {
  const column = kept?.column ?? grid.columns.find((one) => one.id === pin.column);
  if (!column) return html("th", { class: "held" }, `this run has no part \u201c${visible(pin.column)}\u201d`);
  const from = kept ? [
    pin.run === grid.run ? "" : `${ELSEWHERE}${visible(kept.title)}`,
    pin.semantic === grid.semantic ? "" : semanticName(pin.semantic ?? "", kept.follows),
    pin.text === grid.text ? "" : visible(pin.text ?? ""),
  ].filter(Boolean) : [];
  const made = html("th", { class: "held", scope: "col" },
    html("div", { class: "name" }, symbol(column, kept?.last ?? 0, width / 2, how.measure),
      html("span", { class: "after" }, "after ", html("b", {}, bdi(kept ? kept.after : "…"))), remover(column, pin, how)));
  if (from.length) made.append(html("p", { class: "origin", title: from.join("\n") }, ...from.flatMap((one, k) => [k ? " · " : "", bdi(one)])));
  return made;
}

/**
 * A line that says how far each state is from one of them.
 * @param {string} from @param {(Divergence | null | undefined)[]} told undefined: it is that state, or has other labels
 */
function distances(from, told) {
  const title = METRICS.divergence;
  const cells = told.map((one) => html("td", one === undefined ? {} : { class: "distance", title },
    ...(one ? [html("b", {}, apart(one)), one.exact ? ` ${inWords(one.bits)}` : ""] : [one === null ? "…" : "—"])));
  return html("tr", {}, html("th", { scope: "row" }, from), ...cells);
}

/**
 * @typedef {{room: number, measure: Measure, onRemove: (pin: Pin) => void, onClear: () => void}} How
 * @param {Held} grid
 * @param {Compared[]} compared two or more
 * @param {(a: Pin, b: Pin) => Divergence | null | undefined} between undefined: the same, or not comparable
 * @param {Pin | null} focus the selected state
 * @param {How} how
 * @returns {Node[]}
 */
export function drawComparison(grid, compared, between, focus, how) {
  const each = Math.floor((how.room - NAMES - 60) / compared.length);
  const width = Math.max(76, Math.min(190, each)) - 16;
  const kept = compared.flatMap(({ kept: one }) => (one && !one.state.unread ? [one] : []));
  const names = differing(kept, ROWS);
  const rows = names.map((name) => html("tr", {},
    html("th", { scope: "row" }, labelled(name, grid)),
    ...compared.map((one) => cell(one, name, width))));
  const first = compared[0].pin;
  const foot = [distances("from the first", compared.map(({ pin }) => between(first, pin)))];
  if (focus) foot.push(distances("from the selected state", compared.map(({ pin }) => between(pin, focus))));
  const clear = html("button", { type: "button", class: "plain", click: how.onClear }, "clear");
  const corner = html("th", { class: "corner" }, `${compared.length} pinned states `, clear,
    html("p", {}, "what differs most"));
  return [html("table", { "aria-label": "pinned states compared" },
    html("thead", {}, html("tr", {}, corner, ...compared.map((one) => head(grid, one, width, how)))),
    html("tbody", {}, ...rows), html("tfoot", {}, ...foot))];
}
