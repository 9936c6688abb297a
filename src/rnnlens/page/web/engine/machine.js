// The memory that a lens computes in, and what computes in it.

import { kernelsFor } from "./kernels.js";
import { PlainKernels } from "./plain.js";
import { Room, Tensors } from "./unpack.js";

/** Everything takes its room first; then the memory is made, and the tensors are read into it. */
export class Machine {
  /** @param {import("./manifest.d.ts").Layout[]} layouts @param {ArrayBuffer} blob */
  constructor(layouts, blob) {
    this.room = new Room();
    this.tensors = new Tensors(layouts, blob, this.room);
    /** @type {import("./kernels.js").Kernels} */ this.kernels = new PlainKernels(0); // until it is started
    /** @type {(() => void)[]} */ this.waiting = [];
  }

  get floats() {
    return this.kernels.floats;
  }

  /** Do something as soon as there is a memory with all tensors. @param {() => void} work */
  whenStarted(work) {
    this.waiting.push(work);
  }

  /** Make the memory. @param {boolean} wasm whether to compute in WebAssembly where the browser has it */
  async start(wasm) {
    this.kernels = await kernelsFor(this.room.used, wasm);
    this.tensors.fill(this.kernels);
    for (const work of this.waiting.splice(0)) work();
  }

  /** Put a vector where kernels read it, with zeros after it. @param {Float32Array} values @param {number} at @param {number} stride */
  put(values, at, stride) {
    this.floats.set(values, at);
    this.floats.fill(0, at + values.length, at + stride);
  }
}
