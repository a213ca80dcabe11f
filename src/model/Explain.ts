import * as Schema from "effect/Schema"
import { ReadAs } from "./ReadAs.ts"

/** A limit for the length of an explanation. */
export const explainedTerms = 32

const count = (description: string) => Schema.Int.annotations({ description })

export const ExplainedTerm = Schema.Struct({
  term: Schema.String.annotations({ description: "The term as searched: a word without its ending" }),
  score: Schema.Finite.annotations({ description: "What it adds to the passage's BM25" }),
  near: Schema.optional(Schema.Boolean.annotations({ description: "It replaces a word that matches nothing" })),
  title: count("Occurrences in the title and the file's name, which count three times"),
  heading: count("Occurrences in the headings"),
  text: count("Occurrences in the text")
}).annotations({ identifier: "ExplainedTerm", description: "A term of the query that the passage has" })

const leg = {
  rank: Schema.optional(count("Rank in the leg, from 1; absent beyond the leg's depth")),
  score: Schema.Finite.annotations({ description: "The leg's own score" }),
  beside: Schema.optional(
    Schema.Finite.annotations({
      description: "Mean score of the passages before and after it, which counts towards its score"
    })
  ),
  contribution: Schema.Finite.annotations({ description: "What the leg adds to the result's score" })
}

/** How a result's score came about: the contributions add up to it. */
export const Explanation = Schema.Struct({
  vector: Schema.optional(Schema.Struct(leg).annotations({ description: "By meaning" })),
  keyword: Schema.optional(
    Schema.Struct({
      ...leg,
      terms: Schema.Array(ExplainedTerm).annotations({
        description: `The query's first ${explainedTerms} terms, highest score first`
      }),
      others: Schema.optional(Schema.Finite.annotations({ description: "What the query's further terms add" })),
      name_bonus: Schema.optional(
        Schema.Finite.annotations({
          description: "Share by which the score exceeds the sum of its terms, for names written as in the query"
        })
      )
    }).annotations({ description: "By words" })
  ),
  recency: Schema.optional(
    Schema.Struct({
      age_days: Schema.Finite.annotations({ description: "Age of the document, in days" }),
      contribution: Schema.Finite.annotations({ description: "What its age takes from the result's score, 0 or less" })
    }).annotations({ description: "Where search.recency is set and the document has a date" })
  ),
  rerank: Schema.optional(
    Schema.Struct({
      rank: count("Its rank before reranking"),
      score: Schema.Finite.annotations({ description: "The sum of the contributions" })
    }).annotations({ description: "Present if a reranker gave the result's score" })
  )
}).annotations({
  identifier: "Explanation",
  description: "How the score was computed; a result that only the graph reached has neither leg"
})
export type Explanation = typeof Explanation.Type

/** How a whole search ran. */
export const SearchExplanation = Schema.Struct({
  read_as: Schema.optional(ReadAs),
  passages: count("Passages of the collections searched"),
  filtered: Schema.optional(count("Passages left by the filter and the query's restrictions")),
  depth: count("Passages that each leg ranks"),
  candidates: Schema.Struct({
    vector: count("Passages that the vector leg ranked"),
    keyword: count("Passages that the keyword leg ranked")
  }).annotations({ description: "Passages that each leg ranked" }),
  alpha: Schema.optional(Schema.Finite.annotations({ description: "Weight of the vector leg in the fusion" })),
  rrf_k: Schema.optional(Schema.Finite.annotations({ description: "Constant of the fusion of ranks" })),
  stages_us: Schema.Struct({
    embed: count("Embedding the query"),
    mask: count("Applying the filter"),
    vector: count("The vector leg"),
    keyword: count("The keyword leg"),
    fuse: count("Fusing both"),
    context: count("Adding the scores of the passages before and after"),
    read: count("Reading the results' texts"),
    rerank: Schema.optional(count("Asking the reranker"))
  }).annotations({ description: "Durations of the stages, in microseconds" })
}).annotations({ identifier: "SearchExplanation", description: "How the search ran" })
export type SearchExplanation = typeof SearchExplanation.Type

/** The store's part of an explanation; times in microseconds. */
export interface RankReport extends Omit<SearchExplanation, "stages_us" | "read_as"> {
  /** Passages that may meet the query's restrictions but were too many to check. */
  readonly unchecked?: number
  readonly stages_us: Omit<SearchExplanation["stages_us"], "embed" | "rerank">
}
