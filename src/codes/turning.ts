import { bitsOf, rotation } from "./rotation.ts"

/** How a collection's codes are made: the vectors' width, and the seed of the rotation. */
export interface Making {
  readonly width: number
  readonly seed: number
}

export const norm = (vector: Float32Array): number => {
  let square = 0
  for (let d = 0; d < vector.length; d++) square += vector[d]! * vector[d]!
  return Math.sqrt(square)
}

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
