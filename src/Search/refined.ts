import * as Effect from "effect/Effect"
import type { Embedder } from "../Embedder.ts"
import { embeddedText } from "../chunking/embedded.ts"
import { limits } from "../model/Limits.ts"
import { type Hit, ownPassage } from "../model/SearchResult.ts"
import type { FindRequest, Found } from "../model/Stored.ts"
import { withLed } from "../ranking/folding.ts"
import { scan } from "../terms/scan.ts"
import { byScore } from "../model/Passage.ts"

/** How many of the best passages are compared word by word; more ranked no better. */
export const refinedPlaces = 20

/** What the words' likeness makes up of a score: docs/ranking.md. */
const share = 1 / 2

/** The words of a query that are searched for, and how rare each is. */
const wordsOf = (query: string, rarity: ReadonlyMap<string, number>) => {
  const words = new Map<string, number>()
  scan(query, (term, start, end) => {
    const rare = rarity.get(term)
    if (rare !== undefined) words.set(query.slice(start, end), rare)
  })
  return Array.from(words, ([word, rarity]) => ({ word, rarity }))
}

/** A hit with a score, of which a part is not the legs'. */
const scored = (hit: Hit, likeness?: number): Hit => {
  const { explain } = hit
  const part = share * (likeness ?? 0)
  const score = (1 - share) * hit.score + part
  if (explain === undefined) return { ...hit, score }
  const scaled = <L extends { readonly contribution: number }>(leg: L): L => ({
    ...leg,
    contribution: (1 - share) * leg.contribution
  })
  return {
    ...hit,
    score,
    explain: {
      ...explain,
      ...(explain.vector && { vector: scaled(explain.vector) }),
      ...(explain.keyword && { keyword: scaled(explain.keyword) }),
      ...(likeness === undefined ? {} : { likeness: { score: likeness, contribution: part } })
    }
  }
}

/**
 * A list of score fusion, its best hits ordered by how nearly they have each of the query's words, too: a passage's vector
 * is a mean, in which a word drowns. `judged` tells a hit's relevance. The others, and what repeats a better one, keep their order and stay below; then the graph's places are taken.
 */
export const refined = Effect.fnUntraced(function* (
  likeness: NonNullable<(typeof Embedder)["Service"]["likeness"]>,
  { list, keyword = "" }: Pick<FindRequest, "keyword" | "list">,
  { hits, led = [], open = hits.length, rarity }: Pick<Found, "hits" | "led" | "open" | "rarity">,
  judged: (hit: Hit) => Hit
) {
  const best = hits.slice(0, Math.min(refinedPlaces, open))
  const alike = yield* likeness(
    wordsOf(keyword, rarity),
    best.map((hit) => {
      const passage = ownPassage(hit)
      return { of: passage, text: () => embeddedText(hit.document.title, passage) }
    })
  )
  const ordered = best.map((hit, at) => scored(hit, alike[at])).sort(byScore)
  const all = [...ordered, ...hits.slice(best.length).map((hit) => scored(hit))]
  if (led.length === 0) return all
  return withLed(
    led.map((hit) => scored(hit)),
    all.map((hit, at) => (at < limits.graph.end ? judged(hit) : hit)),
    list
  )
})
