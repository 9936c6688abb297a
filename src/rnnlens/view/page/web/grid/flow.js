// What feeds a state and what it feeds, through columns that are not shown.

/** @typedef {import("../base/held.js").Place} Place */

/**
 * How far up an id points: "c1@-1" is c1 one row up, "c1<@+1" is c1< one row down.
 * @param {string} id
 * @returns {[string, number]}
 */
export function parted(id) {
  const found = /^(.*)@([+-]\d+)$/.exec(id);
  return found ? [found[1], -Number(found[2])] : [id, 0];
}

/**
 * For each column the columns beside it, and how many rows up they are.
 * @typedef {Map<string, [string, number][]>} Beside
 * @param {{columns: {id: string}[], edges: [string, string][]}} grid
 * @returns {{sources: Beside, targets: Beside}}
 */
export function neighbours(grid) {
  const ids = new Set(grid.columns.map((column) => column.id));
  /** @type {Beside} */ const sources = new Map([...ids].map((id) => [id, []]));
  /** @type {Beside} */ const targets = new Map([...ids].map((id) => [id, []]));
  /** @param {string} source @param {string} target @param {number} up */
  const join = (source, target, up) => {
    sources.get(target)?.push([source, up]);
    targets.get(source)?.push([target, up]);
  };
  for (const [source, target] of grid.edges) {
    const [id, up] = ids.has(source) ? [source, 0] : parted(source);
    if (ids.has(id)) join(id, target, up);
  }
  const drawn = new Set(grid.edges.map((edge) => edge.join("\n")));
  for (const id of ids) {
    const [kind, up] = parted(id);
    // A column of the step before is the very state one row up.
    if (up && ids.has(kind) && !drawn.has(`${kind}\n${id}`)) join(kind, id, up);
  }
  return { sources, targets };
}

/**
 * The nearest shown states along the edges, in one direction.
 * @param {Beside} beside
 * @param {number} sign -1: towards earlier rows, 1: towards later ones
 * @param {Set<string>} shown
 * @param {number} rows
 * @param {Place} from
 * @returns {Place[]}
 */
function walk(beside, sign, shown, rows, from) {
  /** @type {Place[]} */ const found = [];
  const seen = new Set([`${from.column} ${from.row}`]);
  const open = [from];
  for (let at = open.pop(); at; at = open.pop()) {
    for (const [column, up] of beside.get(at.column) ?? []) {
      const next = { column, row: at.row + sign * up };
      const key = `${next.column} ${next.row}`;
      if (next.row < 0 || next.row >= rows || seen.has(key)) continue;
      seen.add(key);
      (shown.has(column) ? found : open).push(next);
    }
  }
  return found;
}

/**
 * The shown states that feed a state and that it feeds.
 * @param {{sources: Beside, targets: Beside}} joined what neighbours() gave
 * @param {Set<string>} shown ids of the columns that are drawn
 * @param {number} rows
 * @param {Place} place
 * @returns {{feeds: Place[], fed: Place[]}}
 */
export function flow(joined, shown, rows, place) {
  return {
    feeds: walk(joined.sources, -1, shown, rows, place),
    fed: walk(joined.targets, 1, shown, rows, place),
  };
}
