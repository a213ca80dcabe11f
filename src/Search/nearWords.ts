import type { Hit } from "../model/SearchResult.ts"
import type { NearTerm } from "../model/Stored.ts"
import { writtenAs } from "../text/spelling.ts"

/** The words that were searched besides, as the hits write them where only their stem is known. */
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
