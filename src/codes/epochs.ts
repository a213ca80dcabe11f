import * as Effect from "effect/Effect"
import type { Centroid, CodeSet, CodeStore, VectorSource } from "./CodeStore.ts"
import { meanOf } from "./encoder.ts"

/** A new centroid is computed when the number of vectors has grown by this factor since the last one. */
const growth = 16

/** Vectors whose mean is the centroid: fewer if they are wide, since all are read at once. */
const sampledOf = (width: number): number => Math.max(64, Math.min(4096, Math.floor(4_194_304 / width)))

/** Makes the vectors' mean the centroid from now on. */
export const beginEpoch = Effect.fnUntraced(function* <E>(
  store: CodeStore<E>,
  set: Pick<CodeSet, "id" | "width">,
  vectors: VectorSource<E>,
  made: { readonly epoch: number; readonly rows: number }
) {
  const sample = yield* vectors.spread(sampledOf(set.width), set.width)
  const centroid: Centroid = { ...made, centroid: meanOf(sample, set.width) }
  yield* store.addCentroid(set.id, centroid)
  return centroid
})

/** The epoch for new vectors: the latest, or a new one if the set has outgrown it. */
export const currentEpoch = Effect.fnUntraced(function* <E>(
  store: CodeStore<E>,
  set: CodeSet,
  vectors: VectorSource<E>,
  more: number
) {
  const latest = yield* store.latestCentroid(set)
  const rows = set.rows + more
  return latest !== undefined && rows < latest.rows * growth
    ? latest
    : yield* beginEpoch(store, set, vectors, { epoch: (latest?.epoch ?? 0) + 1, rows })
})
