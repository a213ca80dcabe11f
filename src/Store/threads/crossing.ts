import * as Option from "effect/Option"
import type { Vector } from "../../model/Passage.ts"
import type { IndexedPassage, PreparedDocument, Embedded, StoredDocument, StoredRef } from "../../model/Stored.ts"
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

/** Vectors in one buffer, since each costs as much to transfer as its bytes. */
interface PackedVectors {
  readonly values: Float32Array
  /** Each one's length; -1: there is none. */
  readonly lengths: Int32Array
}

/** Vectors that follow one another in memory that threads share, as one. */
const inShared = (vectors: ReadonlyArray<Vector | undefined>, length: number): Float32Array | undefined => {
  const first = vectors.find((vector) => vector !== undefined)
  if (!(first?.buffer instanceof SharedArrayBuffer)) return undefined
  const all = new Float32Array(first.buffer, first.byteOffset)
  let at = first.byteOffset
  for (const vector of vectors) {
    if (vector === undefined) continue
    if (vector.buffer !== first.buffer || vector.byteOffset !== at) return undefined
    at += vector.byteLength
  }
  return all.subarray(0, length)
}

const packVectors = (vectors: ReadonlyArray<Vector | undefined>): PackedVectors => {
  const length = vectors.reduce((sum, vector) => sum + (vector?.length ?? 0), 0)
  const shared = inShared(vectors, length)
  const lengths = Int32Array.from(vectors, (vector) => vector?.length ?? -1)
  if (shared !== undefined) return { values: shared, lengths }
  const values = new Float32Array(length)
  let at = 0
  for (const vector of vectors) {
    if (vector === undefined) continue
    values.set(vector, at)
    at += vector.length
  }
  return { values, lengths }
}

const unpackVectors = ({ lengths, values }: PackedVectors): ReadonlyArray<Vector | undefined> => {
  let at = 0
  return Array.from(lengths, (length) => (length === -1 ? undefined : values.subarray(at, (at += length))))
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
    function* (embedded: ReadonlyArray<Embedded>) {
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
