// A story beside the lens: scrolling to a paragraph that has a view shows it, and so does a click on a link to one.
// Whoever acts on the lens meanwhile goes on from there, and finds the way back as always.

import { setAddress } from "./net/steps.js";

const SETTLED = 120; // ms a paragraph is read before its view is shown: those that are scrolled past are not
const MOVED = 500; // ms in which paragraphs move by themselves after the window has got another size
const LINE = 0.36; // where one reads, as a share of the prose's height
const ANCHOR = "#story-";
const PACKED = "data:application/gzip;base64,"; // a drawing

/** @typedef {{goTo: (address: string, step: boolean) => void}} Shows */

export class Story {
  /** @param {HTMLElement} article @param {HTMLElement} lens its place @param {Shows} page */
  constructor(article, lens, page) {
    this.article = article;
    this.lens = lens;
    this.page = page;
    this.blocks = /** @type {HTMLElement[]} */ ([...article.querySelectorAll("[data-view]")]);
    /** @type {HTMLElement | null} */ this.now = null; // the paragraph whose view was shown last
    this.acted = false; // whether somebody has acted on the lens since
    this.timer = 0;
    this.resized = -MOVED;
    this.frame = 0;
    this.turned = -1; // how far the prose was scrolled by itself
    article.addEventListener("click", (event) => this.click(event));
    for (const picture of article.querySelectorAll("img")) if (picture.src.startsWith(PACKED)) unpack(picture);
    for (const act of ["pointerdown", "keydown", "input"]) lens.addEventListener(act, () => this.act(true), true);
    window.addEventListener("popstate", () => this.moved());
    window.addEventListener("resize", () => { this.resized = performance.now(); });
    window.addEventListener("scroll", () => {
      this.frame ||= requestAnimationFrame(() => {
        this.frame = 0;
        this.seen();
      });
    }, { passive: true });
  }

  /** The address to begin with; one that names a heading goes there. @returns {string} */
  begin() {
    const { hash } = location;
    if (hash.startsWith(ANCHOR)) {
      setAddress("");
      document.getElementById(decodeURIComponent(hash.slice(1)))?.scrollIntoView();
    }
    const first = this.blocks[0]?.dataset.view ?? "";
    const asked = location.hash.length > 1, told = asked ? this.telling(location.hash) : this.blocks[0] ?? null;
    if (asked && told) this.turnTo(told);
    if (!asked && first) setAddress(first);
    this.turned = window.scrollY;
    this.mark(told);
    return first;
  }

  /** The paragraph that tells of a view. @param {string} address */
  telling(address) {
    return this.blocks.find((block) => block.dataset.view === address) ?? null;
  }

  /**
   * Where one reads, from the window's top: at the first line before anything is scrolled, so that no paragraph is passed
   * over, and soon where eyes are; below the lens, where that stands above the prose.
   */
  line(scrolled = window.scrollY) {
    const { bottom, width } = this.lens.getBoundingClientRect(), above = width > window.innerWidth * 0.9 ? bottom : 0;
    return above + Math.min(0.6 * scrolled, LINE * (window.innerHeight - above));
  }

  /** Scroll to a paragraph, whose view is shown already. @param {HTMLElement} block */
  turnTo(block) {
    window.scrollTo(0, block.getBoundingClientRect().top + window.scrollY - this.line(Infinity) + 8);
    this.turned = window.scrollY;
  }

  /** Show what is read, once it is. */
  seen() {
    clearTimeout(this.timer);
    if (window.scrollY === this.turned || performance.now() - this.resized < MOVED) return;
    this.turned = -1;
    const line = this.line(), read = this.blocks.filter((one) => one.getBoundingClientRect().top <= line);
    const block = read.pop() ?? this.blocks[0];
    if (!block || block === this.now) return;
    this.timer = setTimeout(() => {
      const { view = "" } = block.dataset;
      this.mark(block);
      if (view !== location.hash) this.show(view, this.acted);
    }, SETTLED);
  }

  /** @param {Event} event */
  click(event) {
    const link = event.target instanceof Element ? event.target.closest("a") : null, address = link?.getAttribute("href") ?? "";
    const other = event instanceof MouseEvent && (event.ctrlKey || event.metaKey || event.shiftKey || event.button > 0);
    if (!link || !address.startsWith("#") || other) return;
    event.preventDefault();
    if (link.classList.contains("view")) {
      this.mark(link.closest("[data-view]"));
      this.show(address, true);
      return;
    }
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const there = document.getElementById(address.slice(1));
    there?.scrollIntoView({ behavior: calm ? "auto" : "smooth" });
    there?.focus({ preventScroll: true });
  }

  /** The way back was taken, or forth. */
  moved() {
    this.act(true); // so that the next paragraph leaves it where it is
    this.mark(this.telling(location.hash) ?? this.now);
  }

  /** @param {string} address @param {boolean} step whether there is a way back from it */
  show(address, step) {
    clearTimeout(this.timer);
    this.act(false);
    this.page.goTo(address, step);
  }

  /** @param {boolean} acted whether somebody has acted on the lens since its view was told */
  act(acted) {
    this.acted = acted;
    this.lens.classList.toggle("acted", acted);
  }

  /** @param {Element | null} block whose view is shown */
  mark(block) {
    this.now?.removeAttribute("aria-current");
    this.now = block instanceof HTMLElement ? block : null;
    this.now?.setAttribute("aria-current", "true");
  }
}

/** Show a drawing that the file holds packed; a browser that cannot unpack it shows what is said of it. @param {HTMLImageElement} picture */
async function unpack(picture) {
  if (typeof DecompressionStream === "undefined") return;
  const bytes = Uint8Array.from(atob(picture.src.slice(PACKED.length)), (character) => character.charCodeAt(0));
  const text = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  picture.src = `data:image/svg+xml,${encodeURIComponent(text)}`;
}
