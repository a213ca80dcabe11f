/*
 * Finer codes, by which the kernel ranks the candidates that the signs have found, so that few vectors have to be read:
 * 4 bits per dimension (as in extended RaBitQ, Gao et al. 2025, with one step for all dimensions of a vector). They are
 * made in memory from the stored vectors, and never stored.
 */
import { type Making, bitsOf, turning } from "./rotation.ts"

/** Values of a group: 16 bytes, the first half of the values in the low nibbles. */
const group = 32
const half = group / 2

const groupsOf = (width: number): number => Math.ceil(bitsOf(width) / group)

/** Bytes of a row: f32 factor, u32 epoch, the groups. */
export const rowBytes = (width: number): number => 8 + groupsOf(width) * half

/** The step between levels that loses least of values with a normal distribution of variance 1 (Max 1960, 16 levels). */
const normalStep = 0.3352

/** A query in the kernel's form: its product with a row's values is about step * sum. */
interface Finer {
  readonly values: Int16Array
  readonly groups: number
  readonly step: number
}

/** Makes rows of finer codes, and prepares queries for them. */
export const finer = (making: Making) => {
  const { residual, toward, values } = turning(making)
  const groups = groupsOf(making.width)
  const stride = rowBytes(making.width)
  const levels = new Uint8Array(groups * group)
  const row = new Uint8Array(stride)
  const view = new DataView(row.buffer)
  return {
    stride,

    /**
     * A vector's row, little-endian, until the next call. A level n from 0 to 15 stands for u = 2n - 15, and the factor f
     * = |v|² / Σ vᵢuᵢ makes the estimate c·q + f · Σ uᵢqᵢ one without bias.
     */
    rowOf: (vector: Float32Array, centroid: Float32Array, epoch: number): Uint8Array => {
      const square = residual(vector, centroid)
      const scale = 1 / (normalStep * Math.sqrt(square / values.length))
      let sum = 0
      for (let i = 0; i < values.length; i++) {
        const value = values[i]!
        const level = Math.min(15, Math.max(0, Math.floor(value * scale + 8)))
        sum += value * (2 * level - 15)
        levels[i] = level
      }
      for (let g = 0, at = 8; g < groups; g++) {
        for (let i = g * group; i < g * group + half; i++) row[at++] = levels[i]! | (levels[i + half]! << 4)
      }
      view.setFloat32(0, sum > 0 ? square / sum : 0, true)
      view.setUint32(4, epoch, true)
      return row
    },

    prepare: (query: Float32Array): Finer => {
      toward(query)
      const most = values.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0)
      // No sum of products with levels reaches 2^31.
      const scale = Math.min(32_767, Math.floor(2 ** 31 / (16 * values.length))) / most
      const prepared = new Int16Array(groups * group)
      for (let i = 0; i < values.length; i++) prepared[i] = Math.round(values[i]! * scale)
      return { values: prepared, groups, step: 1 / scale }
    }
  }
}
