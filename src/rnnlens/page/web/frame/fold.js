// A button that folds the panel away and back, so that the grid has its place.

import { html } from "../base/markup.js";

/** @param {HTMLElement} root what is folded */
export function foldButton(root) {
  const button = html("button", { type: "button", class: "plain fold", "aria-expanded": "true",
    "aria-label": "fold the panel", title: "fold the panel", click: () => {
      const folded = root.classList.toggle("folded");
      button.setAttribute("aria-expanded", String(!folded));
      button.title = folded ? "unfold the panel" : "fold the panel";
      button.setAttribute("aria-label", button.title);
      button.textContent = folded ? "‹" : "›";
    } }, "›");
  return button;
}
