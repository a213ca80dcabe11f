import * as Effect from "effect/Effect"
import { nearTermsIn } from "../../postings/spelling.ts"
import { type Spelled, allowance, spelledWords } from "../../terms/spelling.ts"
import type { Answer } from "./client.ts"
import type { Cluster } from "./Cluster.ts"
import { type Within, frequencies, queryLanguageOf } from "./within.ts"

/** Similar terms that each collection names; the cluster compares terms with the same first letter. */
const mostTerms = 50

/** The terms of collections that are spelled like a word, with the passages that have them. */
const suggested = Effect.fnUntraced(function* (
  { searches }: Cluster,
  within: ReadonlyArray<Within>,
  { term }: Spelled
) {
  const answers = yield* searches(
    within.map(({ record }) => ({
      index: record.passages,
      body: {
        size: 0,
        suggest: {
          near: {
            text: term,
            term: {
              field: "terms",
              analyzer: "whitespace",
              suggest_mode: "always",
              string_distance: "damerau_levenshtein",
              max_edits: Math.min(2, Math.max(1, allowance(term.length))),
              prefix_length: 1,
              min_word_length: 4,
              size: mostTerms,
              shard_size: mostTerms
            }
          }
        }
      }
    }))
  )
  return answers.flatMap(({ suggest }) =>
    (suggest.near as ReadonlyArray<Answer>).flatMap(
      ({ options }) => options as ReadonlyArray<{ readonly text: string; readonly freq: number }>
    )
  )
})

/** The terms near the words of a query that match nothing. */
export const nearTerms = Effect.fnUntraced(function* (cluster: Cluster, within: ReadonlyArray<Within>, query: string) {
  const words = spelledWords(query)
  if (words.length === 0) return []
  const language = yield* queryLanguageOf(within, query)
  const records = within.map(({ record }) => record)
  return yield* nearTermsIn(
    {
      frequencies: (terms) =>
        frequencies(
          cluster,
          records,
          terms.map((term) => ({ term, isPrefix: false }))
        ),
      showNear: (word, nearest) =>
        Effect.map(suggested(cluster, within, word), (found) => {
          for (const { freq, text } of found) nearest.see(text, freq)
        })
    },
    words,
    language
  )
})
