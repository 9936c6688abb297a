// Whether a published file is what was written. Its policy lets no script run but the one whose hash it names; that
// script has the hashes of all else, and looks before anything is shown. It finds damage, and not a forger, who would
// write new hashes too.

import { sha256, sha256Hex } from "../base/sha256.js";

/** @typedef {{policy: string, style: string, head: string, story: string, engine: string, manifest: string, weights: string}} Vouched the SHA-256 of each part of a file; a story's is empty where there is none */

/** What the file may have in front of its script. */
const PARTS = new Set(["NOSCRIPT", "P#opening", "STYLE", "ARTICLE#story", "SCRIPT#head", "SCRIPT"]);

/**
 * What is not as it was written, in words; empty where all is.
 * @param {Document} page @param {string} script this one's own text @param {Vouched} vouched
 */
export function changedPart(page, script, vouched) {
  const policy = page.querySelector("meta[http-equiv]")?.getAttribute("content") ?? "";
  const own = `'sha256-${btoa(String.fromCharCode(...sha256(new TextEncoder().encode(script))))}'`;
  const story = page.getElementById("story");
  if (!policy.includes(own) || sha256Hex(policy.replace(own, "")) !== vouched.policy) return "script or policy";
  if (sha256Hex(page.querySelector("style")?.textContent ?? "") !== vouched.style) return "style";
  if (sha256Hex(page.getElementById("head")?.textContent ?? "") !== vouched.head) return "first grid";
  if ((story ? sha256Hex(outline(story)) : "") !== vouched.story) return "story";
  return Array.from(page.body.childNodes).every(isKnown) ? "" : "page";
}

/** @param {Node} node */
function isKnown(node) {
  if (!(node instanceof Element)) return !node.textContent?.trim();
  return PARTS.has(node.id ? `${node.tagName}#${node.id}` : node.tagName);
}

/** All that an element holds, in one text: HTML itself is written in one way by one browser and in another by the next. @param {Element} element */
export function outline(element) {
  /** @type {string[]} */ const parts = [];
  /** @param {Node} node */
  const visit = (node) => {
    if (!(node instanceof Element)) {
      parts.push(node.textContent ?? "");
      return;
    }
    const names = Array.from(node.attributes, ({ name, value }) => `\0${name}=${value}`).sort();
    parts.push(`\0<${node.localName}`, ...names, "\0>");
    node.childNodes.forEach(visit);
    parts.push("\0/");
  };
  element.childNodes.forEach(visit);
  return parts.join("");
}
