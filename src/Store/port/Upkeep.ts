import type * as Effect from "effect/Effect"
import type { Compacted, Rebuild } from "../../model/Stored.ts"
import type { StoreUnavailable } from "./errors.ts"

/** Maintains derived data, and does deferred work. */
export interface Upkeep {
  /** Derived data to rebuild: made by another version, or missing. Most urgent first. */
  readonly rebuilds: () => Effect.Effect<ReadonlyArray<Rebuild>, StoreUnavailable>
  /**
   * Rebuilds part of them in one short transaction, and returns the progress; undefined: nothing is left. Searches use
   * the old ones until all of a collection's new ones exist.
   */
  readonly rebuildStep: () => Effect.Effect<Rebuild | undefined, StoreUnavailable>
  /** Does deferred work, such as merging, for some seconds at most. */
  readonly settle: () => Effect.Effect<void, StoreUnavailable>
  /** Removes the remains of deleted documents, for some seconds at most; whether no byte of them is left. */
  readonly purge: () => Effect.Effect<boolean, StoreUnavailable>
  /** Whether rows of something dropped are still to be deleted. */
  readonly sweeping: () => Effect.Effect<boolean, StoreUnavailable>
  /** Resumes deferred or interrupted work in the background. */
  readonly resume: () => Effect.Effect<void, StoreUnavailable>
  /** Frees the space of deleted documents, and leaves no byte of them. */
  readonly compact: () => Effect.Effect<Compacted, StoreUnavailable>
}
