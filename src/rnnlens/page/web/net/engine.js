// The engine of a published file as the page's source: in a worker where the browser allows one, else beside the page.

import { Refusal } from "../base/refusal.js";
import { turn } from "../base/turn.js";
import { canAnswer, Engine } from "../engine/engine.js";
import { unzipped, unzippedJson } from "./unzip.js";

/** @typedef {{engine: number, manifest: number, weights: number}} Sizes bytes that each comes to */
/** @typedef {{run: RunSummary, grid: Grid, note: string, first: {palette: string | null, edits: string[]}, sizes: Sizes}} Head what is shown before the engine is there; `first`: what its grid was asked with */
/** @typedef {{manifest: string, weights: string, sizes: Sizes, vouched: import("./vouched.js").Vouched}} Parcel the lens, as its file holds it */
/** @typedef {{answer: (path: string, asked: any, signal?: AbortSignal) => Promise<any>}} Answerer */
/** @typedef {{postMessage: (message: any) => void, onmessage: ((event: MessageEvent) => void) | null}} Port */

/** An engine on this very thread. @param {Parcel} parcel @returns {Promise<Answerer>} */
export async function unpacked({ manifest, weights, sizes, vouched }) {
  const described = await unzippedJson(manifest, sizes.manifest, vouched.manifest);
  const numbers = await unzipped(weights, sizes.weights, vouched.weights);
  const engine = await Engine.of(described, numbers, { wasm: typeof WebAssembly === "object" });
  return { answer: (path, asked, signal) => engine.answer(path, asked, signal).catch((error) => { throw refusal(error); }) };
}

/** A mistake of the engine's own is said, too: it must not end the conversation. @param {unknown} error */
function refusal(error) {
  const known = error instanceof Refusal || (error instanceof DOMException && error.name === "AbortError");
  return known ? error : new Refusal(`the engine failed (${error instanceof Error ? error.name : error})`, 500);
}

/**
 * Answer what a port asks: first it sends the parcel, then numbered questions, and the numbers of those that are no
 * longer waited for.
 * @param {Port} port
 */
export function answerTo(port) {
  /** @type {Promise<Answerer> | null} */ let engine = null;
  /** @type {Map<number, AbortController>} */ const open = new Map();
  port.onmessage = async ({ data: { parcel, id, path, asked, stop } }) => {
    if (stop !== undefined) {
      open.get(stop)?.abort();
      return;
    }
    try {
      if (parcel) engine = unpacked(parcel);
      const answerer = await engine, stopped = new AbortController();
      if (!answerer || parcel) {
        port.postMessage({ id });
        return;
      }
      open.set(id, stopped);
      port.postMessage({ id, answer: await answerer.answer(path, asked, stopped.signal) });
    } catch (error) {
      const { message, status } = error instanceof Refusal ? error : { message: String(error), status: 500 };
      port.postMessage({ id, refused: { message, status } });
    }
    open.delete(id);
  };
}

/** Whoever answers behind a port. */
export class Remote {
  /** @param {Port} port */
  constructor(port) {
    this.port = port;
    this.count = 0;
    /** @type {Map<number, {resolve: (answer: any) => void, reject: (error: unknown) => void}>} */ this.open = new Map();
    port.onmessage = ({ data: { id, answer, refused } }) => {
      const open = this.open.get(id);
      this.open.delete(id);
      if (refused) open?.reject(new Refusal(refused.message, refused.status));
      else open?.resolve(answer);
    };
  }

  /** @param {object} message @param {AbortSignal} [signal] @returns {Promise<any>} */
  send(message, signal) {
    const id = ++this.count;
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      this.open.set(id, { resolve, reject });
      signal?.addEventListener("abort", () => {
        if (!this.open.delete(id)) return;
        this.port.postMessage({ stop: id });
        reject(signal.reason);
      });
      this.port.postMessage({ ...message, id });
    });
  }

  /** @param {string} path @param {any} asked @param {AbortSignal} [signal] */
  answer(path, asked, signal) {
    return this.send({ path, asked }, signal);
  }

  /** Nobody answers any more. @param {unknown} error */
  fail(error) {
    for (const open of this.open.values()) open.reject(error);
    this.open.clear();
  }
}

/** An engine in a worker, else here. @param {string} script the worker's @param {Parcel} parcel @returns {Promise<Answerer>} */
export async function engineOf(script, parcel) {
  try {
    const worker = new Worker(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
    const remote = new Remote(worker);
    worker.onerror = () => remote.fail(new Refusal("the engine has stopped; load the page again", 500));
    await remote.send({ parcel });
    return remote;
  } catch (error) {
    if (error instanceof Refusal && error.status === 400) throw error; // the file's, not the worker's
    return besideThePage(await unpacked(parcel));
  }
}

/** An engine on the page's own thread: what is computed last and what is drawn of it would stand still as one. @param {Answerer} engine @returns {Answerer} */
function besideThePage(engine) {
  return { answer: (path, asked, signal) => engine.answer(path, asked, signal).finally(turn) };
}

/**
 * A source that answers at once what the file was written with, and the rest once the engine is there.
 * @param {Head} head @param {Promise<Answerer>} engine @returns {import("./source.js").Source}
 */
export function engineSource({ run, grid, first }, engine) {
  return {
    ask: async (path, asked, signal) => {
      if (path === "api/runs") return { runs: [run] };
      if (path === "api/grid" && isOf({ run, grid, first }, asked)) return structuredClone(grid);
      const answerer = await engine;
      signal?.throwIfAborted();
      return answerer.answer(path, asked, signal);
    },
    can: (path) => canAnswer(path, run),
    file: () => Promise.reject(new Refusal("there is no Python here that could write it")),
  };
}

/** Whether the grid of a file is what is asked for. @param {Pick<Head, "run" | "grid" | "first">} head @param {any} asked a GridQuestion */
function isOf({ run, grid, first }, { text, semantic, palette, have, edits, beside }) {
  return text === grid.text && !have && !beside && (edits ?? []).join("\n") === first.edits.join("\n")
    && (semantic ?? run.semantics[0] ?? grid.semantic) === grid.semantic && [first.palette, grid.palette].includes(palette ?? null);
}
