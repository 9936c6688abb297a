// What a published file holds in its elements: base64 of gzip, which has a checksum of its own.

import { Refusal } from "../base/refusal.js";

const DAMAGED = "this file is damaged or cut short, so that no text can be read; get it again";
const OLD = "this browser cannot unpack the file (it has no DecompressionStream), so that no text can be read; "
  + "open it in one of 2023 or later";
const PIECE = 1 << 18; // characters, a multiple of four: decoded at once, so that nothing stands still for long

/** @param {string} held @returns {Promise<ArrayBuffer>} */
export async function unzipped(held) {
  if (typeof DecompressionStream === "undefined") throw new Refusal(OLD);
  const { readable, writable } = new DecompressionStream("gzip");
  const whole = new Response(readable).arrayBuffer(), writer = writable.getWriter();
  try {
    await Promise.all([whole, write(held, writer)]);
    return await whole;
  } catch {
    throw new Refusal(DAMAGED);
  }
}

/** @param {string} held @param {WritableStreamDefaultWriter<BufferSource>} writer */
async function write(held, writer) {
  for (let at = 0; at < held.length; at += PIECE) {
    const bytes = atob(held.slice(at, at + PIECE));
    await writer.write(Uint8Array.from(bytes, (character) => character.charCodeAt(0)));
  }
  await writer.close();
}

/** @param {string} held */
export async function unzippedJson(held) {
  return JSON.parse(new TextDecoder().decode(await unzipped(held)));
}
