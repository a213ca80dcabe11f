import * as Effect from "effect/Effect"
import type { Hit } from "../model/SearchResult.ts"
import type { Reranker } from "../Reranker.ts"
import { embeddedText } from "../chunking/embedded.ts"
import { byScore } from "../model/Passage.ts"

/** Hits, the best of them as a reranker orders them; without it as they are, and why. */
export interface Reranked {
  readonly hits: ReadonlyArray<Hit>
  readonly missing?: string | undefined
}

/**
 * The best hits, as many as it had time for, by what the reranker makes of them, which becomes their score; the others follow, none with a higher
 * score than the last of those. Equal ones stay in their order, and what repeats a better one behind the `open` first.
 */
export const reranked = (
  reranker: typeof Reranker.Service,
  query: string,
  hits: ReadonlyArray<Hit>,
  open = hits.length
): Effect.Effect<Reranked> => {
  const best = hits.slice(0, Math.min(reranker.top, open))
  const texts = best.map(({ document, passage }) => embeddedText(document.title, passage))
  return reranker.rerank(query, texts).pipe(
    Effect.map((scores) => {
      const ordered = best
        .slice(0, scores.length)
        .map((hit, at): Hit => {
          const score = scores[at]!
          const rerank = { rank: at + 1, score: hit.score }
          return { ...hit, score, ...(hit.explain === undefined ? {} : { explain: { ...hit.explain, rerank } }) }
        })
        .sort(byScore)
      const least = ordered.at(-1)?.score ?? 0
      const rest = hits.slice(scores.length).map((hit) => ({ ...hit, score: Math.min(hit.score, least) }))
      return {
        hits: [...ordered, ...rest],
        missing:
          scores.length < best.length
            ? `reranker read the best ${scores.length} of ${best.length} passages within ${reranker.budgetMs} ms (rerank.budget_ms)`
            : undefined
      }
    }),
    Effect.catchAll(({ reason }) => Effect.succeed({ hits, missing: `reranker unavailable: ${reason}` }))
  )
}
