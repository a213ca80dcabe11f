import * as Option from "effect/Option"
import type { PreparedDocument, Reindexed, StoredRef } from "../../model/Stored.ts"
import type { Method } from "./messages.ts"
import { packDocument, packPrepared, unpackDocument, unpackPrepared } from "./packed.ts"

/** How something is made ready to be cloned, and made whole again on the other side. */
interface Crossing<A, B> {
  readonly out: (value: A) => B
  readonly in: (bare: B) => A
}

const crossing = <A, B>(out: (value: A) => B, into: (bare: B) => A) => ({ out, in: into }) as Crossing<unknown, unknown>

// An Option does not survive cloning.
const toBare = <A extends { readonly vector: Option.Option<unknown> }>(carrier: A) => ({
  ...carrier,
  vector: Option.getOrUndefined(carrier.vector) as Option.Option.Value<A["vector"]> | undefined
})
const fromBare = <A extends { readonly vector: unknown }>(bare: A) => ({
  ...bare,
  vector: Option.fromNullable(bare.vector)
})

/** The second argument, where it holds vectors. */
const argument: Partial<Record<Method, Crossing<unknown, unknown>>> = {
  put: crossing(
    (documents: ReadonlyArray<PreparedDocument>) => documents.map(packPrepared),
    (bare) => bare.map(unpackPrepared)
  ),
  putReindexed: crossing(
    (embedded: ReadonlyArray<Reindexed>) => embedded.map(toBare),
    (bare) => bare.map(fromBare) as ReadonlyArray<Reindexed>
  )
}

const result: Partial<Record<Method, Crossing<unknown, unknown>>> = {
  lookup: crossing(
    (found: ReadonlyArray<Option.Option<StoredRef>>) => found.map(Option.getOrUndefined),
    (bare) => bare.map(Option.fromNullable)
  ),
  get: crossing(packDocument, unpackDocument)
}

const across = (direction: "in" | "out") => ({
  args: (method: Method, args: ReadonlyArray<unknown>): ReadonlyArray<unknown> => {
    const convert = argument[method]?.[direction]
    return convert === undefined ? args : args.map((arg, index) => (index === 1 ? convert(arg) : arg))
  },
  result: (method: Method, value: unknown): unknown => {
    const convert = result[method]?.[direction]
    return convert === undefined ? value : convert(value)
  }
})

/** Makes arguments and results ready to leave a thread. */
export const leaving = across("out")

/** Makes whole what `leaving` has made ready. */
export const arriving = across("in")
