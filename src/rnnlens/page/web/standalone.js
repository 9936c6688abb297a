// A grid in a file of its own: the page, with nobody to ask.

import { visible } from "./base/format.js";
import { html } from "./base/markup.js";
import { nobody } from "./net/source.js";
import { Page } from "./page.js";

function begin() {
  const held = document.getElementById("embedded")?.textContent;
  /** @type {import("./base/schema.d.ts").SavedPage | null} */ const embedded = held ? JSON.parse(held) : null;
  if (embedded?.grid?.format !== "rnnlens-grid") {
    document.body.append(html("p", {}, "This page holds no grid; save it from rnnlens."));
    return;
  }
  const page = new Page(document.body, nobody, { ...embedded, typing: false, examples: [] });
  page.place.text.replaceWith(html("p", { class: "sentence", dir: "auto" }, visible(embedded.grid.text)));
  document.title = `rnnlens · ${visible(embedded.grid.text)}`;
  page.begin();
}

begin();
