import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { type CollectionSummary, identicalEmbedder } from "../../model/Collection.ts"
import type { Vector } from "../../model/Passage.ts"
import type { RankRequest } from "../../model/Stored.ts"
import * as collections from "./collections.ts"
import type { Searching } from "./Database.ts"
import type { Mask } from "./filter.ts"

/** A collection that is searched: what the filter leaves of it, and the query's vector by its embedder. */
export interface Searched extends CollectionSummary {
  readonly mask: Mask | undefined
  readonly vector: Vector | undefined
}

/** The collections of which the filter leaves anything. */
export const searched = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  searching: Searching,
  { collection, filter, others = [], vector }: RankRequest
) {
  const found: Array<Searched> = []
  for (const asked of [{ collection, vector }, ...others]) {
    const finding = collections.find(sql, asked.collection)
    const known = yield* asked.collection === collection
      ? finding
      : Effect.catchTag(finding, "CollectionNotFound", () => Effect.succeed(undefined))
    if (known === undefined) continue
    const mask = yield* searching.masks.of(sql, known.id, filter)
    if (mask?.count !== 0) found.push({ ...known, mask, vector: asked.vector })
  }
  return found
})

/** The collections that have a vector to be searched by, those of one embedder together. */
export const byEmbedder = (asked: ReadonlyArray<Searched>): ReadonlyArray<ReadonlyArray<Searched>> => {
  const groups: Array<Array<Searched>> = []
  for (const each of asked) {
    if (each.vector === undefined) continue
    const group = groups.find(([first]) => identicalEmbedder(first!.embedder, each.embedder))
    if (group === undefined) groups.push([each])
    else group.push(each)
  }
  return groups
}

/** One mask for all; a passage belongs to one collection alone. */
export const union = (asked: ReadonlyArray<Searched>): Mask | undefined => {
  const masks = asked.flatMap(({ mask }) => (mask === undefined ? [] : [mask]))
  // The filter is the same for all: it restricts every collection or none.
  if (masks.length < 2) return masks[0]
  const bits = new Uint32Array(Math.max(...masks.map((mask) => mask.bits.length)))
  for (const mask of masks) for (let word = 0; word < mask.bits.length; word++) bits[word]! |= mask.bits[word]!
  return { bits, count: masks.reduce((sum, { count }) => sum + count, 0) }
}
