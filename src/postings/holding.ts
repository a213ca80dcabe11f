import * as Effect from "effect/Effect"
import { Arena } from "./Arena.ts"
import { loadPostings, loadSegments, type Needle, needleKey } from "./load.ts"
import type { SegmentStore } from "./SegmentStore.ts"
import { isDead } from "./tombstones.ts"
import { forEachOrdinal } from "./unpacked.ts"

/**
 * The ids of a collection's passages that have all given terms: in any field, or in the title only. Without terms, all
 * passages.
 */
export const holding = Effect.fnUntraced(function* <E>(
  store: SegmentStore<E>,
  collection: number,
  needles: ReadonlyArray<Needle>,
  options: { readonly field: "any" | "title"; readonly isCancelled: () => boolean }
) {
  const segments = yield* store.live(collection)
  const bits = new Uint32Array(((segments.at(-1)?.last_id ?? 0) >>> 5) + 1)
  yield* Arena.using(
    Effect.fnUntraced(function* (arena) {
      const loaded = yield* loadSegments(store, arena, segments)
      yield* loadPostings(store, arena, segments, loaded, needles)
      for (const { deadAt, ids, postings } of loaded) {
        if (options.isCancelled()) return yield* Effect.interrupt
        // The rarest first: passages without it need not be counted.
        const sorted = needles.map((needle) => postings.get(needleKey(needle))!).sort((a, b) => a.count - b.count)
        if (sorted[0]?.count === 0) continue
        const met = new Uint8Array(ids.count)
        for (const [turn, held] of sorted.entries()) {
          forEachOrdinal(arena, held, ids.count, (ordinal, isInTitle) => {
            if (met[ordinal] === turn && (options.field === "any" || isInTitle)) met[ordinal] = turn + 1
          })
        }
        const dead = deadAt === 0 ? undefined : arena.bytes.subarray(deadAt)
        for (let ordinal = 0; ordinal < met.length; ordinal++) {
          if (met[ordinal] !== sorted.length || (dead !== undefined && isDead(dead, ordinal))) continue
          const id = ids.idOf(ordinal)
          bits[id >>> 5]! |= 1 << (id & 31)
        }
      }
    })
  )
  return bits
})
