import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { CollectionName, EmbedderIdentity } from "../../model/Collection.ts"
import type { ReindexPosition, ReindexState, Reindexed, Unembedded } from "../../model/Stored.ts"
import type { CollectionNotFound, ReindexTakenOver, StoreUnavailable } from "./errors.ts"

/** Changes a collection's embedder, step by step, while searches use the recorded one. */
export interface Reindexing {
  /** The target of an unfinished change of embedder. */
  readonly reindexing: (
    collection: CollectionName
  ) => Effect.Effect<Option.Option<EmbedderIdentity>, CollectionNotFound | StoreUnavailable>
  /** Begins a change to another embedder, or resumes an interrupted one to the same embedder. */
  readonly beginReindex: (
    collection: CollectionName,
    embedder: EmbedderIdentity
  ) => Effect.Effect<ReindexState, CollectionNotFound | StoreUnavailable>
  /** The next passages without a vector of the next embedder; the same ones until they get theirs. */
  readonly unembedded: (
    collection: CollectionName,
    embedder: EmbedderIdentity,
    limit: number
  ) => Effect.Effect<
    { readonly position: ReindexPosition; readonly passages: ReadonlyArray<Unembedded> },
    CollectionNotFound | ReindexTakenOver | StoreUnavailable
  >
  /**
   * Stores vectors beside the ones in use, in the order of `unembedded`, unless the change is at another position by
   * now. Skips passages that are gone.
   */
  readonly putReindexed: (
    collection: CollectionName,
    embedded: ReadonlyArray<Reindexed>,
    position: ReindexPosition
  ) => Effect.Effect<void, CollectionNotFound | ReindexTakenOver | StoreUnavailable>
  /**
   * Switches over in one transaction, unless passages were added that have no new vector yet. `passages` is the
   * collection's count.
   */
  readonly finishReindex: (
    collection: CollectionName,
    embedder: EmbedderIdentity
  ) => Effect.Effect<
    { readonly changed: boolean; readonly passages: number },
    CollectionNotFound | ReindexTakenOver | StoreUnavailable
  >
}
