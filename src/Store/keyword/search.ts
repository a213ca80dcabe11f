import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { Cancelled } from "../sqlite/Cancelled.ts"
import { Arena } from "./Arena.ts"
import { loadPostings, loadSegments } from "./load.ts"
import { rank, type SearchOptions, type Wanted } from "./rank.ts"
import { live } from "./segments.ts"

/** The best passages of some collections by BM25, best first, then by id; interrupted where nobody waits for them any more. */
export const best = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collections: ReadonlyArray<number>,
  wanted: ReadonlyArray<Wanted>,
  options: SearchOptions
) {
  const segments = (yield* Effect.forEach(collections, (collection) => live(sql, collection))).flat()
  const arena = Arena.current
  const loaded = yield* loadSegments(sql, arena, segments)
  yield* loadPostings(sql, arena, segments, loaded, wanted)
  return rank(arena, segments, loaded, wanted, options, yield* Cancelled) ?? (yield* Effect.interrupt)
})
