// The largest turns, in a list.

import { visible } from "../base/format.js";
import { bdi, html } from "../base/markup.js";
import { meaning } from "../base/metrics.js";
import { edgeName, ranked, sourceName } from "../grid/over.js";

const LISTED = 8;

/**
 * @param {Held} grid @param {(row: number) => TurnRow | null} turnsOf @param {Set<string>} shown ids of columns
 * @param {(place: Place) => void} onChoose
 * @returns {Node[]}
 */
export function drawTurnList(grid, turnsOf, shown, onChoose) {
  const all = ranked(grid, turnsOf, shown), known = grid.words.filter((_, row) => turnsOf(row)).length;
  const whole = !known || known === grid.words.length ? "" : ` of ${known} words`;
  const items = all.slice(0, LISTED).map(({ source, target, row, bits }) => {
    const edge = html("span", { class: "edge", title: `${sourceName(source)} \u2192 ${visible(target)}` }, edgeName(grid, source, target));
    const go = html("button", { type: "button", class: "action", click: () => onChoose({ column: target, row }) },
      html("b", {}, bits.toFixed(2)), edge, html("span", { class: "soft" }, bdi(visible(grid.words[row].text))));
    return html("li", {}, go);
  });
  const none = known ? "none of the parts that are shown feeds another" : "being computed \u2026";
  return [html("h3", {}, `Largest turns${whole}`, html("small", meaning("turn"), "bits; t: the next")),
    items.length ? html("ol", {}, ...items) : html("p", { class: "soft" }, none)];
}
