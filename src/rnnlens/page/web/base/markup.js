// Shapes: SVG as plain data, so that one drawing serves the page, the file and the tests.

/**
 * @typedef {{tag: string, attributes: Record<string, string | number>,
 *   children: (Shape | string)[]}} Shape
 */

const SVG = "http://www.w3.org/2000/svg";

/**
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 * @param {(Shape | string)[]} children
 * @returns {Shape}
 */
export function shape(tag, attributes = {}, ...children) {
  return { tag, attributes, children };
}

/**
 * An SVG element. Text never becomes markup.
 * @param {Shape} given
 * @returns {SVGElement}
 */
export function toDom(given) {
  const made = document.createElementNS(SVG, given.tag);
  for (const key in given.attributes) setAttribute(made, key, String(given.attributes[key]));
  for (const child of given.children) made.append(typeof child === "string" ? child : toDom(child));
  return made;
}

/**
 * Make an element, drawn as one shape, look like another; only what differs is touched, which is far less work than to
 * draw it anew.
 * @param {Element} element @param {Shape} before what it was drawn as @param {Shape} after
 * @returns {Element} itself, or what has taken its place
 */
export function redraw(element, before, after) {
  if (before.tag !== after.tag) {
    const drawn = toDom(after);
    element.replaceWith(drawn);
    return drawn;
  }
  for (const key in before.attributes) if (!(key in after.attributes)) setAttribute(element, key, null);
  for (const key in after.attributes) {
    if (before.attributes[key] !== after.attributes[key]) setAttribute(element, key, String(after.attributes[key]));
  }
  const was = before.children, is = after.children, nodes = [...element.childNodes];
  const [first, behind] = was.length === is.length ? [was.length, 0] : sameEnds(was, is);
  for (let k = 0; k < first; k++) redrawChild(nodes[k], was[k], is[k]);
  for (let k = first; k < was.length - behind; k++) nodes[k].remove();
  const next = nodes[was.length - behind] ?? null;
  for (let k = first; k < is.length - behind; k++) element.insertBefore(nodeOf(is[k]), next);
  for (let k = behind; k > 0; k--) redrawChild(nodes[was.length - k], was[was.length - k], is[is.length - k]);
  return element;
}

/**
 * How many children are alike at the beginning and at the end: where one has come or gone, such as a mark on a state, the
 * others need not be drawn anew.
 * @param {(Shape | string)[]} was @param {(Shape | string)[]} is
 */
function sameEnds(was, is) {
  const most = Math.min(was.length, is.length);
  let first = 0, behind = 0;
  while (first < most && alike(was[first], is[first])) first++;
  while (behind < most - first && alike(was[was.length - 1 - behind], is[is.length - 1 - behind])) behind++;
  return [first, behind];
}

/** @param {Shape | string} one @param {Shape | string} other */
function alike(one, other) {
  if (typeof one === "string" || typeof other === "string") return typeof one === typeof other;
  return one.tag === other.tag && one.attributes.class === other.attributes.class;
}

/** @param {ChildNode} node @param {Shape | string} was @param {Shape | string} is */
function redrawChild(node, was, is) {
  if (node instanceof Element && typeof was !== "string" && typeof is !== "string") redraw(node, was, is);
  else if (node instanceof Text && typeof is === "string") {
    if (node.data !== is) node.data = is; // which a new node in its place would lay out from the start
  } else if (was !== is) node.replaceWith(nodeOf(is));
}

/** @param {Shape | string} given @returns {Node} */
function nodeOf(given) {
  return typeof given === "string" ? document.createTextNode(given) : toDom(given);
}

/**
 * What a style sheet needs to know goes by a property: pages that forbid styles in markup allow it.
 * @param {Element} element @param {string} key @param {string | null} value null: none
 */
function setAttribute(element, key, value) {
  if (key.startsWith("--")) /** @type {SVGElement} */ (element).style.setProperty(key, value);
  else if (value === null) element.removeAttribute(key);
  else element.setAttribute(key, value);
}

/**
 * The text of an SVG file.
 * @param {Shape} given
 * @returns {string}
 */
export function toText(given) {
  const attributes = Object.entries(given.attributes).filter(([key]) => !key.startsWith("--"))
    .map(([key, value]) => ` ${key}="${escaped(String(value))}"`).join("");
  if (!given.children.length) return `<${given.tag}${attributes}/>`;
  const inside = given.children
    .map((child) => (typeof child === "string" ? escaped(child) : toText(child))).join("");
  return `<${given.tag}${attributes}>${inside}</${given.tag}>`;
}

const ENTITIES = new Map([["&", "&amp;"], ["<", "&lt;"], [">", "&gt;"], ['"', "&quot;"]]);

/** @param {string} text */
function escaped(text) {
  return text.replace(/[&<>"]/g, (character) => ENTITIES.get(character) ?? "");
}

/** @typedef {string | number | boolean | ((event: any) => void)} Property */

/**
 * An HTML element: functions become listeners, true an empty attribute, text stays text.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, Property>} properties
 * @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function html(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (typeof value === "function") made.addEventListener(key, value);
    else if (typeof value === "boolean") made.toggleAttribute(key, value);
    else made.setAttribute(key, String(value));
  }
  made.append(...children);
  return made;
}

/** Have an element say something; what it says already is not laid out again. @param {Element} element @param {string} text */
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Text that keeps its own direction to itself. @param {string} text */
export function bdi(text) {
  return html("bdi", {}, text);
}
