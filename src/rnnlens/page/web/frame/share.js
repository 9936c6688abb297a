// Copy link: the address of what is on the screen, on the clipboard; where that is refused, in a field, selected.

import { html } from "../base/markup.js";

const SAID = 1600; // ms

/** @param {() => string} address of what is shown @returns {HTMLElement} */
export function copyLink(address) {
  let timer = 0;
  const said = html("span", { class: "said", role: "status" });
  const field = html("input", { type: "text", readonly: true, "aria-label": "the link, to be copied", hidden: true, blur: () => { field.hidden = true; } });
  const button = html("button", { type: "button", class: "plain", title: "Copy a link that brings back all of this", click: async () => {
    const link = address();
    const copied = await toClipboard(link);
    if (copied) {
      said.textContent = "copied";
      clearTimeout(timer);
      timer = setTimeout(() => { said.textContent = ""; }, SAID);
      return;
    }
    field.value = link;
    field.hidden = false;
    field.focus();
    field.select();
  } }, "Copy link");
  return html("span", { class: "share" }, button, said, field);
}

/** Whether a text could be put there: a page that is not secure, or a frame, may not. @param {string} text */
async function toClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
