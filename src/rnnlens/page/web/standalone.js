// A grid in a file of its own: the same view, without a server.

import { leftOut, readHelp, semanticName, visible } from "./base/format.js";
import { hold } from "./base/held.js";
import { html } from "./base/markup.js";
import { Controls, legend } from "./frame/controls.js";
import { FigureMode } from "./frame/figure.js";
import { Lens } from "./frame/lens.js";
import { action, menu } from "./frame/menus.js";
import { skeleton } from "./frame/places.js";
import { plainView } from "./net/address.js";
import { saveSvg } from "./net/save.js";
import { lowerBound } from "./base/divergence.js";
import { keep, pinKey, placeOf } from "./panel/pins.js";

/** @typedef {import("./base/held.js").Held} Held */
/** @typedef {import("./base/schema.d.ts").Pin} Pin */
/** @typedef {import("./base/schema.d.ts").View} View */
/** @typedef {import("./base/schema.d.ts").SavedPage} SavedPage */

/**
 * How far apart two states are, exactly where that is in the file, else at least.
 * @param {Held} grid @param {SavedPage["bits"]} bits @param {Pin} a @param {Pin} b
 */
function between(grid, bits, a, b) {
  const pair = [a, b].map((pin) => placeKey(pin.column, placeOf(pin, grid)?.row ?? pin.row)).sort().join();
  const known = bits.find(([column, row, other, below]) =>
    [placeKey(column, row), placeKey(other, below)].sort().join() === pair);
  if (known) return { bits: known[4], exact: true };
  const p = keep(a, grid)?.state.top, q = keep(b, grid)?.state.top;
  if (!p || !q) return null;
  return pinKey(a) === pinKey(b) ? { bits: 0, exact: true } : { bits: lowerBound(p, q), exact: false };
}

/** @param {string} column @param {number} row */
function placeKey(column, row) {
  return JSON.stringify([column, row]);
}

/** Show an embedded grid. @param {HTMLElement} root @param {SavedPage} embedded */
function showEmbedded(root, embedded) {
  const grid = hold(embedded.grid, null);
  const place = skeleton(root);
  /** @type {View} */ let view = { ...plainView(), ...embedded.view, page: "grid" };
  const lens = new Lens(place.stage, {
    onView: (change) => { view = { ...view, ...change }; },
    divergence: async (pairs) => pairs.map(([a, b]) => between(grid, embedded.bits, a, b)),
    lookUp: async () => null,
    strip: place.strip,
  }, root);
  const controls = new Controls(place.controls, (change) => {
    view = { ...view, ...change };
    show();
  }, { semantic: false });
  const show = () => {
    lens.show(grid, view);
    controls.show(grid, view);
    figure.show(grid, view);
  };
  const figure = new FigureMode(place.stage, lens.gridView, null);
  root.addEventListener("keydown", (event) => figure.escape(event), true);
  const drawing = action("SVG, a drawing", () => saveSvg(grid, view, lens.gridView.measure));
  place.controls.append(menu("save", "save", drawing), figure.button);
  place.title.append(`${visible(grid.title)} · ${semanticName(grid.semantic, grid.follows, grid.numbers)}`);
  place.text.replaceWith(html("p", { class: "sentence", dir: "auto" }, visible(grid.text)));
  place.legend.replaceChildren(...legend(grid));
  place.notes.cut.textContent = leftOut(grid, grid.text);
  place.notes.cut.hidden = !place.notes.cut.textContent;
  place.read.textContent = readHelp(grid);
  document.title = `rnnlens · ${visible(grid.text)}`;
  show();
}

function begin() {
  const held = document.getElementById("embedded")?.textContent;
  /** @type {SavedPage | null} */ const embedded = held ? JSON.parse(held) : null;
  if (embedded?.grid?.format === "rnnlens-grid") showEmbedded(document.body, embedded);
  else document.body.append(html("p", {}, "This page holds no grid; save it from rnnlens."));
}

begin();
