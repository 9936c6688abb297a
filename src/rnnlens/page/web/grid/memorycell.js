// The cell of a memory that is a matrix, where it shows no probe: a number on a bar, or the labels that it answers with.

import { labelWords, percent } from "../base/format.js";
import { brief, NUMBERS, numberOf, short } from "../base/memories.js";
import { shape } from "../base/markup.js";
import { colourOf, drawBars, INK, label, round, SOFT } from "./bars.js";
import { AFTER, BEFORE } from "./layout.js";

/** @typedef {import("../base/memories.js").MemoryTold} MemoryTold */
/**
 * What cells of memories show: a number, or where there is none what they answer to the word; `full` is what the longest bar of a
 * column stands for.
 * @typedef {{which: View["memories"], full: (column: string) => number, of: (column: string) => MemoryTold | null}} Cells
 */

/** The largest of a column's numbers that has an end, which fills the bar; 1 where there is none. @param {(MemoryTold | null)[]} column @param {View["memories"]} which */
export function fullOf(column, which) {
  const numbers = column.flatMap((told) => (told && which ? numberOf(told, which) ?? [] : [])).filter(Number.isFinite);
  return Math.max(0, ...numbers) || 1;
}

/** What a cell shows, in words. @param {Pick<Held, "placeholders">} grid @param {Slot} slot @param {Cells | null} cells */
export function memoryWords(grid, slot, cells) {
  const told = cells?.of(slot.column.id);
  if (!told) return "";
  const value = cells?.which ? numberOf(told, cells.which) : null;
  if (cells?.which) return value === null ? "" : `${NUMBERS[cells.which]} ${short(value)}`;
  return told.asked ? `${slot.told}: ${told.asked.labels.map(([name, p]) => `${labelWords(name, grid)} ${percent(p)}`).join(", ")}` : "";
}

/**
 * The cell of a memory; without anything in it while that is on its way.
 * @param {Held} grid @param {Slot} slot @param {Layout} layout @param {Record<string, string | number>} more @param {Cells | null} cells @param {Shape[]} upon its rectangle
 */
export function drawMemory(grid, slot, layout, more, cells, upon) {
  const compact = layout.density === "compact", told = cells?.of(slot.column.id) ?? null;
  const x = round(layout.mark + BEFORE * layout.scale), width = round(slot.width - x - AFTER * layout.scale);
  const value = told && cells?.which ? numberOf(told, cells.which) : null, share = value === null ? 0 : Math.min(1, value / (cells?.full(slot.column.id) ?? 1));
  const [first, p] = told?.asked && !cells?.which ? told.asked.labels[0] : [null, 0];
  const fill = first === null ? { fill: SOFT, "--dusk": "#a8a8b0", "fill-opacity": round(share) } : { fill: colourOf(grid, first), "--dusk": colourOf(grid, first), "fill-opacity": round(p) };
  const mark = shape("rect", { class: "mark", width: layout.mark, height: layout.state, rx: compact ? 2 : 3, stroke: "#000", "stroke-opacity": 0.1, ...fill });
  const look = { width, size: layout.label, pitch: layout.pitch, values: layout.values, short: true, measure: layout.measure };
  const inside = value !== null ? drawNumber(brief(value), share, look, layout.state) : first === null || !told?.asked ? [] : drawBars(grid, { top: told.asked.labels }, layout.bars, look);
  return shape("g", { class: "state", transform: `translate(${slot.x} 0)`, ...more, "data-told": slot.told }, mark, ...upon,
    ...(compact ? [] : [shape("svg", { x, width, height: layout.state, "aria-hidden": "true" }, ...inside)]));
}

/** A number with its bar below it. @param {string} said @param {number} share @param {import("./bars.js").BarLook} look @param {number} height @returns {Shape[]} */
function drawNumber(said, share, { width, size }, height) {
  const thick = Math.min(5, height / 5), top = round(height / 2 + 3), place = { y: top, height: round(thick), rx: 1 };
  return [label(1, round(height / 2 - 2), said, { class: "number", "font-size": size }),
    shape("rect", { class: "track", ...place, width, fill: INK, "fill-opacity": 0.07 }),
    shape("rect", { class: "bits", ...place, width: round(share * width), fill: SOFT })];
}
