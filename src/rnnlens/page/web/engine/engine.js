// The engine: it answers what the server answers, from a published file's numbers.

import { repr } from "./python.js";
import { Refusal } from "../base/refusal.js";
import { COUNTS, TEXTS } from "../base/rules.js";
import { turn } from "../base/turn.js";
import { divergences } from "./divergence.js";
import { following } from "./follow.js";
import { grid } from "./grid.js";
import { labels } from "./labels.js";
import { Machine } from "./machine.js";
import { texts } from "./recorded.js";
import { refusal } from "./refusals.js";
import { Subject } from "./subject.js";
import { turning } from "./turns.js";
import { memoriesTold, memoryTold } from "./why/asked.js";
import { continued } from "./why/continuation.js";
import { written } from "./why/written.js";

/** @typedef {(subject: Subject, asked: any, pause: Pause) => unknown} Answer */

const { lens_format: FORMAT } = TEXTS, { lens_version: VERSION } = COUNTS; // of what is published here
const SLICE = 12; // ms of work after which others get their turn

/** @type {Record<string, Answer>} */
export const ANSWERS = {
  "api/runs": ({ manifest }) => ({ runs: [manifest.run] }),
  "api/accuracy": ({ manifest, name }) => {
    if (!manifest.accuracy) throw refusal("not_measured", { run: name });
    return manifest.accuracy;
  },
  "api/grid": grid,
  "api/divergence": divergences,
  "api/follow": following,
  "api/labels": labels,
  "api/memories": memoriesTold,
  "api/memory": memoryTold,
  "api/texts": texts,
  "api/turns": turning,
  "api/written": written,
  "api/continue": continued,
};

/** What needs a network, and what that is. @type {Record<string, string>} */
const NETWORKS = { "api/written": "which words have written a state", "api/continue": "how a text goes on", "api/memory": "what a memory is", "api/memories": "what memories are" };

/** Whether a published file answers. @param {string} path @param {Pick<RunSummary, "reads">} run */
export function canAnswer(path, { reads }) {
  return path in ANSWERS && (reads || !(path in NETWORKS));
}

export class Engine {
  /** @param {Subject} subject */
  constructor(subject) {
    this.subject = subject;
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
    const machine = new Machine(manifest.tensors, blob), subject = new Subject(manifest, machine);
    await machine.start(wasm);
    return new Engine(subject);
  }

  /**
   * Answer a question; others get their turn meanwhile.
   * @param {string} path such as api/grid @param {any} asked @param {AbortSignal} [signal]
   * @returns {Promise<any>}
   */
  async answer(path, asked, signal) {
    const work = ANSWERS[path];
    if (!work) throw new Refusal(`there is nothing at ${path}`);
    const { name } = this.subject;
    for (const run of [asked.run, asked.beside]) { // a file holds one run
      if ((run ?? name) !== name) throw refusal("no_run", { run: repr(run), known: name });
    }
    if (!canAnswer(path, this.subject.manifest.run)) throw refusal("no_network", { what: NETWORKS[path] });
    return work(this.subject, asked, pauses(signal));
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
