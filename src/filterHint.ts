import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import { current } from "./Caller.ts"
import { orEmpty } from "./Collections.ts"
import type { CollectionName } from "./model/Collection.ts"
import { columnKeys, type Filter, filtersUnder, keysOf } from "./model/Filter.ts"
import { Store } from "./Store.ts"
import { didYouMean, nearest } from "./terms/nearest.ts"

const mostShown = 10

const clipped = (key: string): string => JSON.stringify(key.length > 60 ? `${key.slice(0, 60)}…` : key)

/** Most sources of a filter that are looked for under other folders. */
const mostSources = 3

/** The sources that a filter asks for at any level and that do not begin with a glob. */
const sourcesIn = (filter: Filter): ReadonlyArray<string> =>
  Object.entries(filter).flatMap(([key, condition]) => {
    const inner = filtersUnder(key, condition)
    if (inner !== undefined) return inner.flatMap(sourcesIn)
    const values: ReadonlyArray<unknown> = key === "source" ? [condition].flat() : []
    return values.filter((value) => typeof value === "string" && /^[^*?]/.test(value)) as ReadonlyArray<string>
  })

const nameOf = (source: string): string => source.slice(source.lastIndexOf("/") + 1)

/** Most sources with one beginning or end of their names that a mistyped one is compared with. */
const mostCompared = 500

/** A path as a glob that matches it: special characters match any one character. */
export const asGlob = (path: string): string => path.replace(/[*?[\]\\]/g, "?")

/** The first documents of a collection whose sources match a glob. */
export const documentsLike = Effect.fnUntraced(function* (collection: CollectionName, glob: string, limit: number) {
  const store = yield* Store
  const found = yield* orEmpty(collection, [])(store.list(collection, { limit, filter: { source: glob } }))
  return found.map(({ docId, source }) => ({ collection, docId, source: source ?? docId }))
})

/** Documents whose source ends in a path as it is written; those that end in it after a `/` are what is meant if there are any. */
export const documentsEnding = Effect.fnUntraced(function* (
  collections: ReadonlyArray<CollectionName>,
  source: string,
  limit: number
) {
  for (const end of [`/${source}`, source]) {
    const found = yield* Effect.forEach(collections, (collection) =>
      documentsLike(collection, `*${asGlob(end)}`, end === asGlob(end) ? limit : mostCompared)
    )
    const ending = found.flatMap((each) => each.filter((one) => one.source.endsWith(end)).slice(0, limit))
    if (ending.length > 0) return ending
  }
  return []
})

/** At most three documents whose sources end in a name like the given one's, among those that begin or end alike: first those that only lack its ending. */
export const similarSources = Effect.fnUntraced(function* (collections: ReadonlyArray<CollectionName>, source: string) {
  const name = nameOf(source)
  const literal = asGlob(name)
  const globs = [
    `*${literal}.*`,
    `*${literal.slice(0, literal.length >> 1)}*`,
    `*${literal.slice(0, 3)}*`,
    `*${literal.slice(-6)}`,
    // A short name's only mistake may be within both.
    `*/${literal.slice(0, 1)}*${literal.slice(Math.max(1, literal.lastIndexOf("."), literal.length - 4))}`
  ]
  const found = (yield* Effect.forEach(collections, (collection) =>
    Effect.forEach(globs, (glob) => documentsLike(collection, glob, mostCompared))
  )).flat(2)
  const each = [...new Map(found.map((one) => [`${one.collection}/${one.docId}`, one])).values()]
  const names = [...new Set(each.map(({ source }) => nameOf(source)))]
  const extended = names.filter((each) => each.startsWith(`${name}.`))
  const near = extended.length > 0 ? extended : nearest(name, names)
  return each.filter(({ source }) => near.includes(nameOf(source))).slice(0, 3)
})

/** Names the sources of a filter that nothing has, and the globs by which the ends of stored sources match. */
const sourceHint = Effect.fnUntraced(function* (filter: Filter, collections: ReadonlyArray<CollectionName>) {
  const { filtered } = yield* Store
  const asked = sourcesIn(filter)
  if (asked.length === 0 || (yield* filtered(collections, { source: asked })) > 0) return []
  const ends = [...new Set(asked.map((source) => `*/${source.replace(/^(?:\.?\/)+/, "")}`))].slice(0, mostSources)
  const found = yield* Effect.filter(ends, (source) =>
    Effect.map(filtered(collections, { source }), (passages) => passages > 0)
  )
  const named = asked.slice(0, mostSources).map(clipped).join(" or ")
  const none = `no source is ${named}${asked.length > mostSources ? ", …" : ""}`
  const mistyped = found.length === 0 && asked.length === 1 && !/[*?]/.test(asked[0]!)
  const [meant] = mistyped ? yield* similarSources(collections, asked[0]!) : []
  return found.length === 0
    ? [meant === undefined ? none : `${none} (did you mean ${clipped(meant.source)}?)`]
    : [`${none}: a filter compares the whole source, and ${found.map(clipped).join(" and ")} would match`]
})

/**
 * Why a filter matches nothing in these collections, or in any: no document has its keys, or its sources, or all that it
 * asks for; undefined if it matches something.
 */
export const filterHint = Effect.fn("filterHint")(function* (
  filter: Filter,
  given?: ReadonlyArray<CollectionName> | undefined
) {
  const store = yield* Store
  const all = keysOf(filter)
  // Whoever may only write learns no names.
  if (all.size === 0 || !(yield* FiberRef.get(current)).rights.has("read")) return undefined
  const asked = [...all].filter((key) => !columnKeys.has(key))
  const { known, unknown } = asked.length === 0 ? { known: [], unknown: [] } : yield* store.metadataKeys(asked)
  if (unknown.length === 0) {
    const collections = given ?? (yield* store.collections).map(({ name }) => name)
    if ((yield* store.filtered(collections, {})) === 0 || (yield* store.filtered(collections, filter)) > 0)
      return undefined
    const none =
      all.size === 1 && all.has("indexed_at") ? "no document was indexed then" : "no document matches the filter"
    return [none, ...(yield* sourceHint(filter, collections))].join("; ")
  }
  const candidates = [...new Set([...columnKeys, ...known])]
  const named = unknown.slice(0, mostShown).map((key) => `${clipped(key)}${didYouMean(key, candidates, clipped)}`)
  const first = candidates.slice(0, mostShown + columnKeys.size)
  const more = candidates.length > first.length ? ", …" : ""
  const keys = unknown.length === 1 ? "the metadata key" : "any of the metadata keys"
  return `no document has ${keys} ${named.join(", ")}; existing keys: ${first.map(clipped).join(", ")}${more}`
})
