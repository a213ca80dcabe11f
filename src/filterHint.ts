import { distance } from "fastest-levenshtein"
import * as Effect from "effect/Effect"
import { columnKeys, type Filter, keysOf } from "./model/Filter.ts"
import { Store } from "./Store.ts"

const shown = 10

/** The key of those that a mistyped one most likely means. */
const nearestKey = (key: string, known: ReadonlyArray<string>): string | undefined => {
  const plain = key.toLowerCase()
  return known
    .filter((candidate) => candidate.length <= plain.length * 2)
    .map((candidate) => ({ candidate, away: distance(plain, candidate.toLowerCase()) }))
    .filter(({ away, candidate }) => away <= Math.max(1, Math.min(plain.length, candidate.length) / 3))
    .sort((a, b) => a.away - b.away)[0]?.candidate
}

const clipped = (key: string): string => JSON.stringify(key.length > 60 ? `${key.slice(0, 60)}…` : key)

/** What to say of a filter that left nothing over because no document has its keys; undefined where they all exist. */
export const filterHint = Effect.fn("filterHint")(function* (filter: Filter) {
  const asked = [...keysOf(filter)].filter((key) => !columnKeys.has(key))
  if (asked.length === 0) return undefined
  const { known, unknown } = yield* (yield* Store).metadataKeys(asked)
  if (unknown.length === 0) return undefined
  const candidates = [...columnKeys, ...known]
  const named = unknown.slice(0, shown).map((key) => {
    const near = nearestKey(key, candidates)
    return `${clipped(key)}${near === undefined ? "" : ` (did you mean ${clipped(near)}?)`}`
  })
  const all = candidates.slice(0, shown + columnKeys.size)
  const more = candidates.length > all.length ? ", …" : ""
  return `no document has the metadata key ${named.join(", ")}; there is ${all.map(clipped).join(", ")}${more}`
})
