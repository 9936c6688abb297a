// The live page in one file: it draws what the file was written with at once, and has an engine answer the rest.

import { visible } from "./base/format.js";
import { html } from "./base/markup.js";
import { engineOf, engineSource } from "./net/engine.js";
import { unzippedText } from "./net/unzip.js";
import { changedPart } from "./net/vouched.js";
import { Page } from "./page.js";
import { Story } from "./story.js";

/** What an element of the file holds; it is let go, as it may be large. @param {string} id */
function taken(id) {
  const element = document.getElementById(id), text = element?.textContent ?? "";
  element?.remove();
  return text;
}

/** Once all of the file is here: the script stands before what is large. */
async function arrived() {
  if (document.readyState !== "loading") return;
  await new Promise((resolve) => document.addEventListener("DOMContentLoaded", resolve, { once: true }));
}

/** What went wrong, in words. @param {unknown} error */
function told(error) {
  return error instanceof Error ? error.message : String(error);
}

/** The lens's place beside a story. @param {HTMLElement} article */
function besides(article) {
  const lens = html("section", { id: "lens", "aria-label": "the lens", tabindex: -1 });
  document.body.classList.add("telling");
  article.prepend(html("a", { class: "skip", href: "#lens", click: (/** @type {Event} */ event) => {
    event.preventDefault();
    event.stopPropagation();
    lens.focus({ preventScroll: true });
  } }, "To the lens"));
  article.after(lens);
  return lens;
}

function begin() {
  const line = document.getElementById("opening");
  try {
    const part = changedPart(document, document.currentScript?.textContent ?? "", VOUCHED);
    if (part) {
      document.getElementById("story")?.remove();
      throw new Error(`This file was damaged or changed after it was written: its ${part} is not what it was. So that nothing wrong is shown, nothing is.`);
    }
    /** @type {import("./net/engine.js").Head} */ const head = JSON.parse(taken("head"));
    const engine = arrived().then(async () => engineOf(await unzippedText(taken("engine"), head.sizes.engine, VOUCHED.engine),
      { manifest: taken("manifest"), weights: taken("weights"), sizes: head.sizes, vouched: VOUCHED }));
    const article = document.getElementById("story"), root = article ? besides(article) : document.body;
    const page = new Page(root, engineSource(head, engine));
    if (head.note) page.place.title.closest("header")?.after(html("p", { class: "about", dir: "auto" }, head.note.split("\n").map(visible).join("\n")));
    engine.catch((error) => page.say("problem", told(error)));
    page.begin(article ? new Story(article, root, page).begin() : "");
    line?.remove();
  } catch (error) {
    line?.append(" ", told(error));
  }
}

begin();
