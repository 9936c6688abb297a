// The page's places, and the field that text is typed into.

import { readHelp } from "../base/format.js";
import { html, shape, toDom } from "../base/markup.js";

/** Make the places of the page. @param {HTMLElement} root */
export function skeleton(root) {
  const note = (/** @type {string} */ kind, role = "status") =>
    html("p", { class: `note ${kind}`, role, hidden: true });
  const notes = { problem: note("problem", "alert"), server: note("server"), link: note("link"),
    pins: note("pins"), cut: note("cut"), unread: note("unread"), edits: note("edits"),
    loading: note("loading"), empty: note("empty") };
  const title = html("span", { class: "title" });
  const [undo, redo] = [["Undo", "Ctrl Z", "M5 3 2 6l3 3M2 6h7a4 4 0 0 1 0 8H6"], ["Redo", "Ctrl Shift Z", "m11 3 3 3-3 3M14 6H7a4 4 0 0 0 0 8h3"]].map(([name, keys, path]) =>
    html("button", { type: "button", class: "plain", "aria-label": name, title: `${name} (${keys})`, disabled: true },
      toDom(shape("svg", { width: 16, height: 16, "aria-hidden": "true" }, shape("path", { d: path, fill: "none", stroke: "currentColor", "stroke-width": 1.5, "stroke-linecap": "round", "stroke-linejoin": "round" })))));
  const steps = html("div", { class: "steps", role: "group", "aria-label": "steps" }, undo, redo);
  const controls = html("nav", { class: "controls", "aria-label": "view" });
  const text = html("textarea", { id: "text", rows: 1, spellcheck: "false", autocomplete: "off",
    autocapitalize: "off", dir: "auto", "aria-label": "a sentence", placeholder: "type a sentence" });
  const full = html("a", { class: "full", target: "_blank", rel: "noopener", title: "open in full, in a tab of its own",
    "aria-label": "open in full" }, "⤢");
  const examples = html("div", { class: "place" });
  const key = html("ul", { class: "legend", "aria-label": "colours" });
  reachable(key);
  const read = html("p", { class: "read" }, readHelp({ semantic: "output", follows: true }));
  const stage = html("div", { class: "stage" });
  const strip = html("div", { class: "strip" });
  const entry = html("div", { class: "entry" }, html("div", { class: "typing" }, text, examples, full),
    html("div", { class: "reading" }, key, read));
  const said = html("div", { class: "notes" }, notes.problem, notes.server, notes.link, notes.pins, notes.cut,
    notes.unread, notes.edits, notes.loading);
  const work = html("main", { class: "work" }, entry, notes.empty, strip, stage);
  const accuracy = html("main", { class: "accuracy", tabindex: 0, hidden: true });
  const corpus = html("main", { class: "corpus", hidden: true });
  root.classList.add("rnnlens");
  root.append(html("header", { class: "top" }, html("strong", {}, "rnnlens"), title, steps, controls), said, work, accuracy, corpus);
  return { title, steps, undo, redo, controls, text, examples, full, legend: key, read, notes, work, accuracy, corpus, strip, stage };
}

/** Let keys scroll a line that goes on sideways, while it does. @param {HTMLElement} line */
function reachable(line) {
  const look = () => {
    if (line.scrollWidth > line.clientWidth) line.tabIndex = 0;
    else line.removeAttribute("tabindex");
  };
  new ResizeObserver(look).observe(line);
  new MutationObserver(look).observe(line, { childList: true });
}

/**
 * A field of one line that grows with what it holds.
 * @param {HTMLTextAreaElement} field
 * @param {(text: string, whole: boolean) => void} onText `whole`: not by a key, but pasted, cut or dropped
 * @param {AbortSignal} [until] when the field is gone
 */
export function growing(field, onText, until) {
  const grow = () => {
    if (CSS.supports("field-sizing", "content")) return;
    field.style.height = "auto";
    field.style.height = `${field.scrollHeight + 2}px`;
  };
  field.addEventListener("input", (event) => {
    onText(field.value, event instanceof InputEvent && /Paste|Cut|Drop|Yank/.test(event.inputType));
    grow();
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault();
  });
  window.addEventListener("resize", grow, until ? { signal: until } : {});
  return {
    focus: () => field.focus({ preventScroll: true }),
    /** @param {string} text */
    set: (text) => {
      if (field.value !== text) put(field, text);
      grow();
    },
  };
}

/** Put another text into a field, with the caret where it differs. @param {HTMLTextAreaElement} field @param {string} text */
function put(field, text) {
  const before = field.value;
  let end = 0;
  while (end < Math.min(text.length, before.length) && text[text.length - 1 - end] === before[before.length - 1 - end]) end++;
  field.value = text;
  field.setSelectionRange(text.length - end, text.length - end);
}
