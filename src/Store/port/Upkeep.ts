import type * as Effect from "effect/Effect"
import type { Compacted, Rebuild } from "../../model/Stored.ts"
import type { StoreUnavailable } from "./errors.ts"

/** Looks after what is derived and what was put off. */
export interface Upkeep {
  /** Derived data that another version made, or that are missing, and have to be made anew. Most pressing first. */
  readonly rebuilds: () => Effect.Effect<ReadonlyArray<Rebuild>, StoreUnavailable>
  /**
   * Makes some of them anew, a short transaction's worth, and gives how far that has come; undefined: nothing is left.
   * Searches are answered from the old ones until a collection's new ones are all there.
   */
  readonly rebuildStep: () => Effect.Effect<Rebuild | undefined, StoreUnavailable>
  /** Does what is put off until there is time, such as merging, for some seconds at most. */
  readonly settle: () => Effect.Effect<void, StoreUnavailable>
  /** Takes out what is left of deleted documents for some seconds at most; whether no byte of them is left. */
  readonly purge: () => Effect.Effect<boolean, StoreUnavailable>
  /** Whether something that was dropped is still being taken away, or waits for it. */
  readonly sweeping: () => Effect.Effect<boolean, StoreUnavailable>
  /** Goes on with what was put off or broken off, beside everything else. */
  readonly resume: () => Effect.Effect<void, StoreUnavailable>
  /** Gives back what deleted documents have taken, and leaves no byte of them. */
  readonly compact: () => Effect.Effect<Compacted, StoreUnavailable>
}
