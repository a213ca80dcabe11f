import * as Effect from "effect/Effect"
import { damaged } from "../model/Damaged.ts"
import { Arena } from "./Arena.ts"
import { loadPostings, loadSegments } from "./load.ts"
import { score, type SearchOptions, type Wanted } from "./score.ts"
import type { Segment, SegmentStore } from "./SegmentStore.ts"

/** The best passages of segments by BM25, best first, then by id; interrupted if the caller is gone. */
export const best = Effect.fnUntraced(function* <E>(
  store: SegmentStore<E>,
  segments: ReadonlyArray<Segment>,
  wanted: ReadonlyArray<Wanted>,
  options: SearchOptions & {
    /** The expected number of passages, compared with the postings. */
    readonly passages?: number
    /** Called every few milliseconds; true if the caller is gone. */
    readonly isCancelled: () => boolean
  }
) {
  const alive = segments.reduce((sum, { dead, passages }) => sum + passages - dead, 0)
  if (options.passages !== undefined && alive !== options.passages) {
    damaged(
      segments.length === 0
        ? "it has no postings for a keyword search"
        : `its postings cover ${alive} passages instead of ${options.passages}`
    )
  }
  return yield* Arena.using(
    Effect.fnUntraced(function* (arena) {
      const loaded = yield* loadSegments(store, arena, segments)
      yield* loadPostings(store, arena, segments, loaded, wanted)
      return score(arena, segments, loaded, wanted, options, options.isCancelled) ?? (yield* Effect.interrupt)
    })
  )
})
