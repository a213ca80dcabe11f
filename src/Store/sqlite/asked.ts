import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import type { CollectionName } from "../../model/Collection.ts"
import type { Filter } from "../../model/Filter.ts"
import type { Mask } from "../../model/Mask.ts"
import { identicalEmbedder } from "../../model/Collection.ts"
import type { Asked, RankRequest } from "../../model/Stored.ts"
import { EmbedderChanged } from "../../Store.ts"
import * as collections from "./collections.ts"
import type { Searched } from "../../ranking/Snapshot.ts"
import type { Searching } from "./Database.ts"
import { demanded } from "./demands.ts"

/** The collections in which the filter and the query's demands leave any passages. */
export const searched = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  searching: Searching,
  { demands, filter, others = [], ...first }: RankRequest
) {
  const found: Array<Searched> = []
  const all: ReadonlyArray<Asked> = [first, ...others]
  for (const { collection, embedder, vector } of all) {
    const finding = collections.find(sql, collection)
    const known = yield* collection === first.collection
      ? finding
      : Effect.catchTag(finding, "CollectionNotFound", () => Effect.succeed(undefined))
    if (known === undefined) continue
    if (vector !== undefined && embedder !== undefined && !identicalEmbedder(embedder, known.embedder)) {
      return yield* new EmbedderChanged({ collection })
    }
    const filtered = yield* searching.masks.of(sql, known.id, filter)
    if (filtered?.count === 0) continue
    const { mask, unchecked } =
      demands === undefined ? { mask: filtered, unchecked: 0 } : yield* demanded(sql, known.id, filtered, demands)
    if (mask?.count !== 0) found.push({ ...known, mask, unchecked, vector })
  }
  return found
})

/** How many passages of collections a filter leaves. */
export const filteredCount = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  searching: Searching,
  names: ReadonlyArray<CollectionName>,
  filter: Filter
) {
  const known = (yield* collections.all(sql)).filter(({ name }) => names.includes(name))
  const left = yield* Effect.forEach(known, ({ id, passages }) =>
    Effect.map(searching.masks.of(sql, id, filter), (mask) => mask?.count ?? passages)
  )
  return left.reduce((sum, count) => sum + count, 0)
})

/** One mask for all; a passage belongs to one collection only. */
export const union = (asked: ReadonlyArray<Searched>): Mask | undefined => {
  const masks = asked.flatMap(({ mask }) => (mask === undefined ? [] : [mask]))
  // The filter is the same for all: it restricts every collection or none.
  if (masks.length < 2) return masks[0]
  const bits = new Uint32Array(Math.max(...masks.map((mask) => mask.bits.length)))
  for (const mask of masks) for (let word = 0; word < mask.bits.length; word++) bits[word]! |= mask.bits[word]!
  return { bits, count: masks.reduce((sum, { count }) => sum + count, 0) }
}
