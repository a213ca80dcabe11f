import { type Making, bitsOf, norm, turning } from "./rotation.ts"
import { dot } from "../model/numbers.ts"

/** Bytes of a row's code. */
export const bytesOf = (width: number): number => bitsOf(width) / 8

/** Codes of vectors, row by row; a vector without a direction has the factor NaN. */
export interface Coded {
  readonly ids: Uint32Array
  readonly factors: Float32Array
  /** `bytesOf(width)` bytes per row; bit j of byte i is set if value 8*i + j of the rotated vector is not negative. */
  readonly codes: Uint8Array
}

/** A query in the kernel's form: the product of its rotated values with a code's signs is step * sum + least. */
export interface Prepared {
  /** For each four values, a table of the sums for all their signs, in steps above the least. */
  readonly tables: Uint8Array
  readonly step: number
  readonly least: number
}

/** The mean direction of vectors. */
export const meanOf = (vectors: Iterable<Float32Array>, width: number): Float32Array => {
  const sum = new Float64Array(width)
  let count = 0
  for (const vector of vectors) {
    const length = norm(vector)
    if (!(length > 0 && length < Infinity)) continue
    for (let d = 0; d < width; d++) sum[d]! += vector[d]! / length
    count++
  }
  return Float32Array.from(sum, (value) => value / Math.max(1, count))
}

/** Writes the signs of values as bits, and returns the sum of their absolute values. */
const writeSigns = (values: Float64Array, codes: Uint8Array, at: number): number => {
  let sum = 0
  for (let from = 0; from < values.length; from += 8) {
    let byte = 0
    for (let j = 0; j < 8; j++) {
      const value = values[from + j]!
      if (value >= 0) byte |= 1 << j
      sum += Math.abs(value)
    }
    codes[at + from / 8] = byte
  }
  return sum
}

/**
 * RaBitQ (Gao & Long, SIGMOD 2024): the signs of the rotated difference v of the vector's direction o and the centroid
 * c, and the factor f = |o - c|² / Σ|vᵢ|, so that cos ≈ c·q + f · Σ ±qᵢ without bias.
 */
export const encoder = (making: Making) => {
  const { residual, toward, values } = turning(making)
  const bytes = bytesOf(making.width)
  return {
    encode: (
      rows: ReadonlyArray<{ readonly id: number; readonly vector: Float32Array }>,
      centroid: Float32Array
    ): Coded => {
      const ids = new Uint32Array(rows.length)
      const factors = new Float32Array(rows.length)
      const codes = new Uint8Array(rows.length * bytes)
      for (let row = 0; row < rows.length; row++) {
        const { id, vector } = rows[row]!
        ids[row] = id
        const square = residual(vector, centroid)
        const sum = writeSigns(values, codes, row * bytes)
        factors[row] = sum > 0 ? square / sum : square === 0 ? 0 : Number.NaN
      }
      return { ids, factors, codes }
    },

    /**
     * The query's tables. A table's entries are at most 63, so that four add up in a byte, and all of them in 16 bits.
     */
    prepare: (query: Float32Array): Prepared => {
      toward(query)
      const tables = bytes * 2
      const reach = new Float64Array(tables)
      for (let i = 0; i < values.length; i++) reach[i >> 2]! += Math.abs(values[i]!)
      const most = Math.min(63, Math.floor(65_535 / tables))
      const step = (2 * Math.max(...reach)) / most
      const entries = new Uint8Array(tables * 16)
      for (let table = 0; table < tables; table++) {
        for (let signs = 0; signs < 16; signs++) {
          let sum = reach[table]!
          for (let j = 0; j < 4; j++) sum += (signs >> j) & 1 ? values[table * 4 + j]! : -values[table * 4 + j]!
          entries[table * 16 + signs] = Math.round(sum / step)
        }
      }
      return { tables: entries, step, least: -reach.reduce((sum, value) => sum + value, 0) }
    }
  }
}

/** The cosine of a query and a centroid, which need not have length 1. */
export const offset = (query: Float32Array, centroid: Float32Array): number => dot(query, centroid) / norm(query)
