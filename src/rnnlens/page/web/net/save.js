// Saving what is drawn: SVG, PNG, or a page of its own.

import { thousands } from "../base/format.js";
import { release } from "../base/held.js";
import { readings } from "../base/lines.js";
import { toText } from "../base/markup.js";
import { drawSheet } from "../grid/picture.js";

/** @typedef {NonNullable<import("./source.js").Source["file"]>} Fetch */

const LARGEST = 16_000; // pixels a side that every browser can draw

/** A file name from the first words of a text. @param {string} text @param {string} ending */
export function fileName(text, ending) {
  const words = text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "");
  return `rnnlens-${[...words].slice(0, 40).join("").replace(/-+$/, "") || "grid"}.${ending}`;
}

/** @param {Blob} blob @param {string} name */
export function download(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.hidden = true;
  document.body.append(link); // VS Code saves what is clicked on its page, and nothing else
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/**
 * @param {Held} grid @param {View} view @param {Measure} measure
 * @param {(row: number) => Over | null} [over] what is drawn over a row
 */
export function saveSvg(grid, view, measure, over) {
  const { drawing } = drawSheet(grid, view, measure, over);
  const text = `<?xml version="1.0" encoding="UTF-8"?>\n${toText(drawing)}\n`;
  download(new Blob([text], { type: "image/svg+xml" }), fileName(grid.text, "svg"));
}

/**
 * @param {Held} grid @param {View} view @param {Measure} measure
 * @param {(row: number) => Over | null} [over] what is drawn over a row
 */
export async function savePng(grid, view, measure, over) {
  const { drawing, width, height } = drawSheet(grid, view, measure, over);
  const scale = Math.min(2, LARGEST / height, LARGEST / width);
  const long = `${thousands(grid.words.length)} words are too long for a PNG; save as SVG, or draw compact`;
  if (scale < 0.5) throw new Error(long);
  const image = new Image(width, height);
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(toText(drawing))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  /** @type {Blob | null} */
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  if (!blob) throw new Error("the browser could not draw the PNG; save as SVG");
  download(blob, fileName(grid.text, "png"));
}

/**
 * JSON that no HTML parser takes for markup.
 * @param {unknown} value
 */
export function embeddable(value) {
  const code = (/** @type {string} */ c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value).replace(/[<\u2028\u2029]/g, code);
}

/**
 * The page of its own: the server's empty one with the grid put in.
 * @param {string} empty
 * @param {Held} grid
 * @param {View} view
 * @param {[string, number, string, number, number][]} bits divergences that are known
 */
export function standalonePage(empty, grid, view, bits) {
  const own = view.pins.filter((pin) => readings(grid).some(({ text }) => text === pin.text) && pin.semantic === grid.semantic);
  const held = embeddable({ grid: release(grid), view: { ...view, pins: own, page: "grid" }, bits });
  const place = /(<script type="application\/json" id="embedded">)null(<\/script>)/;
  if (!place.test(empty)) throw new Error("the server's page has no place for the grid; reload this one");
  return empty.replace(place, (_, before, after) => before + held + after);
}

/**
 * A page of its own, made with the server's empty one.
 * @param {Fetch} file @param {Held} grid @param {View} view @param {[string, number, string, number, number][]} bits
 */
export async function saveHtml(file, grid, view, bits) {
  const empty = await file("api/standalone");
  const page = standalonePage(await empty.text(), grid, view, bits);
  download(new Blob([page], { type: "text/html" }), fileName(grid.text, "html"));
}

/**
 * The page with all that it asks for inside, which reads whatever is typed without a server.
 * @param {Fetch} file @param {Held} grid
 */
export async function saveLive(file, { run, text }) {
  const page = await file("api/publish", { run, text });
  download(page, fileName(run, "html"));
}

/**
 * Save a grid as it is asked for, once it is here; what went wrong, in words.
 * @param {"svg" | "png" | "html" | "live"} as @param {Promise<Held>} whole @param {View} view
 * @param {Measure} measure @param {(row: number) => Over | null} over
 * @param {[string, number, string, number, number][]} bits @param {Fetch | null} file fetches what only Python writes
 */
export async function saveAs(as, whole, view, measure, over, bits, file) {
  try {
    const grid = await whole;
    if (as === "svg") saveSvg(grid, view, measure, over);
    else if (as === "png") await savePng(grid, view, measure, over);
    else if (file && as === "live") await saveLive(file, grid);
    else if (file) await saveHtml(file, grid, { ...view, follow: null, turns: false }, bits);
    return "";
  } catch (error) {
    const told = error instanceof Error ? error.message : String(error);
    return error instanceof TypeError ? "the server does not answer; nothing was saved" : told;
  }
}
