// Light or dark, as the notebook around is.

/** @typedef {"light" | "dark"} Theme */

/**
 * What the notebook says of itself: JupyterLab in an attribute, VS Code by a class.
 * @param {{jpThemeLight?: string | undefined, classes: string[]}} page
 * @returns {Theme | null} null: it does not say
 */
export function saidTheme({ jpThemeLight, classes }) {
  if (jpThemeLight !== undefined) return jpThemeLight === "false" ? "dark" : "light";
  if (classes.includes("vscode-light") || classes.includes("vscode-high-contrast-light")) return "light";
  return classes.includes("vscode-dark") || classes.includes("vscode-high-contrast") ? "dark" : null;
}

/**
 * What the nearest background that can be seen is.
 * @param {string[]} backgrounds as computed, the nearest first
 * @returns {Theme}
 */
export function groundTheme(backgrounds) {
  for (const ground of backgrounds) {
    const [red, green, blue, alpha = 1] = (ground.match(/[\d.]+/g) ?? []).map(Number);
    if (!ground.startsWith("rgb") || blue === undefined || alpha < 0.5) continue;
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 128 ? "dark" : "light";
  }
  return "light";
}

/** The theme around an element. @param {Element} element @returns {Theme} */
function themeAround(element) {
  const { dataset, classList } = document.body;
  const said = saidTheme({ jpThemeLight: dataset.jpThemeLight, classes: [...classList] });
  if (said) return said;
  /** @type {string[]} */ const grounds = [];
  for (let at = element.parentElement; at; at = at.parentElement) grounds.push(getComputedStyle(at).backgroundColor);
  return groundTheme(grounds);
}

/**
 * Tell of the theme around an element, now and when it changes.
 * @param {Element} element @param {(theme: Theme) => void} onTheme
 * @returns {() => void} no longer
 */
export function followTheme(element, onTheme) {
  const tell = () => onTheme(themeAround(element));
  const observer = new MutationObserver(tell);
  const attributeFilter = ["class", "style", "theme", "data-jp-theme-light", "data-theme"];
  for (const root of [document.documentElement, document.body]) observer.observe(root, { attributeFilter });
  tell();
  return () => observer.disconnect();
}
