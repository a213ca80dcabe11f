import * as Option from "effect/Option"
import type { PreparedDocument, Reindexed, StoredRef } from "../../model/Stored.ts"
import type { Method } from "./messages.ts"
import type { Steps } from "../../runtime/EventLoop.ts"
import { packDocument, type PackedPrepared, packingPrepared, unpackDocument, unpackPrepared } from "./packed.ts"

/** Prepares a value for structured cloning, in steps for an argument, and restores it on the other side. */
interface Crossing<Out> {
  readonly out: (value: unknown) => Out
  readonly in: (bare: unknown) => unknown
}

const argumentOf = <A, B>(out: (value: A) => Steps<B>, into: (bare: B) => A) =>
  ({ out, in: into }) as Crossing<unknown> as Crossing<Steps<unknown>>

const resultOf = <A, B>(out: (value: A) => B, into: (bare: B) => A) => ({ out, in: into }) as Crossing<unknown>

// An Option does not survive cloning.
const toBare = <A extends { readonly vector: Option.Option<unknown> }>(carrier: A) => ({
  ...carrier,
  vector: Option.getOrUndefined(carrier.vector) as Option.Option.Value<A["vector"]> | undefined
})
const fromBare = <A extends { readonly vector: unknown }>(bare: A) => ({
  ...bare,
  vector: Option.fromNullable(bare.vector)
})

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
  putReindexed: argumentOf(
    function* (embedded: ReadonlyArray<Reindexed>) {
      const bare: Array<ReturnType<typeof toBare<Reindexed>>> = []
      for (const each of embedded) {
        bare.push(toBare(each))
        yield
      }
      return bare
    },
    (bare) => bare.map(fromBare) as ReadonlyArray<Reindexed>
  )
}

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
  result: (method: Method, value: unknown): unknown => {
    const convert = result[method]?.out
    return convert === undefined ? value : convert(value)
  }
}

/** Restores what `leaving` has prepared. */
export const arriving = {
  args: (method: Method, args: ReadonlyArray<unknown>): ReadonlyArray<unknown> => {
    const convert = argument[method]?.in
    return convert === undefined ? args : [args[0], convert(args[1]), ...args.slice(2)]
  },
  result: (method: Method, value: unknown): unknown => {
    const convert = result[method]?.in
    return convert === undefined ? value : convert(value)
  }
}
