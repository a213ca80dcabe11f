import type { Vector } from "../../model/Passage.ts"

/** Vectors in a few buffers. */
export interface PackedVectors {
  readonly slabs: ReadonlyArray<ArrayBufferLike>
  /** For each vector its slab, its start there, and its length; slab -1: there is none. */
  readonly places: Int32Array
}

const width = 3

/**
 * Prepares vectors for another thread. Those in shared memory stay where they are; the others are copied together,
 * since each buffer costs as much to transfer as its bytes.
 */
export const packVectors = (vectors: ReadonlyArray<Vector | undefined>): PackedVectors => {
  const places = new Int32Array(vectors.length * width)
  const slabs: Array<ArrayBufferLike> = []
  const numberOf = new Map<ArrayBufferLike, number>()
  const unshared = vectors.reduce(
    (sum, vector) => sum + (vector === undefined || vector.buffer instanceof SharedArrayBuffer ? 0 : vector.length),
    0
  )
  const copied = new Float32Array(unshared)
  let at = 0
  const slabOf = (buffer: ArrayBufferLike): number => {
    const known = numberOf.get(buffer) ?? slabs.push(buffer) - 1
    numberOf.set(buffer, known)
    return known
  }
  for (const [index, vector] of vectors.entries()) {
    if (vector === undefined) places[index * width] = -1
    else if (vector.buffer instanceof SharedArrayBuffer) {
      places.set([slabOf(vector.buffer), vector.byteOffset / 4, vector.length], index * width)
    } else {
      copied.set(vector, at)
      places.set([slabOf(copied.buffer), at, vector.length], index * width)
      at += vector.length
    }
  }
  return { slabs, places }
}

export const unpackVectors = ({ places, slabs }: PackedVectors): Array<Vector | undefined> => {
  const vectors: Array<Vector | undefined> = []
  for (let at = 0; at < places.length; at += width) {
    const slab = slabs[places[at]!]
    vectors.push(slab === undefined ? undefined : new Float32Array(slab, places[at + 1]! * 4, places[at + 2]!))
  }
  return vectors
}
