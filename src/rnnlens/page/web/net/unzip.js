// What a published file holds in its elements: gzip, as text of seven bits a character.

import { Refusal } from "../base/refusal.js";
import { sha256Hex } from "../base/sha256.js";

const DAMAGED = "this file is damaged or cut short, so that no text can be read; get it again";
const OLD = "this browser cannot unpack the file (it has no DecompressionStream), so that no text can be read; "
  + "open it in one of 2023 or later";
const PIECE = 1 << 19; // characters, a multiple of eight: as many as are decoded at once
const STANDS_FOR = [0, 13, 60]; // characters that HTML does not leave as they are, written as those from À on

/** @param {string} held @param {number} size bytes that it comes to @param {string} sum their SHA-256 @returns {Promise<ArrayBuffer>} */
export async function unzipped(held, size, sum) {
  if (typeof DecompressionStream === "undefined") throw new Refusal(OLD);
  const { readable, writable } = new DecompressionStream("gzip");
  try {
    const [whole] = await Promise.all([read(readable.getReader(), size), write(held, writable.getWriter())]);
    if (sha256Hex(new Uint8Array(whole)) !== sum) throw new RangeError("bytes are others");
    return whole;
  } catch {
    throw new Refusal(DAMAGED);
  }
}

/** What a stream has, put together as it comes. @param {ReadableStreamDefaultReader<Uint8Array>} reader @param {number} size */
async function read(reader, size) {
  const whole = new Uint8Array(size);
  let at = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    whole.set(part.value, at);
    at += part.value.length;
  }
  if (at !== size) throw new RangeError("bytes are missing");
  return whole.buffer;
}

/** @param {string} held @param {WritableStreamDefaultWriter<BufferSource>} writer */
async function write(held, writer) {
  const room = new Uint8Array((PIECE * 7) / 8); // one for all pieces: each is read before the next is written
  for (let at = 0; at < held.length; at += PIECE) {
    const count = putBytes(held, at, Math.min(at + PIECE, held.length), room);
    await writer.write(room.subarray(0, count));
  }
  await writer.close();
}

/**
 * Put the bytes of some characters into an array, seven of each eight; how many there are.
 * @param {string} held @param {number} first @param {number} end @param {Uint8Array} bytes
 */
function putBytes(held, first, end, bytes) {
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
  return at;
}

/** @param {string} held @param {number} size bytes that it comes to @param {string} sum their SHA-256 */
export async function unzippedText(held, size, sum) {
  return new TextDecoder().decode(await unzipped(held, size, sum));
}

/** @param {string} held @param {number} size bytes that it comes to @param {string} sum their SHA-256 */
export async function unzippedJson(held, size, sum) {
  return JSON.parse(await unzippedText(held, size, sum));
}
