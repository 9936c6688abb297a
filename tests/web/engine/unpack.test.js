// Unpacking: tensors of every sort become rows of single precision numbers, filled up to multiples of four.

import assert from "node:assert/strict";
import test from "node:test";

import { Room, Tensors } from "../../../src/rnnlens/page/web/engine/unpack.js";

/** @param {...ArrayBufferView} parts one after the other, each from a multiple of four bytes */
function blobOf(...parts) {
  const places = [], bytes = new Uint8Array(1000);
  let at = 0;
  for (const part of parts) {
    places.push(at);
    bytes.set(new Uint8Array(part.buffer), at);
    at += (part.byteLength + 3) & ~3;
  }
  return { blob: bytes.buffer, places };
}

const HALVES = Uint16Array.of(0x3c00, 0xc000, 0x0001, 0x7bff, 0x3555, 0x8000); // 1 -2 2^-24 65504 1/3 -0

test("half precision numbers, tiny ones and large ones, times their unit", () => {
  const { blob, places } = blobOf(HALVES), room = new Room();
  const tensors = new Tensors([{ sort: "fp16", shape: [2, 3], at: places[0], unit: 4 }], blob, room);
  const matrix = tensors.matrix(0), floats = new Float32Array(room.used);
  tensors.fill({ floats, integers: new Int32Array(floats.buffer) });
  assert.deepEqual({ ...matrix }, { at: 0, rows: 2, columns: 3, stride: 4 });
  assert.deepEqual([...floats], [4, -8, 2 ** -22, 0, 262016, 4 * 0.333251953125, -0, 0]);
});

test("whole numbers have a scale for each block of a row", () => {
  const whole = Int8Array.of(127, -127, 1, 10, -10, 2), scales = Uint16Array.of(0x3c00, 0x4000, 0x3800, 0xbc00); // 1 2 0.5 -1
  const { blob, places } = blobOf(whole, scales), room = new Room();
  const layout = { sort: /** @type {const} */ ("int8"), shape: [2, 3], at: places[0], scales: places[1], unit: 0.5, block: 2 };
  const tensors = new Tensors([layout], blob, room);
  tensors.matrix(0);
  const floats = new Float32Array(room.used);
  tensors.fill({ floats, integers: new Int32Array(floats.buffer) });
  assert.deepEqual([...floats], [63.5, -63.5, 1, 0, 2.5, -2.5, -1, 0]);
});

test("a tensor that is named twice has one place, and one that is not named has none", () => {
  const { blob, places } = blobOf(Float32Array.of(1, 2, 3, 4, 5)), room = new Room();
  const layout = { sort: /** @type {const} */ ("fp32"), shape: [5], at: places[0] }, tensors = new Tensors([layout, layout], blob, room);
  assert.equal(tensors.matrix(1), tensors.matrix(1));
  assert.equal(tensors.perhaps(null), null);
  assert.equal(room.used, 8);
  assert.deepEqual([...tensors.vector(0)], [1, 2, 3, 4, 5]);
});

test("groups are whole numbers apart from the memory", () => {
  const { blob, places } = blobOf(Uint8Array.of(3, 0, 255), Uint32Array.of(70_000, 1));
  const tensors = new Tensors([{ sort: "uint8", shape: [3], at: places[0] }, { sort: "uint32", shape: [2], at: places[1] }],
    blob, new Room());
  assert.deepEqual([[...tensors.numbers(0)], [...tensors.numbers(1)]], [[3, 0, 255], [70_000, 1]]);
  assert.throws(() => tensors.vector(0), /uint8 holds no weights/);
});
