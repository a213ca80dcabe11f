import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { Cancelled } from "../Store/sqlite/Cancelled.ts"
import { damaged } from "../model/Damaged.ts"
import { Arena } from "./Arena.ts"
import { loadPostings, loadSegments } from "./load.ts"
import { rank, type SearchOptions, type Wanted } from "./score.ts"
import { live } from "../Store/sqlite/segments.ts"

/** The best passages of some collections by BM25, best first, then by id; interrupted where nobody waits for them any more. */
export const best = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collections: ReadonlyArray<number>,
  wanted: ReadonlyArray<Wanted>,
  options: SearchOptions & { readonly passages?: number }
) {
  const segments = (yield* Effect.forEach(collections, (collection) => live(sql, collection))).flat()
  const alive = segments.reduce((sum, { dead, passages }) => sum + passages - dead, 0)
  if (options.passages !== undefined && alive !== options.passages) {
    damaged(
      segments.length === 0
        ? "it has no postings to answer by keyword from"
        : `its postings are of ${alive} passages, not of ${options.passages}`
    )
  }
  const arena = Arena.current
  const loaded = yield* loadSegments(sql, arena, segments)
  yield* loadPostings(sql, arena, segments, loaded, wanted)
  return rank(arena, segments, loaded, wanted, options, yield* Cancelled) ?? (yield* Effect.interrupt)
})
