import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { SkipReason, WalkEvent, WalkOptions } from "./WalkEvent.ts"
import { events } from "./Walker/events.ts"
import { whyPassedOver as judged } from "./Walker/passedOver.ts"

/**
 * The files below the paths given, each once: first the files among the paths, then folder by folder in the order of
 * their names by code point, then what symbolic links lead to. Memory does not grow with the number of files.
 * docs/loading.md has the rules of what is passed over.
 */
export const walk: (options: WalkOptions) => Stream.Stream<WalkEvent> = events

/**
 * Why a walk from a root would pass over a file below it, by names and ignore files alone; undefined where it would not.
 * Ignore files are read once for as long as the function is kept.
 */
export const whyPassedOver: (
  root: string,
  include: ReadonlyArray<string>
) => (path: string) => Effect.Effect<SkipReason | undefined> = judged
