import type { Numbers } from "./numbers.ts"

/** Tokens to pool: the start of each one's row in the matrix, and its weight. */
export interface Rows {
  count: number
  readonly offsets: Int32Array
  readonly weights: Float64Array
}

/*
 * All kernels keep some dimensions in registers while they go through the tokens, which is faster than adding row after
 * row. They are separate functions since V8 compiles each well only if it sees one kind of array.
 */

const poolBytes = (matrix: Int32Array, { count, offsets, weights }: Rows, sums: Float64Array): void => {
  for (let d = 0; d < sums.length; d += 4) {
    let a = 0
    let b = 0
    let c = 0
    let e = 0
    for (let t = 0; t < count; t++) {
      const four = matrix[(offsets[t]! + d) >> 2]!
      const weight = weights[t]!
      a += weight * ((four << 24) >> 24)
      b += weight * ((four << 16) >> 24)
      c += weight * ((four << 8) >> 24)
      e += weight * (four >> 24)
    }
    sums[d] = a
    sums[d + 1] = b
    sums[d + 2] = c
    sums[d + 3] = e
  }
}

const poolFloats = (matrix: Numbers["values"], { count, offsets, weights }: Rows, sums: Float64Array): void => {
  const whole = sums.length & ~3
  for (let d = 0; d < whole; d += 4) {
    let a = 0
    let b = 0
    let c = 0
    let e = 0
    for (let t = 0; t < count; t++) {
      const at = offsets[t]! + d
      const weight = weights[t]!
      a += weight * matrix[at]!
      b += weight * matrix[at + 1]!
      c += weight * matrix[at + 2]!
      e += weight * matrix[at + 3]!
    }
    sums[d] = a
    sums[d + 1] = b
    sums[d + 2] = c
    sums[d + 3] = e
  }
  for (let d = whole; d < sums.length; d++) {
    let a = 0
    for (let t = 0; t < count; t++) a += weights[t]! * matrix[offsets[t]! + d]!
    sums[d] = a
  }
}

const poolTable = (
  matrix: Numbers["values"],
  table: Float32Array,
  { count, offsets, weights }: Rows,
  sums: Float64Array
): void => {
  for (let d = 0; d < sums.length; d++) {
    let a = 0
    for (let t = 0; t < count; t++) a += weights[t]! * table[matrix[offsets[t]! + d]!]!
    sums[d] = a
  }
}

/** Returns a function that sets sums[d] = Σ weights[t] · matrix[offsets[t] + d] over the tokens t, for each dimension d. */
export const pooling = (matrix: Numbers, dimensions: number): ((rows: Rows, sums: Float64Array) => void) => {
  const { table, values } = matrix
  if (table !== undefined) return (rows, sums) => poolTable(values, table, rows, sums)
  if (values instanceof Int8Array && dimensions % 4 === 0 && values.byteOffset % 4 === 0) {
    const fours = new Int32Array(values.buffer, values.byteOffset, values.length / 4)
    return (rows, sums) => poolBytes(fours, rows, sums)
  }
  return (rows, sums) => poolFloats(values, rows, sums)
}
