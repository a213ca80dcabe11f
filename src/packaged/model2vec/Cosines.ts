import { gibibyte, kernels, pageBytes, sharedMemory } from "../../runtime/wasm.ts"
import wasm, { type Kernel } from "./products.wasm.ts"
import type { Numbers } from "./safetensors.ts"

export const kernelOn = kernels<Kernel>(wasm)

/** Tokens of a question that others are compared with; more did not rank better. */
export const mostWanted = 8

/** Rows that are kept, unless one question needs more: 4 MB with 256 dimensions. */
const mostRows = 16_384

/** Cosines of a model's tokens. Rows are copied to the kernel's memory when they are first needed. */
export class Cosines {
  private readonly memory = sharedMemory(1, gibibyte)
  private readonly kernel = kernelOn(this.memory)
  private bytes = new Int8Array(this.memory.buffer)
  /** The number of each token's row in memory, from 1; 0: it has none. */
  private readonly numbers: Int32Array
  private readonly width: number
  private count = 0
  private capacity = 0

  /** `rowAt` is where a token's row begins in the matrix. */
  constructor(
    private readonly matrix: Numbers,
    private readonly dimensions: number,
    vocabularySize: number,
    private readonly rowAt: (id: number) => number
  ) {
    this.width = Math.ceil(dimensions / 16) * 16
    this.numbers = new Int32Array(vocabularySize)
  }

  /** The cosines of tokens with the first `wanted` of them, a token's after another; they hold until the next call. */
  among(ids: ReadonlyArray<number>, wanted: number): Float32Array {
    if (this.count + ids.length > this.capacity) {
      this.capacity = Math.max(mostRows, ids.length)
      this.count = 0
      this.numbers.fill(0)
    }
    // In memory: the squares of all rows, the numbers of those that are compared, their cosines, and the rows.
    const list = 8 * this.capacity
    const out = list + 4 * this.capacity
    const rows = out + 4 * this.capacity * mostWanted
    const missing = rows + (this.count + ids.length) * this.width - this.bytes.length
    if (missing > 0) {
      this.memory.grow(Math.ceil(missing / pageBytes))
      this.bytes = new Int8Array(this.memory.buffer)
    }
    const numbers = new Uint32Array(this.memory.buffer, list, ids.length)
    for (let at = 0; at < ids.length; at++) numbers[at] = (this.numbers[ids[at]!] ||= this.add(ids[at]!, rows)) - 1
    this.kernel.cosines(rows, 0, list, ids.length, wanted, this.width, out)
    return new Float32Array(this.memory.buffer, out, ids.length * wanted)
  }

  private add(id: number, rows: number): number {
    const row = rows + this.count * this.width
    this.write(this.rowAt(id), row)
    new Float64Array(this.memory.buffer, 8 * this.count, 1)[0] = this.kernel.square(row, this.width)
    return ++this.count
  }

  /** Writes a row of the matrix as signed bytes, as they are or scaled. */
  private write(at: number, row: number): void {
    const { bytes, dimensions, matrix } = this
    if (matrix instanceof Int8Array) {
      // A copy of so little is dearer by a view of it.
      for (let d = 0; d < dimensions; d++) bytes[row + d] = matrix[at + d]!
      return
    }
    let greatest = 0
    for (let d = 0; d < dimensions; d++) greatest = Math.max(greatest, Math.abs(matrix[at + d]!))
    for (let d = 0; d < dimensions; d++) {
      bytes[row + d] = greatest === 0 ? 0 : Math.round((127 * matrix[at + d]!) / greatest)
    }
  }
}
