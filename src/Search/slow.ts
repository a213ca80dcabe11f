import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Mode } from "../model/Query.ts"

/** A query that took long. */
export interface SlowQuery {
  readonly query: string
  readonly ms: number
  readonly mode: Mode
  /** When it was answered, in milliseconds since 1970. */
  readonly at: number
}

/** Slow from here on, in milliseconds; how many are kept, and how much of each query. */
const bounds = { ms: 100, kept: 50, characters: 500 }

/** Keeps the last slow queries of this process. */
export const keepingSlow = () => {
  const kept: Array<SlowQuery> = []
  return {
    /** The newest first. */
    all: Effect.sync((): ReadonlyArray<SlowQuery> => kept.toReversed()),
    note: (query: string, { mode, queryTimeMs }: { readonly mode: Mode; readonly queryTimeMs: number }) =>
      queryTimeMs < bounds.ms
        ? Effect.void
        : Effect.map(Clock.currentTimeMillis, (at) => {
            kept.push({ query: query.slice(0, bounds.characters), ms: queryTimeMs, mode, at })
            if (kept.length > bounds.kept) kept.shift()
          })
  }
}
