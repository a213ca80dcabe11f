import * as Effect from "effect/Effect"
import { columnKeys, type Filter, keysOf } from "./model/Filter.ts"
import { Store } from "./Store.ts"
import { didYouMean } from "./text/nearest.ts"

const shown = 10

const clipped = (key: string): string => JSON.stringify(key.length > 60 ? `${key.slice(0, 60)}…` : key)

/** A hint for a filter that matches nothing because no document has its keys; undefined if all exist. */
export const filterHint = Effect.fn("filterHint")(function* (filter: Filter) {
  const asked = [...keysOf(filter)].filter((key) => !columnKeys.has(key))
  if (asked.length === 0) return undefined
  const { known, unknown } = yield* (yield* Store).metadataKeys(asked)
  if (unknown.length === 0) return undefined
  const candidates = [...columnKeys, ...known]
  const named = unknown.slice(0, shown).map((key) => `${clipped(key)}${didYouMean(key, candidates, clipped)}`)
  const all = candidates.slice(0, shown + columnKeys.size)
  const more = candidates.length > all.length ? ", …" : ""
  const keys = unknown.length === 1 ? "the metadata key" : "any of the metadata keys"
  return `no document has ${keys} ${named.join(", ")}; existing keys: ${all.map(clipped).join(", ")}${more}`
})
