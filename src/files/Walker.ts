import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { SkipReason, WalkEvent, WalkOptions } from "./WalkEvent.ts"
import { events } from "./Walker/events.ts"
import { whyPassedOver as judged } from "./Walker/passedOver.ts"

/**
 * The files below the given paths, each once: first the files among the paths, then each folder's entries by code point,
 * then the targets of symbolic links. Memory does not grow with the number of files. docs/loading.md has the rules for
 * what is skipped.
 */
export const walk: (options: WalkOptions) => Stream.Stream<WalkEvent> = events

/**
 * Why a walk from a root would skip a file below it, by names and ignore files alone; undefined if it would not. The
 * function reads each ignore file once.
 */
export const whyPassedOver: (
  root: string,
  include: ReadonlyArray<string>
) => (path: string) => Effect.Effect<SkipReason | undefined> = judged
