import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { FacetNames, Facets } from "../model/Facets.ts"
import { flag } from "../model/fields.ts"
import { Explain, MaxTokens, Offset, SearchRequest, SimilarRequest } from "../model/Query.ts"
import { PromptResponse, SearchResponse } from "../model/SearchResult.ts"
import { about, ofSearches, strict, Authorization } from "./endpoint.ts"
import * as failures from "./failures.ts"

/** Over HTTP and WebSocket a search is hybrid only if the caller says so. */
const hybrid = Schema.optionalWith(
  flag("Fuse search by words and by meaning; if false, search by meaning only; default false"),
  { default: () => false }
)
const fields = { ...SearchRequest.fields, hybrid }
const paged = { offset: Schema.optional(Offset), explain: Explain, facets: Schema.optional(FacetNames) }

export const QueryRequest = Schema.Struct({ ...fields, ...paged }).annotations({
  ...strict,
  identifier: "QueryRequest",
  title: "Query",
  description: "What to search for; top_k defaults to search.top_k (5)",
  examples: [{ query: "how are documents chunked?", topK: 3, hybrid: true, filter: { source: "*/docs/*" } }]
})
export type QueryRequest = typeof QueryRequest.Type

export const SimilarBody = Schema.Struct({ ...SimilarRequest.fields, hybrid, ...paged })
  .annotations({
    ...strict,
    identifier: "SimilarBody",
    title: "Similar",
    description: "The passage or text that others are to be like; top_k defaults to search.top_k (5)",
    examples: [{ source: "docs/tides.md:12", topK: 5, hybrid: true }]
  })
  .pipe(
    Schema.filter(({ chunkIndex, docId, source, text }) => {
      const named = [docId, source, text].filter((one) => one !== undefined).length
      if (named !== 1) return { path: ["source"], message: "give one of source, doc_id and text" }
      return (
        text === undefined ||
        chunkIndex === undefined || { path: ["chunk_index"], message: "is of a document, not of a text" }
      )
    })
  )
export type SimilarBody = typeof SimilarBody.Type

/** What a search answers here, with the facets that were asked for. */
export const QueryResponse = Schema.Struct({
  ...SearchResponse.fields,
  facets: Schema.optional(Facets)
}).annotations({ identifier: "QueryResponse", description: "What was found, and by which legs" })
export type QueryResponse = typeof QueryResponse.Type

export const PromptRequest = Schema.Struct({
  ...fields,
  maxTokens: Schema.optional(
    MaxTokens.annotations({
      description:
        "Longest prompt, in tokens of the built-in tokenizer; the last passages are left out to fit, but one must fit"
    })
  ).pipe(Schema.fromKey("max_tokens"))
}).annotations({
  ...strict,
  identifier: "PromptRequest",
  title: "Prompt",
  description: "What to search for and how long the prompt may be",
  examples: [{ query: "how are documents chunked?", topK: 3, hybrid: true, maxTokens: 2000 }]
})
export type PromptRequest = typeof PromptRequest.Type

export class SearchGroup extends HttpApiGroup.make("search")
  .add(
    HttpApiEndpoint.post("query", "/query")
      .setPayload(QueryRequest)
      .addSuccess(QueryResponse)
      .annotateContext(
        about("Search", "Finds the passages that answer best, each with its score and its position in the document.")
      )
  )
  .add(
    HttpApiEndpoint.post("similar", "/similar")
      .setPayload(SimilarBody)
      .addSuccess(QueryResponse)
      .addError(failures.PassageNotFound)
      .annotateContext(
        about(
          "Find similar passages",
          "Finds passages like one of the index, by its stored vector and its words, without itself and its copies; or passages like a text."
        )
      )
  )
  .add(
    HttpApiEndpoint.post("prompt", "/prompt")
      .setPayload(PromptRequest)
      .addSuccess(PromptResponse)
      .addError(failures.BudgetTooSmall)
      .annotateContext(
        about(
          "Search and build a prompt",
          "Builds a prompt for a language model from the passages found, numbered for citation."
        )
      )
  )
  .addError(ofSearches)
  .middlewareEndpoints(Authorization)
  .annotateContext(OpenApi.annotations({ title: "Search", description: "Find passages, and prompts made of them." })) {}
