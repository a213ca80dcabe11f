import * as Option from "effect/Option"
import type { Vector } from "../../model/Passage.ts"
import type { IndexedPassage, PreparedDocument, Reindexed, StoredDocument, StoredRef } from "../../model/Stored.ts"
import { type PackedPassages, packPassages, packingPassages, unpackPassages } from "../../model/packedPassages.ts"
import type { Steps } from "../../runtime/EventLoop.ts"
import type { Method } from "./messages.ts"

/** A stored document; its passages' ordinals are implied by their order. */
interface PackedDocument extends Omit<StoredDocument, "passages"> {
  readonly passages: PackedPassages
}

export const packDocument = ({ passages, ...document }: StoredDocument): PackedDocument => ({
  ...document,
  passages: packPassages(passages)
})

export const unpackDocument = ({ passages, ...document }: PackedDocument): StoredDocument => ({
  ...document,
  passages: unpackPassages(document.content, passages, (passage, ordinal) => ({ ordinal, ...passage }))
})

/** A document to be stored. */
interface PackedPrepared extends Omit<PreparedDocument, "passages"> {
  readonly passages: PackedPassages
  readonly vectors: PackedVectors
  /** What a model said of the few passages that it read, by ordinal. */
  readonly said: ReadonlyMap<number, IndexedPassage["said"]>
}

/** In steps: a document with many passages would block everything else. */
export function* packingPrepared({ passages, ...document }: PreparedDocument): Steps<PackedPrepared> {
  const packed = yield* packingPassages(passages)
  return {
    ...document,
    passages: packed,
    vectors: packVectors(passages.map(({ vector }) => Option.getOrUndefined(vector))),
    said: new Map(passages.flatMap(({ said }, ordinal) => (said === undefined ? [] : [[ordinal, said]])))
  }
}

export const unpackPrepared = ({ passages, said, vectors, ...document }: PackedPrepared): PreparedDocument => {
  const found = unpackVectors(vectors)
  return {
    ...document,
    passages: unpackPassages(document.content, passages, (passage, ordinal) => ({
      ...passage,
      ...(said.has(ordinal) ? { said: said.get(ordinal) } : {}),
      vector: Option.fromNullable(found[ordinal])
    }))
  }
}

/** Vectors in a few buffers. */
interface PackedVectors {
  readonly slabs: ReadonlyArray<ArrayBufferLike>
  /** For each vector its slab, its start there, and its length; slab -1: there is none. */
  readonly places: Int32Array
}

const width = 3

/**
 * Prepares vectors for another thread. Those in shared memory stay where they are; the others are copied together,
 * since each buffer costs as much to transfer as its bytes.
 */
const packVectors = (vectors: ReadonlyArray<Vector | undefined>): PackedVectors => {
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

const unpackVectors = ({ places, slabs }: PackedVectors): Array<Vector | undefined> => {
  const vectors: Array<Vector | undefined> = []
  for (let at = 0; at < places.length; at += width) {
    const slab = slabs[places[at]!]
    vectors.push(slab === undefined ? undefined : new Float32Array(slab, places[at + 1]! * 4, places[at + 2]!))
  }
  return vectors
}

/** Prepares a value for structured cloning, in steps for an argument, and restores it on the other side. */
interface Crossing<Out> {
  readonly out: (value: unknown) => Out
  readonly in: (bare: unknown) => unknown
}

const argumentOf = <A, B>(out: (value: A) => Steps<B>, into: (bare: B) => A) =>
  ({ out, in: into }) as Crossing<unknown> as Crossing<Steps<unknown>>

const resultOf = <A, B>(out: (value: A) => B, into: (bare: B) => A) => ({ out, in: into }) as Crossing<unknown>

/** The second argument, for methods where it contains vectors. */
const argument: Partial<Record<Method, Crossing<Steps<unknown>>>> = {
  put: argumentOf(
    function* (documents: ReadonlyArray<PreparedDocument>) {
      const packed: Array<PackedPrepared> = []
      for (const document of documents) packed.push(yield* packingPrepared(document))
      return packed
    },
    (bare) => bare.map(unpackPrepared)
  ),
  // An Option does not survive cloning. There are few.
  putReindexed: argumentOf(
    function* (embedded: ReadonlyArray<Reindexed>) {
      yield
      return embedded.map(({ id, vector }) => ({ id, vector: Option.getOrUndefined(vector) }))
    },
    (bare) => bare.map(({ id, vector }) => ({ id, vector: Option.fromNullable(vector) }))
  )
}

const asItIs: Crossing<unknown> = { out: (value) => value, in: (bare) => bare }

const result: Partial<Record<Method, Crossing<unknown>>> = {
  lookup: resultOf(
    (found: ReadonlyArray<Option.Option<StoredRef>>) => found.map(Option.getOrUndefined),
    (bare) => bare.map(Option.fromNullable)
  ),
  get: resultOf(packDocument, unpackDocument)
}

/** Prepares arguments and results for leaving a thread. */
export const leaving = {
  args: function* (method: Method, args: ReadonlyArray<unknown>): Steps<ReadonlyArray<unknown>> {
    const convert = argument[method]?.out
    return convert === undefined ? args : [args[0], yield* convert(args[1]), ...args.slice(2)]
  },
  result: (method: Method, value: unknown): unknown => (result[method] ?? asItIs).out(value)
}

/** Restores what `leaving` has prepared. */
export const arriving = {
  args: (method: Method, args: ReadonlyArray<unknown>): ReadonlyArray<unknown> => {
    const convert = argument[method]?.in
    return convert === undefined ? args : [args[0], convert(args[1]), ...args.slice(2)]
  },
  result: (method: Method, value: unknown): unknown => (result[method] ?? asItIs).in(value)
}
