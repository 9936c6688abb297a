// Asking a notebook's kernel what the page asks its server: numbered questions, numbered answers.

import { Refusal } from "../base/refusal.js";

/**
 * What anywidget gives of the widget's model.
 * @typedef {{get: (name: string) => any, send: (content: unknown) => void,
 *   on: (event: string, heard: (message: any) => void) => void,
 *   off: (event: string, heard: (message: any) => void) => void}} Model
 * @typedef {{resolve: (found: any) => void, reject: (error: Error) => void}} Open
 */

const LEFT_OUT = new Set(["figure", "publish", "corpus", "similar"].map((name) => `api/${name}`)); // a notebook has Python for these
const SILENT = 4000; // ms after which it is said that the kernel does not answer

export class Kernel {
  /** @param {Model} model @param {(silent: boolean) => void} onSilent @param {number} patience ms */
  constructor(model, onSilent, patience = SILENT) {
    this.model = model;
    this.onSilent = onSilent;
    this.patience = patience;
    this.own = Math.random().toString(36).slice(2, 8); // several views may share a model
    this.count = 0;
    this.timer = 0;
    /** @type {Map<string, Open>} */ this.open = new Map();
    this.heard = (/** @type {any} */ message) => this.hear(message);
    model.on("msg:custom", this.heard);
  }

  /**
   * A question is never taken back: a busy kernel would still have to answer it.
   * @template {keyof Posts} P
   * @param {P} path @param {Posts[P]["asked"]} body @returns {Promise<Posts[P]["answer"]>}
   */
  ask(path, body) {
    const id = `${this.own}-${++this.count}`;
    return new Promise((resolve, reject) => {
      this.open.set(id, { resolve, reject });
      this.wait();
      this.model.send({ id, path, body });
    });
  }

  wait() {
    clearTimeout(this.timer);
    if (this.open.size) this.timer = setTimeout(() => this.onSilent(true), this.patience);
  }

  /** @param {{id?: string, answer?: string, error?: string}} message */
  hear({ id = "", answer, error }) {
    const open = this.open.get(id);
    if (!open) return; // another view's
    this.open.delete(id);
    this.wait();
    this.onSilent(false);
    if (answer === undefined) open.reject(new Refusal(error ?? "the kernel's answer could not be read", 400));
    else open.resolve(JSON.parse(answer));
  }

  /** As the page's source. @param {number} patience ms before a lower bound stands in for a divergence @returns {import("./source.js").Source} */
  source(patience) {
    return {
      ask: (path, asked) => this.ask(/** @type {keyof Posts} */ (path), /** @type {any} */ (asked)),
      can: (path) => !LEFT_OUT.has(path),
      file: () => Promise.reject(new Refusal("a kernel writes no files here")),
      patience,
    };
  }

  close() {
    clearTimeout(this.timer);
    this.model.off("msg:custom", this.heard);
  }
}
