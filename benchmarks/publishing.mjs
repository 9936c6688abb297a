// How long the engine of a published lens takes, in WebAssembly and without: to open, for each word of a text, also in
// processor time, for a key at its end, and how long nobody else gets a turn. Arguments: the files of the manifest and of the tensors.

import { readFileSync } from "node:fs";

import { Engine } from "../src/rnnlens/page/web/engine/engine.js";

const [manifest, blob] = process.argv.slice(2).map((name) => readFileSync(name)), { texts } = JSON.parse(readFileSync(0, "utf-8"));
const ROUNDS = 5, KEYS = "abcdefghijklmnopqrstuvwxyz";

/** @param {number[]} values */
const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

/** How long something takes, in ms. @param {() => Promise<unknown>} work */
async function took(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** The longest time for which a timer that wants a turn as often as possible gets none. @param {() => Promise<unknown>} work */
async function longestWait(work) {
  let since = performance.now(), longest = 0;
  const tick = () => {
    longest = Math.max(longest, performance.now() - since);
    since = performance.now();
  };
  const timer = setInterval(tick, 1);
  await work();
  clearInterval(timer);
  return longest;
}

const names = JSON.parse(manifest.toString()).text.labels.names.slice(20, 60);
const found = {};
for (const wasm of [true, false]) {
  const bytes = blob.buffer.slice(blob.byteOffset, blob.byteOffset + blob.length);
  let engine;
  const open = await took(async () => { engine = await Engine.of(JSON.parse(manifest.toString()), bytes, { wasm }); });
  const words = [], busy = [], keys = [];
  for (let round = 0; round < ROUNDS; round++) {
    for (const text of texts) {
      const before = process.cpuUsage(), count = text.split(" ").length + 1;
      words.push((await took(() => engine.answer("api/grid", { text: `${KEYS[round]} ${text}`, limit: 100 }))) / count);
      const { user, system } = process.cpuUsage(before);
      busy.push((user + system) / 1000 / count);
    }
  }
  const line = texts.join(" ").split(" ").slice(0, 19).join(" ");
  for (let round = 0, previous = ""; round < 2 * ROUNDS; round++) { // a known word at the end, each another
    const text = `${line} ${names[round]}`;
    keys.push(await took(() => engine.answer("api/grid", { text, previous, have: 20, limit: 3 })));
    previous = text;
  }
  const long = Array.from({ length: 200 }, (_, k) => texts[k % texts.length]).join(" ").split(" ").slice(0, 300).join(" ");
  const wait = await longestWait(() => engine.answer("api/grid", { text: long, limit: 300 }));
  found[wasm ? "wasm" : "plain"] = { open, word: median(words), processor: median(busy), best: Math.min(...words), key: median(keys.slice(1)), wait,
    memory: engine.subject.machine.floats.byteLength / 1e6 };
}
process.stdout.write(JSON.stringify(found));
