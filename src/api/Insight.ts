import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { CollectionName } from "../model/Collection.ts"
import { DocumentId, Source } from "../model/Document.ts"
import { int, list, number, NumberText, text } from "../model/fields.ts"
import { mustBe } from "../model/kinds.ts"
import { Explain, Fusion, QueryText } from "../model/Query.ts"
import { SearchResponse } from "../model/SearchResult.ts"
import { Since } from "../model/Since.ts"
import { Suggestion, suggested } from "../model/Suggestion.ts"
import { WhyReport } from "../model/Why.ts"
import { about, Authorization, FilterParam, ofBodies, someText, strict, wholeNumber } from "./endpoint.ts"
import * as failures from "./failures.ts"
import { QueryRequest } from "./Search.ts"

export const WhyParams = Schema.Struct({
  query: QueryText,
  source: Schema.optional(Source.annotations({ description: "The document's source, as it is stored" })),
  doc_id: Schema.optional(DocumentId),
  collection: Schema.optional(
    CollectionName.annotations({ description: "The collection to search, and that of the document; default: all" })
  ),
  filter: Schema.optional(FilterParam),
  since: Schema.optional(Since),
  fusion: Schema.optional(Fusion),
  alpha: Schema.optional(
    NumberText.pipe(
      Schema.between(0, 1),
      Schema.annotations({
        jsonSchema: { type: "number", minimum: 0, maximum: 1, description: "Weight of the vector leg in the fusion" },
        message: mustBe("alpha", "a number from 0 to 1")
      })
    )
  )
})
  .annotations(strict)
  .pipe(
    Schema.filter(({ doc_id: docId, source }) =>
      (docId === undefined) !== (source === undefined)
        ? undefined
        : { path: ["source"], message: "give one of source and doc_id" }
    )
  )

const { alpha, collection, filter, fusion, graph, hybrid, minRelevance, query, since, topK } = QueryRequest.fields

const Settings = Schema.Struct({ hybrid, alpha, fusion, graph, minRelevance }).annotations({
  ...strict,
  identifier: "CompareSettings",
  description: "How to search"
})

const side = (name: string) => Settings.annotations({ description: `The settings of ${name}` })

export const CompareRequest = Schema.Struct({
  query,
  topK,
  filter,
  since,
  collection,
  explain: Explain,
  a: side("a"),
  b: side("b")
}).annotations({
  ...strict,
  identifier: "CompareRequest",
  title: "Compare",
  description: "A question, and two ways to search for it; top_k defaults to search.top_k (5)",
  examples: [
    { query: "how are documents chunked?", topK: 10, a: { hybrid: true }, b: { hybrid: true, fusion: "score" } }
  ]
})
export type CompareRequest = typeof CompareRequest.Type

const Move = Schema.Struct({
  doc_id: text("The document's id in its collection"),
  chunk_index: int("The passage's index in its document, from 0"),
  collection: text("The collection it was found in"),
  source: text("The document's source, or its doc_id if it has none"),
  a: Schema.optional(int("Its rank in a, from 1; absent if it is not in the list")),
  b: Schema.optional(int("Its rank in b, from 1; absent if it is not in the list"))
}).annotations({ identifier: "CompareMove", description: "A passage, and its rank in both lists" })

export const CompareResponse = Schema.Struct({
  a: SearchResponse,
  b: SearchResponse,
  overlap: number("Share of the longer list's passages that both lists have, 0 to 1; 1 if both are empty"),
  moves: list(Move, "The passages of both lists, by the better of their two ranks")
}).annotations({ identifier: "CompareResponse", description: "What two settings find, and what changes between them" })
export type CompareResponse = typeof CompareResponse.Type

export const SuggestParams = Schema.Struct({
  prefix: someText(
    "prefix",
    suggested.characters,
    "What was typed, in any case; of names, accents, punctuation and a leading article are ignored too"
  ),
  collection: Schema.optional(CollectionName.annotations({ description: "The collection to look in; default: all" })),
  limit: Schema.optional(wholeNumber("limit", 1, suggested.most, `Most suggestions; default ${suggested.usual}`))
}).annotations(strict)

export const SuggestResponse = Schema.Struct({
  suggestions: list(
    Suggestion,
    "Titles in the order of their letters, then headings, then other names, the most mentioned first; half of the places are kept for what is no title"
  )
}).annotations({ identifier: "SuggestResponse", description: "What may be meant by what was typed" })
export type SuggestResponse = typeof SuggestResponse.Type

export class InsightGroup extends HttpApiGroup.make("insight")
  .add(
    HttpApiEndpoint.get("why", "/why")
      .setUrlParams(WhyParams)
      .addSuccess(WhyReport)
      .addError(failures.EmbedderMismatch)
      .addError(failures.EmbedderUnavailable)
      .annotateContext(
        about(
          "Explain a document's rank",
          "Why a document has its rank for a question: its rank and score by meaning, by words and fused, what each word adds, whether the filter excludes it, and what is ranked above it; or why it is not indexed. A document that is not indexed is no error."
        )
      )
  )
  .add(
    HttpApiEndpoint.post("compare", "/compare")
      .setPayload(CompareRequest)
      .addSuccess(CompareResponse)
      .addError(ofBodies)
      .addError(failures.EmbedderMismatch)
      .addError(failures.EmbedderUnavailable)
      .annotateContext(
        about("Compare two settings", "Searches for one question in two ways, and says how the passages' ranks change.")
      )
  )
  .add(
    HttpApiEndpoint.get("suggest", "/suggest")
      .setUrlParams(SuggestParams)
      .addSuccess(SuggestResponse)
      .annotateContext(
        about(
          "Suggest while typing",
          "Titles, headings and other names that begin with what was typed. Headings and names are those of the knowledge graph: without graph.enabled there are titles alone."
        )
      )
  )
  .addError(failures.InvalidRequest)
  .addError(failures.CollectionNotFound)
  .addError(failures.StoreUnavailable)
  .middlewareEndpoints(Authorization)
  .annotateContext(
    OpenApi.annotations({ title: "Insight", description: "Why something is found, and what could be asked." })
  ) {}
