// Where a key leads in a grid of slots and rows.

/**
 * @typedef {{slot: number, row: number}} Spot
 * @param {string} key
 * @param {boolean} far with Ctrl: the first or last row
 * @param {Spot | null} from
 * @param {number} slots
 * @param {number} rows
 * @param {number} page rows in a window
 * @returns {Spot | null} null: not a key that moves
 */
export function moved(key, far, from, slots, rows, page) {
  const steps = new Map([
    ["ArrowLeft", [-1, 0]], ["ArrowRight", [1, 0]], ["ArrowUp", [0, -1]], ["ArrowDown", [0, 1]],
    ["PageUp", [0, -page]], ["PageDown", [0, page]],
    ["Home", [-slots, far ? -rows : 0]], ["End", [slots, far ? rows : 0]],
  ]);
  const step = steps.get(key);
  if (!step) return null;
  if (!from) return { slot: key === "End" ? slots - 1 : 0, row: far && key === "End" ? rows - 1 : 0 };
  return { slot: limited(from.slot + step[0], slots), row: limited(from.row + step[1], rows) };
}

/** @param {number} value @param {number} count */
function limited(value, count) {
  return Math.max(0, Math.min(count - 1, value));
}
