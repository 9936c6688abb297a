// A guest on a notebook's page: keys and turns of the wheel that the notebook is not to take for its own.

/**
 * @typedef {{key: string, ctrlKey: boolean, metaKey: boolean, altKey: boolean, defaultPrevented: boolean,
 *   getModifierState: (name: string) => boolean}} Key
 * @typedef {{at: number, seen: number, whole: number}} Extent of what scrolls along one axis
 */

const EDITS = new Set("a c v x y z arrowleft arrowright arrowup arrowdown home end backspace delete".split(" "));

/**
 * Whether a key is the widget's: what it used, what types or moves, and in a field what edits. Other commands are the
 * notebook's.
 * @param {Key} event @param {boolean} typing whether it was pressed in a field
 */
export function ownKey(event, typing) {
  const command = event.ctrlKey || event.metaKey;
  if (command && event.key === "Enter") return false; // runs the cell, or adds one
  if (event.defaultPrevented || event.getModifierState("AltGraph")) return true;
  if (/^F\d+$/.test(event.key) || event.altKey) return false;
  return !command || (typing && EDITS.has(event.key.toLowerCase()));
}

/** Whether there is anything left to scroll to. @param {Extent} extent @param {number} delta */
export function canScroll({ at, seen, whole }, delta) {
  if (!delta) return false;
  return delta < 0 ? at > 0 : whole - seen - at > 1; // sizes are rounded
}

/** @param {Element} place @param {WheelEvent} event */
function scrolls(place, event) {
  const { overflowX, overflowY } = getComputedStyle(place);
  const moves = (/** @type {string} */ overflow) => overflow === "auto" || overflow === "scroll";
  const { scrollTop, clientHeight, scrollHeight, scrollLeft, clientWidth, scrollWidth } = place;
  return (moves(overflowY) && canScroll({ at: scrollTop, seen: clientHeight, whole: scrollHeight }, event.deltaY))
    || (moves(overflowX) && canScroll({ at: scrollLeft, seen: clientWidth, whole: scrollWidth }, event.deltaX));
}

/**
 * Keep from the notebook what is done in the widget. VS Code listens on the page, where it cannot see into the widget:
 * it would delete the cell when a letter is deleted in the field, and scroll along with the grid.
 * @param {HTMLElement} host with the widget in its shadow @param {AbortSignal} signal no longer
 */
export function keepToItself(host, signal) {
  const inside = (/** @type {Event} */ event) => {
    const path = event.composedPath();
    return path.slice(0, path.indexOf(host)).filter((one) => one instanceof Element);
  };
  host.addEventListener("keydown", (event) => {
    if (ownKey(event, !!inside(event)[0]?.matches(":read-write"))) event.stopPropagation();
  }, { signal });
  host.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && inside(event).some((one) => scrolls(one, event))) event.stopPropagation();
  }, { signal, passive: true });
  // JupyterLab takes keys before they arrive here, unless it is told not to; saving stays its own.
  window.addEventListener("keydown", (event) => {
    const saves = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s";
    host.toggleAttribute("data-lm-suppress-shortcuts", !saves);
  }, { capture: true, signal });
}
