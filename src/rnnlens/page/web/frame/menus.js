// The few controls the page is made of: choices side by side, choices in a list, menus.

import { html } from "../base/markup.js";

/**
 * Choices side by side, one of them taken.
 * @template {string} T
 * @param {string} name what is chosen, for those who listen
 * @param {{value: T, text: string, title?: string}[]} choices
 * @param {T} taken
 * @param {(value: T) => void} onChoose
 */
export function segments(name, choices, taken, onChoose) {
  const group = html("div", { class: "segments", role: "radiogroup", "aria-label": name });
  const buttons = choices.map(({ value, text, title }) => {
    const made = html("button", { type: "button", role: "radio", ...(title ? { title } : {}), "data-value": value,
      "aria-checked": String(value === taken), tabindex: value === taken ? 0 : -1 }, text);
    made.addEventListener("click", () => onChoose(value));
    return made;
  });
  group.addEventListener("keydown", (event) => {
    const step = new Map([["ArrowLeft", -1], ["ArrowUp", -1], ["ArrowRight", 1], ["ArrowDown", 1]]).get(event.key);
    const at = buttons.findIndex((button) => button === event.target);
    if (step === undefined || at < 0) return;
    event.preventDefault();
    event.stopPropagation();
    const to = (at + step + choices.length) % choices.length;
    buttons[to].focus();
    onChoose(choices[to].value);
  });
  group.append(...buttons);
  return group;
}

/** Take another of the choices. @param {HTMLElement} group @param {string} taken */
export function take(group, taken) {
  for (const button of group.querySelectorAll("button")) {
    const is = button.dataset.value === taken;
    button.setAttribute("aria-checked", String(is));
    button.tabIndex = is ? 0 : -1;
  }
}

/**
 * Choices in a list.
 * @param {string} name
 * @param {{value: string, text: string}[]} choices
 * @param {string} taken
 * @param {(value: string) => void} onChoose
 */
export function list(name, choices, taken, onChoose) {
  const made = html("select", { "aria-label": name });
  made.append(...choices.map(({ value, text }) => html("option", { value }, text)));
  made.value = taken;
  made.addEventListener("change", () => onChoose(made.value));
  return made;
}

/**
 * A word that opens a small page of controls.
 * @param {string} name
 * @param {string} kind class of the menu
 * @param {(Node | string)[]} inside
 */
export function menu(name, kind, ...inside) {
  const sheet = html("div", { class: "sheet" }, ...inside);
  const made = html("details", { class: `menu ${kind}` }, html("summary", {}, name), sheet);
  made.addEventListener("toggle", () => {
    if (!made.open) return;
    sheet.style.transform = "";
    const box = sheet.getBoundingClientRect();
    const over = Math.max(0, 8 - box.left) - Math.max(0, box.right - document.documentElement.clientWidth + 8);
    sheet.style.transform = `translateX(${over}px)`; // into the window
    const outside = (/** @type {Event} */ event) => {
      if (event.composedPath().includes(made)) return; // a target inside a shadow is not told outside it
      made.open = false;
      document.removeEventListener("pointerdown", outside);
    };
    document.addEventListener("pointerdown", outside);
  });
  made.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !made.open) return;
    event.stopPropagation();
    made.open = false;
    made.querySelector("summary")?.focus();
  });
  return made;
}

/** A line of a menu that does something and closes it. @param {string} text @param {() => void} onChoose */
export function action(text, onChoose) {
  return html("button", { type: "button", class: "action", click: (/** @type {Event} */ event) => {
    onChoose();
    const made = event.target instanceof Element ? event.target.closest("details") : null;
    if (made) made.open = false;
  } }, text);
}
