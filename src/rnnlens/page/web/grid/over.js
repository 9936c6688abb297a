// What is drawn over the states of a row when labels are followed or turns are shown.

import { columnName, lastLayer, visible } from "../base/format.js";
import { followed, followedChange, fullText, part } from "../base/follow.js";
import { shape } from "../base/markup.js";
import { METRICS } from "../base/metrics.js";
import { COLOURS } from "../base/rules.js";
import { INK, round, SOFT } from "./bars.js";
import { AFTER, BEFORE } from "./layout.js";

/**
 * What is known of a row: its followed numbers and its turns; null while they are on their way.
 * `after` are the numbers of the rows that its text goes on with, so many rows below: where two are compared, the next
 * row is of the other, and a row of both has one of each. `second`: that is of the second of two.
 * `unedited` are its numbers without the edits, where there are some; `cells` what those of memories show, where that is not what a probe says.
 * @typedef {{scale: Scale | null, here: number[] | null, after: {numbers: number[] | null, below: number,
 *   second: boolean}[], unedited?: number[] | null, turns: TurnRow | null, cells?: import("./memorycell.js").Cells | null}} Over
 */

const { for: FOR, against: AGAINST } = COLOURS; // of no group, and told apart by everybody
const LANE = 12; // pixels at least for the line of what is followed
const WIDEST = 16; // bits of surprisal that fill its column

/**
 * The number of a state and its piece of the line that runs down the rows, instead of bars: each in a lane of its own,
 * so that no line strikes through a number.
 * @param {Over} over @param {Slot} slot @param {Layout} layout
 * @returns {Shape[]}
 */
export function drawFollowed(over, slot, layout) {
  const { scale, here } = over;
  if (!scale || !here) return [];
  const { label: size, measure } = layout, middle = layout.state / 2;
  const x = round(layout.mark + (BEFORE + 1) * layout.scale), end = slot.width - AFTER * layout.scale;
  const widest = scale.odds ? `1:${fullText(scale).replace(/:1$/, ".")}` : "<0.1%";
  const left = Math.min(x + Math.max(measure("1:9.9", size), measure(widest, size)) + 4 * layout.scale, end - LANE), width = end - left;
  const zero = scale.odds ? left + width / 2 : left, room = scale.odds ? width / 2 : width;
  /** @param {number[] | null} row */
  const at = (row) => (row ? zero + room * part(row[slot.index], scale) : null);
  const value = here[slot.index], now = at(here) ?? zero;
  // Down to the next row's point, behind the rows between: these are drawn later.
  const lines = over.after.flatMap(({ numbers, below, second }) => {
    const next = numbers?.length ? at(numbers) : null, look = second ? { "stroke-dasharray": "3 2.5" } : {};
    return next === null ? [] : [shape("polyline", { class: "followed", fill: "none", stroke: FOR, "stroke-width": 1.4, ...look,
      points: `${round(now)},${round(middle)} ${round(next)},${round(middle + below * layout.row)}` })];
  });
  const was = over.unedited?.[slot.index], said = followed(value, scale.odds);
  const changed = was === undefined ? "" : followedChange(value, was, scale.odds), two = changed && layout.state > 2.2 * size;
  const base = middle + size * (two ? -0.18 : 0.36), side = value >= 0 ? "for" : "against", colour = value >= 0 ? FOR : AGAINST;
  return [
    shape("line", { class: "rule", x1: round(zero), x2: round(zero), y1: 0, y2: layout.row, stroke: "#d9d9d3" }),
    shape("line", { class: `followed ${side}`, x1: round(zero), x2: round(now), y1: round(middle), y2: round(middle),
      stroke: colour, "stroke-width": 3, "stroke-opacity": 0.35 }),
    ...lines,
    shape("circle", { class: `followed dot ${side}`, cx: round(now), cy: round(middle), r: 2.4, fill: colour }),
    ...(was === undefined || !changed ? [] : [shape("circle", { class: "followed was", cx: round(at(over.unedited ?? null) ?? zero), cy: round(middle), r: 2.2,
      fill: "none", stroke: INK, "stroke-width": 1.1 })]),
    shape("text", { class: "number", x, y: round(base), "font-size": size }, said),
    ...(two ? [shape("text", { class: "number change", x, y: round(base + size * 1.15), "font-size": size, "font-weight": 600 }, changed)] : []),
  ];
}

/** The rectangle's colour where there is room for nothing else. @param {Over} over @param {Slot} slot */
export function followedFill(over, slot) {
  if (!over.scale || !over.here) return { fill: "none", "--dusk": "none" };
  const value = over.here[slot.index], share = part(value, over.scale);
  const [fill, dusk] = share >= 0 ? [FOR, "#b79be8"] : [AGAINST, "#f1a340"];
  return { fill, "--dusk": dusk, "fill-opacity": round(Math.max(0.04, Math.abs(share))) };
}

/** The edges that end in a column, by their numbers. @param {Held} grid @param {string} column */
export function edgesInto(grid, column) {
  return grid.edges.flatMap(([, target], k) => (target === column ? [k] : []));
}

/** What an edge's source is called: K@-1 is K one row up. @param {string} source */
export function sourceName(source) {
  return visible(source.replace(/@-1$/, "\u208b\u2081").replace(/@\+1$/, "\u208a\u2081"));
}

/**
 * How far a state lies from the row above, along its rectangle's top, and from each state that feeds it, at the left.
 * @param {Held} grid @param {TurnRow} turns @param {Slot} slot @param {Layout} layout
 * @returns {Shape[]}
 */
export function drawTurns(grid, turns, slot, layout) {
  const compact = layout.density === "compact", width = layout.mark, height = layout.state;
  const edges = edgesInto(grid, slot.column.id).map((k) => ({ source: grid.edges[k][0], bits: turns.edges[k] }))
    .filter((edge) => edge.bits !== null);
  const above = turns.above[slot.index];
  /** @type {Shape[]} */ const parts = [];
  const said = edges.map(({ source, bits }) => `${(bits ?? 0).toFixed(2)} bits from ${sourceName(source)}`);
  if (above !== null) {
    said.push(`${above.toFixed(2)} bits from the row above`);
    parts.push(shape("rect", { class: "turn above", fill: COLOURS.ink, "fill-opacity": 0.72, width: round(above * width), height: compact ? 1.6 : 2.2 }));
  }
  if (compact && edges.length) {
    const most = Math.max(...edges.map(({ bits }) => bits ?? 0));
    parts.push(shape("rect", { class: "turn", fill: COLOURS.ink, "fill-opacity": 0.72, width: 1.8, y: round(height * (1 - most)), height: round(height * most) }));
  } else {
    const pitch = Math.min(5, (height - 4) / Math.max(1, edges.length));
    edges.forEach(({ bits }, k) => parts.push(shape("rect", { class: "turn", fill: COLOURS.ink, "fill-opacity": 0.72, y: round(height - 1 - (k + 1) * pitch),
      width: round(Math.max(0.6, (bits ?? 0) * width)), height: round(pitch - 1.2) })));
  }
  if (!parts.length) return [];
  return [shape("g", { class: "turns" }, shape("title", {}, [...said, METRICS.turn].join("\n")), ...parts)];
}

/**
 * Beside the prediction: how surprising the word was that came.
 * @param {Held} grid @param {number} row @param {Layout} layout
 * @returns {Shape[]}
 */
export function drawSurprisal(grid, row, layout) {
  const place = layout.surprisal, states = grid.rows[row];
  const wanted = place && states ? states[states.length - 1]?.wanted : null;
  if (!place || !wanted) return [];
  const bits = -Math.log2(Math.max(wanted[1], Number.MIN_VALUE)), middle = layout.state / 2;
  const said = `\u201c${visible(wanted[0])}\u201d came: ${bits.toFixed(1)} bits of surprisal.\n${METRICS.surprisal}`;
  const length = round(Math.min(1, bits / WIDEST) * place.width), thick = Math.min(4, layout.state - 2);
  const text = layout.state < layout.label + 1 ? [] : [shape("text", { y: round(middle + 1), "font-size": layout.label }, bits.toFixed(1))];
  return [shape("g", { class: "surprisal", transform: `translate(${place.x} 0)` }, shape("title", {}, said),
    shape("rect", { class: "track", fill: INK, "fill-opacity": 0.07, y: round(text.length ? middle + 4 : middle - thick / 2), width: place.width, height: thick, rx: 1 }),
    shape("rect", { class: "bits", fill: SOFT, y: round(text.length ? middle + 4 : middle - thick / 2), width: length, height: thick, rx: 1 }), ...text)];
}

/**
 * Turns between states that are shown, largest first.
 * @param {Held} grid @param {(row: number) => TurnRow | null} turnsOf @param {Set<string>} shown
 * @returns {{source: string, target: string, row: number, bits: number}[]}
 */
export function ranked(grid, turnsOf, shown) {
  /** @param {string} source */
  const drawn = (source) => shown.has(source) || shown.has(source.replace(/@[+-]1$/, ""));
  const kept = grid.edges.map(([source, target], k) => ({ source, target, k }))
    .filter(({ source, target }) => shown.has(target) && drawn(source));
  return grid.words.flatMap((_, row) => {
    const turns = turnsOf(row);
    return !turns ? [] : kept.flatMap(({ source, target, k }) => {
      const bits = turns.edges[k];
      return bits === null ? [] : [{ source, target, row, bits }];
    });
  }).sort((a, b) => b.bits - a.bits);
}

/** An edge in words, for a list. @param {Held} grid @param {string} source @param {string} target */
export function edgeName(grid, source, target) {
  const last = lastLayer(grid.columns);
  /** @param {string} id */
  const named = (id) => {
    const own = grid.columns.find((one) => one.id === id), beside = /@([+-])1$/.exec(id), column = own ?? grid.columns.find((one) => one.id === id.replace(/@[+-]1$/, ""));
    if (!column) return visible(id);
    return columnName(column, last).replace(/, layer (\d+)$/, " $1") + (own || !beside ? "" : beside[1] === "-" ? ", a word earlier" : ", a word later");
  };
  return `${named(source)} \u2192 ${named(target)}`;
}

/** The label that was clicked, if it was one. @param {Event} event @returns {string | null} */
export function labelAt(event) {
  const at = event.target instanceof Element ? event.target.closest("[data-label]") : null;
  return at?.getAttribute("data-label") ?? null;
}
