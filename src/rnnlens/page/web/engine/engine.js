// The engine: it answers what the server answers, from a published file's numbers.

import { divergences } from "./divergence.js";
import { Refusal } from "../base/refusal.js";
import { Machine } from "./machine.js";
import { following, turning } from "./pair/readings.js";
import { SideBySide } from "./pair/source.js";
import { repr } from "../base/python.js";
import { continued } from "./why/continuation.js";
import { written } from "./why/written.js";

/** @typedef {import("./manifest.d.ts").Manifest} Manifest */
/** @typedef {import("./network.js").Pause} Pause */
/** @typedef {(source: SideBySide, asked: any, pause: Pause) => unknown} Answer */

const FORMAT = "rnnlens-lens", VERSION = 1; // of what is published here, as pack.py writes it
const SLICE = 12; // ms of work after which others get their turn

/** @type {Record<string, Answer>} */
const ANSWERS = {
  "api/runs": ({ manifest }) => ({ runs: [manifest.run] }),
  "api/accuracy": ({ manifest, name }) => {
    if (!manifest.accuracy) throw new Refusal(`${name} was not measured yet; run: rnnlens eval RUN`);
    return manifest.accuracy;
  },
  "api/grid": (source, asked, pause) => source.grid(asked, pause),
  "api/divergence": divergences,
  "api/follow": following,
  "api/turns": turning,
  "api/written": written,
  "api/continue": continued,
};

export class Engine {
  /** @param {SideBySide} source */
  constructor(source) {
    this.source = source;
  }

  /**
   * The engine of a published file.
   * @param {Manifest} manifest @param {ArrayBuffer} blob its tensors
   * @param {{wasm: boolean}} options whether to compute in WebAssembly where the browser has it
   */
  static async of(manifest, blob, { wasm }) {
    if (manifest.format !== FORMAT || manifest.version !== VERSION) {
      throw new Refusal(`the file is ${manifest.format} ${manifest.version}, and its page reads ${FORMAT} ${VERSION}; publish the lens again`);
    }
    const machine = new Machine(manifest.tensors, blob), source = new SideBySide(manifest, machine);
    await machine.start(wasm);
    return new Engine(source);
  }

  /**
   * Answer a question; others get their turn meanwhile.
   * @param {string} path such as api/grid @param {any} asked @param {AbortSignal} [signal]
   * @returns {Promise<any>}
   */
  async answer(path, asked, signal) {
    const work = ANSWERS[path];
    if (!work) throw new Refusal(`there is nothing at ${path}`);
    for (const run of [asked.run, asked.beside]) { // a file holds one run
      if ((run ?? this.source.name) !== this.source.name) {
        throw new Refusal(`no run is called ${repr(run)}; there is ${this.source.name}`);
      }
    }
    return work(this.source, asked, pauses(signal));
  }
}

/** Lets others have their turn every few milliseconds, and fails once nobody waits any more. @param {AbortSignal} [signal] @returns {Pause} */
function pauses(signal) {
  let since = performance.now();
  return async () => {
    if (performance.now() - since >= SLICE) {
      await turn();
      since = performance.now();
    }
    signal?.throwIfAborted();
  };
}

/** Until whatever waits has had its turn; a timer would wait longer. */
function turn() {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve(undefined);
    };
    port2.postMessage(null);
  });
}
