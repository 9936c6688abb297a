import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { test } from "node:test";
import { sha256Hex } from "../../../src/rnnlens/page/web/base/sha256.js";

const reference = (held) => createHash("sha256").update(held).digest("hex");

test("the digests that are published", () => {
  assert.equal(sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  assert.equal(sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
});

test("bytes of every length around those of a block, and a text of many sorts of characters", () => {
  for (let length = 0; length < 200; length++) {
    const bytes = new Uint8Array(randomBytes(length));
    assert.equal(sha256Hex(bytes), reference(bytes), `${length} bytes`);
  }
  assert.equal(sha256Hex("é日本\u{1f600}"), reference("é日本\u{1f600}"));
  const many = new Uint8Array(randomBytes(1_000_003));
  assert.equal(sha256Hex(many), reference(many));
});
