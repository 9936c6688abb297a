// SHA-256 (FIPS 180-4), which browsers have for pages of some origins only, and not at once.

const ROUNDS = 64, BLOCK = 64; // rounds of a block, and its bytes

/** The first 32 bits of the fractional parts of a root of the first primes. @param {number} count @param {number} root */
function fractions(count, root) {
  /** @type {number[][]} */ const found = [];
  for (let n = 2; found.length < count; n++) {
    if (found.every(([prime]) => n % prime)) found.push([n, (n ** (1 / root) % 1) * 2 ** 32]);
  }
  return Int32Array.from(found, ([, fraction]) => fraction | 0);
}

const START = fractions(8, 2), ADDED = fractions(ROUNDS, 3);

/** The digest of some bytes, as bytes. @param {Uint8Array} bytes @returns {Uint8Array} */
export function sha256(bytes) {
  const state = Int32Array.from(START), words = new Int32Array(ROUNDS);
  const whole = bytes.length - (bytes.length % BLOCK);
  for (let at = 0; at < whole; at += BLOCK) take(state, words, bytes, at);
  const rest = bytes.length - whole, tail = new Uint8Array(rest < BLOCK - 8 ? BLOCK : 2 * BLOCK);
  tail.set(bytes.subarray(whole));
  tail[rest] = 128;
  new DataView(tail.buffer).setBigUint64(tail.length - 8, BigInt(bytes.length) * 8n);
  for (let at = 0; at < tail.length; at += BLOCK) take(state, words, tail, at);
  const digest = new Uint8Array(32), view = new DataView(digest.buffer);
  state.forEach((word, k) => view.setInt32(4 * k, word));
  return digest;
}

/** The digest of some bytes, or of a text, in hexadecimal. @param {Uint8Array | string} held */
export function sha256Hex(held) {
  const digest = sha256(typeof held === "string" ? new TextEncoder().encode(held) : held);
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Take a block into account. @param {Int32Array} state @param {Int32Array} w room @param {Uint8Array} bytes @param {number} at */
function take(state, w, bytes, at) {
  for (let t = 0; t < 16; t++, at += 4) w[t] = (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3];
  for (let t = 16; t < ROUNDS; t++) {
    const a = w[t - 15], b = w[t - 2];
    const first = ((a >>> 7) | (a << 25)) ^ ((a >>> 18) | (a << 14)) ^ (a >>> 3);
    const second = ((b >>> 17) | (b << 15)) ^ ((b >>> 19) | (b << 13)) ^ (b >>> 10);
    w[t] = (w[t - 16] + first + w[t - 7] + second) | 0;
  }
  let a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];
  for (let t = 0; t < ROUNDS; t++) {
    const turned = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const one = (h + turned + ((e & f) ^ (~e & g)) + ADDED[t] + w[t]) | 0;
    const mixed = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const two = (mixed + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g; g = f; f = e; e = (d + one) | 0;
    d = c; c = b; b = a; a = (one + two) | 0;
  }
  state[0] += a; state[1] += b; state[2] += c; state[3] += d; state[4] += e; state[5] += f; state[6] += g; state[7] += h;
}
