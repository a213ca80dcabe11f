import type * as Effect from "effect/Effect"
import type { CollectionName } from "../../model/Collection.ts"
import type { Hit } from "../../model/SearchResult.ts"
import type { Found, RankRequest } from "../../model/Stored.ts"
import type { CollectionNotFound, EmbedderChanged, StoreUnavailable } from "./errors.ts"

type RankError = CollectionNotFound | EmbedderChanged | StoreUnavailable

/** Ranks passages by vectors and keywords. */
export interface Ranking {
  /**
   * The best passages, best first, with all legs and texts from one snapshot. Score: cosine for the vector leg alone,
   * BM25 for the keyword leg alone, else the fused score. Ties by doc_id, then collection, then ordinal. Several
   * collections are ranked as one, except that vectors of different embedders are fused by rank. Fails if a vector is
   * not from the embedder that its collection has in that snapshot.
   */
  readonly rank: (request: RankRequest) => Effect.Effect<ReadonlyArray<Hit>, RankError>
  /** The same, with details of the ranking. */
  readonly find: (request: RankRequest) => Effect.Effect<Found, RankError>
  /** Which of these words occur literally in a passage, `-jar` with its dash; reads a bounded number of passages. */
  readonly written: (
    collections: ReadonlyArray<CollectionName>,
    words: ReadonlyArray<string>
  ) => Effect.Effect<ReadonlyArray<string>, CollectionNotFound | StoreUnavailable>
}
