import type { Hit } from "../model/SearchResult.ts"
import type { NearTerm } from "../model/Stored.ts"
import { writtenAs } from "../terms/spelling.ts"

/** The words that were also searched; if only a stem is known, as written in the hits. */
export const wordsOf = (near: ReadonlyArray<NearTerm>, hits: ReadonlyArray<Hit>): ReadonlyArray<string> => [
  ...new Set(
    near.map(
      ({ shown, term }) =>
        shown ??
        writtenAs(
          term,
          hits.flatMap(({ passage }) => [...passage.heading, passage.text])
        ) ??
        term
    )
  )
]
