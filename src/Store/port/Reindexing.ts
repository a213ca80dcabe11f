import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { CollectionName, EmbedderIdentity } from "../../model/Collection.ts"
import type { ReindexPosition, ReindexState, Reindexed, Unembedded } from "../../model/Stored.ts"
import type { CollectionNotFound, ReindexTakenOver, StoreUnavailable } from "./errors.ts"

/** Changes a collection over to another embedder, step by step, while searches go on with the recorded one. */
export interface Reindexing {
  /** What a change of embedder that is under way, or was broken off, is to. */
  readonly reindexing: (
    collection: CollectionName
  ) => Effect.Effect<Option.Option<EmbedderIdentity>, CollectionNotFound | StoreUnavailable>
  /** Begins a change to another embedder, or takes up one to the same that was broken off. */
  readonly beginReindex: (
    collection: CollectionName,
    embedder: EmbedderIdentity
  ) => Effect.Effect<ReindexState, CollectionNotFound | StoreUnavailable>
  /** The next passages without a vector of the next embedder; the same ones until they are given theirs. */
  readonly unembedded: (
    collection: CollectionName,
    embedder: EmbedderIdentity,
    limit: number
  ) => Effect.Effect<
    { readonly position: ReindexPosition; readonly passages: ReadonlyArray<Unembedded> },
    CollectionNotFound | ReindexTakenOver | StoreUnavailable
  >
  /**
   * Keeps vectors beside the ones in use, in the order of `unembedded`, unless the change stands elsewhere by now; not
   * those of passages that are gone.
   */
  readonly putReindexed: (
    collection: CollectionName,
    embedded: ReadonlyArray<Reindexed>,
    position: ReindexPosition
  ) => Effect.Effect<void, CollectionNotFound | ReindexTakenOver | StoreUnavailable>
  /**
   * Changes over in one transaction, unless passages have come in that have no new vector yet. `passages` are the
   * collection's.
   */
  readonly finishReindex: (
    collection: CollectionName,
    embedder: EmbedderIdentity
  ) => Effect.Effect<
    { readonly changed: boolean; readonly passages: number },
    CollectionNotFound | ReindexTakenOver | StoreUnavailable
  >
}
