// The tensors of a published lens, as single precision numbers in one memory. Every row begins at a multiple of four
// numbers and is filled up with zeros, so that kernels can take four at a time.

/** @typedef {import("./manifest.d.ts").Layout} Layout */
/** @typedef {{at: number, rows: number, columns: number, stride: number}} Matrix where it lies in the memory, in numbers */
/** @typedef {{floats: Float32Array, integers: Int32Array}} Memory two views of the same numbers */

/** The next multiple of four. @param {number} count */
export function padded(count) {
  return (count + 3) & ~3;
}

/** Room in a memory that is made when all of it is known. */
export class Room {
  constructor() {
    this.used = 0;
  }

  /** Where so many numbers have room. @param {number} count */
  take(count) {
    const at = this.used;
    this.used += padded(count);
    return at;
  }

  /** @param {number} rows @param {number} columns @returns {Matrix} */
  matrix(rows, columns) {
    const stride = padded(columns);
    return { at: this.take(rows * stride), rows, columns, stride };
  }
}

/** Tensors by their numbers; they are given room when they are first named, and read when there is a memory. */
export class Tensors {
  /** @param {Layout[]} layouts @param {ArrayBuffer} blob @param {Room} room */
  constructor(layouts, blob, room) {
    this.layouts = layouts;
    this.blob = blob;
    this.room = room;
    /** @type {Map<number, Matrix>} */ this.placed = new Map();
    /** @type {Float32Array | null} */ this.halves = null;
  }

  /** A tensor with its place; of one axis it is a single row. @param {number} number */
  matrix(number) {
    let matrix = this.placed.get(number);
    if (!matrix) {
      const { shape } = this.layouts[number];
      matrix = this.room.matrix(shape.length > 1 ? shape[0] : 1, shape[shape.length - 1]);
      this.placed.set(number, matrix);
    }
    return matrix;
  }

  /** The same, or null where there is none. @param {number | null} number */
  perhaps(number) {
    return number === null ? null : this.matrix(number);
  }

  /** Whole numbers, apart from the memory. @param {number} number */
  numbers(number) {
    const { sort, shape, at } = this.layouts[number], count = shape[0];
    return (sort === "uint8" ? new Uint8Array(this.blob, at, count) : new Uint32Array(this.blob, at, count)).slice();
  }

  /** The numbers of a tensor, row after row, apart from the memory. @param {number} number */
  vector(number) {
    const { shape } = this.layouts[number], columns = shape.at(-1) ?? 0;
    const values = new Float32Array(shape.reduce((product, one) => product * one, 1));
    this.read(this.layouts[number], values, columns, columns);
    return values;
  }

  /** Read all that has a place, and let the file's bytes go: nothing is read from them later. @param {Memory} memory */
  fill(memory) {
    for (const [number, { at, rows, columns, stride }] of this.placed) {
      this.read(this.layouts[number], memory.floats.subarray(at, at + rows * stride), columns, stride);
    }
    this.blob = new ArrayBuffer(0);
    this.halves = null;
  }

  /** @param {Layout} layout @param {Float32Array} into @param {number} columns @param {number} stride */
  read(layout, into, columns, stride) {
    const rows = into.length / stride, count = rows * columns;
    if (layout.sort === "fp32") {
      spread(new Float32Array(this.blob, layout.at, count), into, columns, stride);
    } else if (layout.sort === "fp16") {
      this.readHalves(layout.at, layout.unit ?? 1, into, columns, stride);
    } else if (layout.sort === "int8") {
      const { block = columns } = layout, blocks = Math.ceil(columns / block);
      const whole = new Int8Array(this.blob, layout.at, count), scales = new Float32Array(rows * blocks);
      this.readHalves(layout.scales ?? 0, layout.unit ?? 1, scales, scales.length, scales.length);
      for (let row = 0, from = 0, at = 0; row < rows; row++) {
        for (let start = 0; start < columns; start += block) {
          const scale = scales[at++], end = row * stride + Math.min(start + block, columns);
          for (let to = row * stride + start; to < end; to++) into[to] = whole[from++] * scale;
        }
      }
    } else {
      throw new Error(`a tensor of ${layout.sort} holds no weights`);
    }
  }

  /** @param {number} at bytes @param {number} unit @param {Float32Array} into @param {number} columns @param {number} stride */
  readHalves(at, unit, into, columns, stride) {
    const table = (this.halves ??= halfTable()), rows = into.length / stride;
    const bits = new Uint16Array(this.blob, at, rows * columns);
    for (let row = 0, from = 0; row < rows; row++) {
      for (let k = 0, to = row * stride; k < columns; k++) into[to++] = table[bits[from++]] * unit;
    }
  }
}

/** @param {Float32Array} from @param {Float32Array} into @param {number} columns @param {number} stride */
function spread(from, into, columns, stride) {
  for (let row = 0; row * stride < into.length; row++) {
    into.set(from.subarray(row * columns, (row + 1) * columns), row * stride);
  }
}

/** The value of every number in half precision, by its bits. */
function halfTable() {
  const table = new Float32Array(65_536);
  for (let bits = 0; bits < 32_768; bits++) {
    const exponent = bits >> 10, fraction = bits & 1023;
    const value = exponent === 31 ? (fraction ? NaN : Infinity)
      : exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24;
    table[bits] = value;
    table[bits + 32_768] = -value;
  }
  return table;
}
