// What a published file holds in its elements: gzip, which has a checksum of its own, as text of seven bits a character.

import { Refusal } from "../base/refusal.js";

const DAMAGED = "this file is damaged or cut short, so that no text can be read; get it again";
const OLD = "this browser cannot unpack the file (it has no DecompressionStream), so that no text can be read; "
  + "open it in one of 2023 or later";
const PIECE = 1 << 19; // characters, a multiple of eight: as many as are decoded at once
const STANDS_FOR = [0, 13, 60]; // characters that HTML does not leave as they are, written as those from À on

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
  for (let at = 0; at < held.length; at += PIECE) await writer.write(bytesOf(held, at, Math.min(at + PIECE, held.length)));
  await writer.close();
}

/** The bytes of some characters, seven of each eight. @param {string} held @param {number} first @param {number} end */
export function bytesOf(held, first, end) {
  const bytes = new Uint8Array(Math.floor(((end - first) * 7) / 8));
  let bits = 0, count = 0, at = 0;
  for (let k = first; k < end; k++) {
    const code = held.charCodeAt(k);
    bits = (bits << 7) | (code < 128 ? code : STANDS_FOR[code - 192]);
    count += 7;
    if (count >= 8) {
      count -= 8;
      bytes[at++] = bits >> count;
      bits &= (1 << count) - 1;
    }
  }
  return bytes;
}

/** @param {string} held */
export async function unzippedJson(held) {
  return JSON.parse(new TextDecoder().decode(await unzipped(held)));
}
