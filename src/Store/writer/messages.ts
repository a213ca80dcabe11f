import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Vector } from "../../model/Passage.ts"
import {
  CollectionExists,
  CollectionNotFound,
  DocumentConflict,
  DocumentNotFound,
  EmbedderMismatch,
  type IndexedPassage,
  type PreparedDocument,
  type Reindexed,
  type Store,
  StoreUnavailable
} from "../../Store.ts"

/** The port's writes, which run in the writer's thread. */
export const writes = [
  "createCollection",
  "dropCollection",
  "put",
  "touch",
  "prune",
  "beginReindex",
  "putReindexed",
  "finishReindex",
  "deleteDocument",
  "deleteSource"
] as const satisfies ReadonlyArray<keyof typeof Store.Service>

export type Write = (typeof writes)[number]

/** A call of a write: what structured cloning carries over. */
export interface Call {
  readonly write: Write
  readonly args: ReadonlyArray<unknown>
}

/** Fails as the port's writes do. */
export const Failure = Schema.Union(
  CollectionExists,
  CollectionNotFound,
  DocumentConflict,
  DocumentNotFound,
  EmbedderMismatch,
  StoreUnavailable
)

/** What came of a call; a failure stands as its schema encodes it. */
export type Outcome = { readonly value: unknown } | { readonly failure: typeof Failure.Encoded }

export interface WriterData {
  readonly filename: string
}

/** An Option does not survive cloning, so a vector crosses bare. */
interface Bare {
  readonly vector: Vector | undefined
}

const toBare = <A extends { readonly vector: Option.Option<Vector> }>(carrier: A) => ({
  ...carrier,
  vector: Option.getOrUndefined(carrier.vector)
})

const fromBare = <A extends Bare>(carrier: A) => ({ ...carrier, vector: Option.fromNullable(carrier.vector) })

const mapPassages =
  <A, B>(map: (passage: A) => B) =>
  (documents: unknown): unknown =>
    (documents as ReadonlyArray<{ readonly passages: ReadonlyArray<A> }>).map((document) => ({
      ...document,
      passages: document.passages.map(map)
    }))

/** How a write's second argument crosses, where it holds vectors. */
const crossing: Partial<
  Record<Write, { readonly out: (arg: unknown) => unknown; readonly in: (arg: unknown) => unknown }>
> = {
  put: {
    out: mapPassages<IndexedPassage, unknown>(toBare) satisfies (documents: ReadonlyArray<PreparedDocument>) => unknown,
    in: mapPassages<Bare, unknown>(fromBare)
  },
  putReindexed: {
    out: (arg) => (arg as ReadonlyArray<Reindexed>).map(toBare),
    in: (arg) => (arg as ReadonlyArray<Bare>).map(fromBare)
  }
}

const cross = (direction: "in" | "out") => (write: Write, args: ReadonlyArray<unknown>) => {
  const convert = crossing[write]?.[direction]
  return convert === undefined ? args : args.map((arg, index) => (index === 1 ? convert(arg) : arg))
}

export const toCall = (write: Write, args: ReadonlyArray<unknown>): Call => ({ write, args: cross("out")(write, args) })

export const argsOf = ({ args, write }: Call): ReadonlyArray<unknown> => cross("in")(write, args)
