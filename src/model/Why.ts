import * as Schema from "effect/Schema"
import { flag, int, list, number, text } from "./fields.ts"
import { limits } from "./Limits.ts"
import { Hint } from "./SearchResult.ts"

const Leg = Schema.Struct({
  rank: Schema.optional(int(`Rank in the top ${limits.topK.max}; absent if lower`)),
  score: Schema.optional(number("Score of its best passage; absent if the leg has none"))
}).annotations({ identifier: "WhyLeg", description: "A document's rank in one way of searching" })

const leg = (description: string) => Schema.optional(Leg.annotations({ description }))

/** Why a document has its rank for a question, or is not indexed: what `why --json` prints and GET /why answers. */
export const WhyReport = Schema.Struct({
  source: text("The document's source, or its doc_id if it has none"),
  indexed: flag("Whether it is in the index"),
  reason: Schema.optional(text("Why it is not indexed")),
  doc_id: Schema.optional(text("The document's id in its collection")),
  collection: Schema.optional(text("The collection that it is in")),
  filtered_out: Schema.optional(flag("True if the filter excludes it")),
  hint: Schema.optional(Hint),
  hybrid: leg("By words and by meaning, fused"),
  vector: leg("By meaning alone; empty if that could not be searched"),
  keyword: leg("By words alone"),
  degraded: Schema.optional(text("What the search lacked, and why")),
  terms: Schema.optional(
    list(
      Schema.Struct({
        term: text("A word of the question, or what was searched in its place"),
        score: number("What it adds")
      }).annotations({ identifier: "WhyTerm", description: "A word, and what it adds" }),
      "What each word of the question adds to the score by words; 0: the passage does not have it. Absent if another document stands for this one"
    )
  ),
  relevance: Schema.optional(number("How likely it is to answer, 0 to 1; absent if not in the top list")),
  via: Schema.optional(text("How the knowledge graph led to it")),
  folded_into: Schema.optional(text("The result that says the same and has its place in the list")),
  ahead: Schema.optional(
    list(
      Schema.Struct({
        place: text("The result, as it is cited"),
        score: number("Its score")
      }).annotations({ identifier: "WhyAhead", description: "A result ranked above the document" }),
      "The results ranked above it"
    )
  )
}).annotations({
  identifier: "WhyReport",
  description: "Why a document has its rank for a question, or is not indexed"
})
export type WhyReport = typeof WhyReport.Type
