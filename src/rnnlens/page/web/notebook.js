// A grid or a lens in a notebook: the page, with the kernel for a server.

import { html } from "./base/markup.js";
import { keepToItself } from "./host/events.js";
import { followTheme } from "./host/theme.js";
import { Kernel } from "./net/kernel.js";
import { Page } from "./page.js";

const PATIENCE = 1500; // ms before a lower bound stands in for a divergence
const GONE = "the kernel does not answer: it is busy, or it was restarted; then run the cell again";

/**
 * The page in a place of a notebook.
 * @param {HTMLElement} root @param {import("./base/schema.d.ts").NotebookView} start @param {import("./net/kernel.js").Model} model
 * @param {AbortSignal} until it is gone
 */
function show(root, start, model, until) {
  const kernel = new Kernel(model, (silent) => page.say("server", silent ? GONE : ""));
  const page = new Page(root, kernel.source(PATIENCE), { ...start, view: { folded: true }, hosted: true, until });
  page.place.accuracy.remove();
  page.place.work.setAttribute("role", "group"); // the notebook is the page's main part
  if (!start.typing) page.place.text.parentElement?.remove(); // the words stand beside their rows, the sentence in the cell above
  until.addEventListener("abort", () => kernel.close());
  page.begin();
}

/**
 * What anywidget calls for each place the widget is shown in.
 * @param {{model: import("./net/kernel.js").Model, el: HTMLElement}} given
 * @param {string} style
 */
export function render({ model, el }, style) {
  // In a shadow, so that neither the notebook's style reaches the grid nor the grid's the notebook.
  const host = html("div", {});
  const shadow = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet(), root = html("div", {});
  sheet.replaceSync(style);
  shadow.adoptedStyleSheets = [sheet];
  shadow.append(root);
  el.append(host);
  const gone = new AbortController();
  show(root, JSON.parse(model.get("start")), model, gone.signal);
  keepToItself(host, gone.signal);
  const hidden = hideTable(model.get("table"));
  const unfollow = followTheme(host, (theme) => { root.dataset.theme = theme; });
  return () => {
    unfollow();
    gone.abort();
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== hidden);
  };
}

/** Hide the table that stands in for the widget wherever it is not alive. @param {string} name its class */
function hideTable(name) {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`.jp-OutputArea-child:has(.${name}), .${name} { display: none; }`);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  return sheet;
}
