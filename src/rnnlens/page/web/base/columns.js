// Which columns of a grid are shown, by their names: one by one, by layers, or a kind of every layer. draw/columns.py understands
// the same names.

import { lastLayer } from "./format.js";
import { COUNTS, TEXTS } from "./rules.js";

/** @typedef {Pick<Held, "columns">} OfColumns */

const DEFAULT = "default";

/** @type {WeakMap<Column[], Map<string, Column[]>>} */
const known = new WeakMap();

/**
 * Every name with the columns that it stands for: `default`, `all`, `outputs`, `layer2` for all of a layer, `h` for the h of every
 * layer, and the id of each, also where it is layer2.
 * @param {Column[]} columns
 */
export function columnNames(columns) {
  const ids = () => columns.map((column) => /** @type {[string, Column[]]} */ ([column.id, [column]]));
  const names = known.get(columns) ?? new Map([...acrossLayers(columns), ...layers(columns), ...ids(), ...words(columns)]);
  known.set(columns, names);
  return names;
}

/** What is called by one word. @param {Column[]} columns @returns {[string, Column[]][]} */
function words(columns) {
  return [[DEFAULT, columns.filter((column) => column.shown)], ["all", columns], ["outputs", outputs(columns)]];
}

/** Every layer; input and prediction are none. @param {Column[]} columns */
function layers(columns) {
  return collected(columns, ({ layer }) => `layer${layer}`);
}

/** The columns of a layer; input and prediction are none. @param {Column[]} columns @param {number} layer */
export function ofLayer(columns, layer) {
  return layer > 0 && layer < lastLayer(columns) ? columns.filter((column) => column.layer === layer) : [];
}

/** What names all of a layer: one by one where a kind is called as it is. @param {Column[]} columns @param {number} layer */
function layerNames(columns, layer) {
  const name = `layer${layer}`, own = ofLayer(columns, layer);
  return columns.some(({ id }) => id === name) ? own.map(({ id }) => id) : own.length ? [name] : [];
}

/**
 * Every kind of the layers: `h` for h1, h2; `c@-1` for what c was a timestep before; where it has no letter, `blocks.*.norm` for
 * `blocks.3.norm`.
 * @param {Column[]} columns
 */
export function acrossLayers(columns) {
  return collected(columns, ({ letter, kind, back }) => (letter || kind.replace(/[0-9]+/g, "*")) + (back ? `@-${back}` : ""));
}

/** The columns of layers by a name that several have. @param {Column[]} columns @param {(column: Column) => string} name */
function collected(columns, name) {
  const last = lastLayer(columns);
  /** @type {Map<string, Column[]>} */ const found = new Map();
  for (const column of columns) {
    if (column.layer > 0 && column.layer < last) found.set(name(column), [...found.get(name(column)) ?? [], column]);
  }
  return found;
}

/**
 * The input, the prediction, and of every layer what it gives to those above: of the kinds that a later layer is computed from the
 * last, of the others the last of all; in both directions unless these are joined.
 * @param {Column[]} columns
 */
function outputs(columns) {
  const layerOf = new Map(columns.map(({ kind, layer }) => [kind, layer]));
  const given = new Set(columns.flatMap(({ layer, sources }) => sources.flatMap(([source]) => ((layerOf.get(source) ?? layer) < layer ? [source] : []))));
  /** @type {Map<string, Column>} */ const found = new Map();
  for (const column of columns) {
    const place = `${column.layer} ${column.reverse}`, before = found.get(place);
    if (given.has(column.kind) || !before || !given.has(before.kind)) found.set(place, column);
  }
  const joined = new Set(columns.flatMap(({ letter, layer }) => (letter === TEXTS.joined ? [layer] : []))), taken = new Set(found.values());
  return columns.filter((column) => taken.has(column) && !(column.reverse && joined.has(column.layer)));
}

/** Names in a list, as a link has them. @param {View["kinds"]} kinds */
export function kindNames(kinds) {
  return kinds === null ? [DEFAULT] : typeof kinds === "string" ? [kinds] : kinds;
}

/** The columns that a view shows, in the grid's order. @param {OfColumns} grid @param {View["kinds"]} kinds */
export function shownColumns({ columns }, kinds) {
  const names = columnNames(columns), shown = new Set(kindNames(kinds).flatMap((name) => names.get(name) ?? []));
  return columns.filter((column) => shown.has(column));
}

/** Whether a grid has so many columns that one a layer is shown at first, and layers are opened. @param {OfColumns} grid */
export function hasMany({ columns }) {
  return columns.length > COUNTS.columns_at_first;
}

/** What a view shows of one layer alone: the columns of it that are shown by default. @param {OfColumns} grid @param {number} layer */
export function layerAlone({ columns }, layer) {
  const own = columns.filter((column) => column.layer === layer), shown = own.filter((column) => column.shown);
  return (shown.length ? shown : own).map((column) => column.id);
}

/** Whether all kinds of a layer are shown. @param {OfColumns} grid @param {View["kinds"]} kinds @param {number} layer */
export function isOpen(grid, kinds, layer) {
  const shown = new Set(shownColumns(grid, kinds));
  return ofLayer(grid.columns, layer).every((column) => shown.has(column));
}

/**
 * What is shown once a layer was opened into its kinds, or closed again: then what is shown of every layer stays of it.
 * @param {OfColumns} grid @param {View["kinds"]} kinds @param {number} layer @returns {View["kinds"]}
 */
export function turned(grid, kinds, layer) {
  const all = columnNames(grid.columns), own = new Set(ofLayer(grid.columns, layer));
  if (!isOpen(grid, kinds, layer)) return [...kindNames(kinds), ...layerNames(grid.columns, layer)];
  const every = [...new Set(grid.columns.map((column) => column.layer))];
  const names = kinds === "all" ? [DEFAULT, ...every.flatMap((one) => layerNames(grid.columns, one))] : kindNames(kinds);
  // Names of some of its kinds alone go with it.
  const kept = names.filter((one) => !(all.get(one) ?? []).every((column) => own.has(column)));
  const rest = kept.some((one) => (all.get(one) ?? []).some((column) => own.has(column))) ? kept : [DEFAULT, ...kept.filter((one) => one !== DEFAULT)];
  return rest.join() === DEFAULT ? null : rest.join() === "outputs" ? "outputs" : [...new Set(rest)];
}

/**
 * The columns whose states a view needs: those that it shows, the prediction, and those of pins, by their names where no grid has
 * told its columns yet; null: all.
 * @param {Held | null} grid that is drawn @param {Pick<View, "kinds" | "pins">} view
 */
export function neededColumns(grid, { kinds, pins }) {
  if (grid?.answer) return null;
  const shown = grid ? shownColumns(grid, kinds).map((column) => column.id) : kindNames(kinds);
  const needed = new Set([...shown, TEXTS.prediction, ...pins.map((pin) => pin.column)]);
  if (!grid) return needed.has("all") ? null : [...needed];
  const there = grid.columns.filter((column) => needed.has(column.id)).length;
  return there < grid.columns.length ? [...needed] : null;
}
