import { dot } from "../model/numbers.ts"

/** How a collection's codes are made: the vectors' width, and the seed of the rotation. */
export interface Making {
  readonly width: number
  readonly seed: number
}

export const norm = (vector: Float32Array): number => Math.sqrt(dot(vector, vector))

/** Rotates vectors; each call overwrites `values`, the `bitsOf(width)` values of the last one. */
export const turning = ({ seed, width }: Making) => {
  const rotate = rotation(width, seed)
  const values = new Float64Array(bitsOf(width))
  return {
    values: values as Readonly<Float64Array>,

    /**
     * The difference of a vector's direction and a centroid; returns the square of its length, NaN if the vector has no
     * direction.
     */
    residual: (vector: Float32Array, centroid: Float32Array): number => {
      const length = norm(vector)
      if (!(length > 0 && length < Infinity)) {
        values.fill(Number.NaN)
        return Number.NaN
      }
      values.fill(0)
      let square = 0
      for (let d = 0; d < width; d++) {
        const value = vector[d]! / length - centroid[d]!
        values[d] = value
        square += value * value
      }
      rotate(values)
      return square
    },

    /** A vector's direction. */
    toward: (vector: Float32Array): void => {
      const length = norm(vector)
      values.fill(0)
      for (let d = 0; d < width; d++) values[d] = vector[d]! / length
      rotate(values)
    }
  }
}

/**
 * Bits of a code: at least 64, at least one per dimension, and a multiple of 16 for the kernel's pairs of eight lines.
 */
export const bitsOf = (width: number): number => Math.max(64, Math.ceil(width / 16) * 16)

const rounds = 4

/** Random signs from a seed, the same on every machine (xorshift32, Marsaglia 2003). */
const signsOf = (seed: number, count: number): Float64Array => {
  let state = (seed | 0) === 0 ? 1 : seed | 0
  return Float64Array.from({ length: count }, () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state & 0x10000 ? 1 : -1
  })
}

/** The fast Walsh-Hadamard transform of `size` (a power of two) values from `from`, unscaled. */
const hadamard = (values: Float64Array, from: number, size: number): void => {
  const to = from + size
  let half = 1
  // Two steps at once: half the reads and writes.
  for (; half * 4 <= size; half *= 4) {
    const step = half * 4
    for (let start = from; start < to; start += step) {
      for (let i = start; i < start + half; i++) {
        const a = values[i]!
        const b = values[i + half]!
        const c = values[i + 2 * half]!
        const d = values[i + 3 * half]!
        values[i] = a + b + (c + d)
        values[i + half] = a - b + (c - d)
        values[i + 2 * half] = a + b - (c + d)
        values[i + 3 * half] = a - b - (c - d)
      }
    }
  }
  if (half < size) {
    for (let i = from; i < from + half; i++) {
      const a = values[i]!
      const b = values[i + half]!
      values[i] = a + b
      values[i + half] = a - b
    }
  }
}

/**
 * A random rotation of vectors padded with zeros to `bitsOf(width)` values. Each round applies random signs, a Hadamard
 * transform of the largest power of two that fits (alternately at the front and the back), and a rotation by 45° of each
 * value with the one half the length away, so that front and back mix at any length. The seed determines it.
 */
export const rotation = (width: number, seed: number): ((vector: Float64Array) => void) => {
  const bits = bitsOf(width)
  const size = 2 ** Math.floor(Math.log2(bits))
  const scale = 1 / Math.sqrt(size)
  const signs = Array.from({ length: rounds }, (_, round) => {
    const scaled = signsOf(Math.imul(seed, 0x9e3779b1) + round + 1, bits)
    const from = round % 2 === 0 ? 0 : bits - size
    for (let i = from; i < from + size; i++) scaled[i]! *= scale
    return { from, scaled }
  })
  const half = bits / 2
  return (vector) => {
    for (const { from, scaled } of signs) {
      for (let i = 0; i < bits; i++) vector[i]! *= scaled[i]!
      hadamard(vector, from, size)
      if (size === bits) continue
      for (let i = 0; i < half; i++) {
        const a = vector[i]!
        const b = vector[i + half]!
        vector[i] = (a + b) * Math.SQRT1_2
        vector[i + half] = (a - b) * Math.SQRT1_2
      }
    }
  }
}
