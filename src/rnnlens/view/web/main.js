// The page: type a sentence, see what the network expects after each word.

import { legend, rows } from "./grid.js";

/** @param {string} id */
function element(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found;
}

const text = /** @type {HTMLInputElement} */ (element("text"));
let asked = 0;

async function draw() {
  const mine = ++asked;
  history.replaceState(null, "", `#${encodeURIComponent(text.value)}`);
  try {
    const answer = await fetch(`api/grid?text=${encodeURIComponent(text.value)}`);
    const found = await answer.json();
    if (mine !== asked) return undefined; // typed on meanwhile
    if (!answer.ok) throw new Error(found.error);
    element("title").textContent = found.title;
    element("legend").replaceChildren(...legend(found));
    element("grid").replaceChildren(...rows(found));
    element("problem").hidden = true;
    return /** @type {import("./grid.js").Grid} */ (found);
  } catch (error) {
    if (mine !== asked) return undefined;
    const told = error instanceof TypeError ? "The server does not answer; is it still running?" : error;
    element("problem").textContent = String(told instanceof Error ? told.message : told);
    element("problem").hidden = false;
    return undefined;
  }
}

/** The sentence the address holds, if it holds one that can be read. */
function addressed() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
}

async function begin() {
  text.value = addressed();
  const first = await draw();
  if (!text.value && first) {
    text.value = first.example;
    await draw();
  }
}

text.addEventListener("input", draw);
begin();
