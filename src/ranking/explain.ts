import * as Effect from "effect/Effect"
import { explainedTerms, type Explanation, type RankReport, type Hit } from "../model/SearchResult.ts"
import type { NearTerm, RankRequest } from "../model/Stored.ts"
import type { Fused } from "./fusion.ts"
import { searchedHeading, searchedTitle } from "../entities/mention.ts"
import type { Language } from "../terms/languages.ts"
import { spanning } from "../runtime/tracing.ts"
import { terms } from "../terms/terms.ts"
import type { Beside } from "./context.ts"
import type { Ages } from "./recency.ts"
import type { Searched, Snapshot } from "./Snapshot.ts"
import { byScore } from "../model/Passage.ts"

type Stage = keyof RankReport["stages_us"]

/** Times the stages of a ranking, in microseconds. */
export class Stages {
  readonly us: Record<Exclude<Stage, "facets">, number> & { facets?: number } = {
    mask: 0,
    vector: 0,
    keyword: 0,
    fuse: 0,
    context: 0,
    read: 0
  }

  /** Runs an effect under a span of the stage, and times it. */
  during<A, E, R>(stage: Stage, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      const from = performance.now()
      return Effect.map(spanning(effect, `Store.${stage}`), (value) => {
        this.us[stage] = (this.us[stage] ?? 0) + Math.round(1000 * (performance.now() - from))
        return value
      })
    })
  }
}

/** A leg's own score of any passage that it was asked about. */
export type ScoreIn = (leg: "vector" | "keyword", id: number) => number | undefined

const occurrences = (found: ReadonlyArray<string>, { isPrefix, term }: { isPrefix: boolean; term: string }) =>
  found.filter((other) => (isPrefix ? other.startsWith(term) : other === term)).length

/** How the scores of hits were computed, in the order of the hits. */
export const explain = Effect.fnUntraced(function* <E>(
  snapshot: Snapshot<E>,
  asked: ReadonlyArray<Searched>,
  request: Pick<RankRequest, "keyword">,
  best: ReadonlyArray<Fused>,
  hits: ReadonlyArray<Hit>,
  {
    ages,
    beside,
    gains,
    languages,
    near,
    scoreIn
  }: {
    readonly ages: Ages | undefined
    /** The languages of the hits' documents. */
    readonly languages: ReadonlyArray<Language>
    readonly scoreIn: ScoreIn
    readonly gains: ReadonlyMap<number, number>
    readonly beside: Beside | undefined
    readonly near: ReadonlyArray<NearTerm>
  }
) {
  const { terms: shown, total } =
    request.keyword === undefined
      ? { terms: [], total: 0 }
      : yield* snapshot.terms(asked, request.keyword, {
          near,
          passages: best.map(({ id }) => id),
          most: explainedTerms
        })
  const isNear = new Set(near.map(({ term }) => term))
  return best.map(({ id, keyword: byWords, parts, vector }, at): Explanation => {
    const { document, passage } = hits[at]!
    const language = languages[at]!
    const fields = {
      title: terms(searchedTitle(document.title, document.source), language),
      heading: terms(searchedHeading(passage), language),
      text: terms(passage.text, language)
    }
    const score = scoreIn("keyword", id)
    const gain = gains.get(id) ?? 0
    const around = beside?.get(id)
    const age = ages?.get(id)
    const found = shown.flatMap((want) => {
      const own = want.scores.get(id)
      return own === undefined
        ? []
        : [
            {
              term: want.term,
              score: own,
              ...(isNear.has(want.term) ? { near: true } : {}),
              title: occurrences(fields.title, want),
              heading: occurrences(fields.heading, want),
              text: occurrences(fields.text, want)
            }
          ]
    })
    const similarity = scoreIn("vector", id)
    const others = (score ?? 0) / (1 + gain) - found.reduce((sum, term) => sum + term.score, 0)
    return {
      ...(similarity === undefined && parts.vector === 0
        ? {}
        : {
            vector: {
              ...(vector && { rank: vector.rank }),
              score: similarity ?? 0,
              ...(around?.vector === undefined ? {} : { beside: around.vector }),
              contribution: parts.vector
            }
          }),
      ...(score === undefined && parts.keyword === 0
        ? {}
        : {
            keyword: {
              ...(byWords && { rank: byWords.rank }),
              score: score ?? 0,
              ...(around?.keyword === undefined ? {} : { beside: around.keyword }),
              contribution: parts.keyword,
              terms: found.sort(byScore),
              ...(total > shown.length ? { others } : {}),
              ...(gain === 0 ? {} : { name_bonus: gain })
            }
          }),
      ...(age === undefined ? {} : { recency: { age_days: age.ageDays, contribution: age.contribution } })
    }
  })
})
