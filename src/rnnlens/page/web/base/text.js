// How wide text is, and what of it is kept where it is wider than its place.

/** @typedef {(text: string, size: number, weight?: number) => number} Measure */

export const FONT = '-apple-system, BlinkMacSystemFont, "Segoe UI", Inter, Roboto, "Helvetica Neue", Arial, '
  + '"Liberation Sans", sans-serif';
export const SERIF = '"Iowan Old Style", "Palatino Linotype", Palatino, "Liberation Serif", Georgia, serif';

/** How wide text is, where nothing can measure it. @param {string} text @param {number} size */
export function estimate(text, size) {
  return [...text].length * size * 0.55;
}

/** How wide text is in a browser. @returns {Measure} */
export function measurer() {
  const context = document.createElement("canvas").getContext("2d");
  /** @type {Map<string, number>} */ const known = new Map();
  return (text, size, weight = 400) => {
    if (!context) return estimate(text, size);
    const key = `${weight} ${size} ${text}`;
    let width = known.get(key);
    if (width === undefined) {
      context.font = `${weight} ${size}px ${FONT}`;
      width = context.measureText(text).width;
      if (known.size > 20_000) known.clear();
      known.set(key, width);
    }
    return width;
  };
}

/**
 * Text cut to a width, with an ellipsis where it was cut.
 * @param {string} text @param {number} width @param {number} size @param {Measure} measure
 * @param {number} weight
 */
export function fitted(text, width, size, measure, weight = 400) {
  if (measure(text, size, weight) <= width) return text;
  const characters = [...text];
  let low = 0, high = characters.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    const fits = measure(`${characters.slice(0, middle).join("")}…`, size, weight) <= width;
    if (fits) low = middle;
    else high = middle - 1;
  }
  return `${characters.slice(0, low).join("")}…`;
}

/**
 * As much of the end of a dotted name as fits, behind an ellipsis: `…layers.0`. Names of submodules begin alike and
 * end differently. Their parts stay whole where one fits.
 * @param {string} name @param {number} width @param {number} size @param {Measure} measure
 */
export function tail(name, width, size, measure) {
  if (measure(name, size) <= width) return name;
  const parts = name.split("."), last = [...parts[parts.length - 1]];
  const ends = [...parts.keys()].slice(1).map((k) => parts.slice(k).join("."))
    .concat([...last.keys()].slice(1).map((k) => last.slice(k).join("")));
  const kept = ends.find((end) => measure(`…${end}`, size) <= width) ?? "";
  return `…${kept}`;
}
