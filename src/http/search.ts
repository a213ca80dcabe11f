import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import { Api } from "../api/Api.ts"
import type { QueryResponse } from "../api/Search.ts"
import { orEmpty, untilMade } from "../Collections.ts"
import { EntityNotFound, Graph } from "../Graph.ts"
import { Judgements } from "../measuring/Judgements.ts"
import { defaultCollection } from "../model/Collection.ts"
import {
  type Found,
  type Provenance,
  toProvenance,
  type PromptResponse,
  toSearchResult
} from "../model/SearchResult.ts"
import { Prompt, type PromptOutcome } from "../Prompt.ts"
import { Search, type SearchOutcome } from "../Search.ts"
import { withoutInside } from "./respond.ts"

/** The contract demands reciprocal rank fusion for HTTP and WebSocket. */
export const byContract = { usualFusion: "rrf" } as const

/** How a response was found, as every HTTP endpoint reports it. */
export const foundBy = (outcome: SearchOutcome): Provenance & { readonly query_time_ms: number } => ({
  query_time_ms: outcome.queryTimeMs,
  ...outside(outcome)
})

/** Without what is the server's own business. */
export const outside = (found: Found): Provenance => {
  const { degraded } = found
  return toProvenance(degraded === undefined ? found : { ...found, degraded: withoutInside(degraded) })
}

export const toSearchResponse = (outcome: SearchOutcome): QueryResponse => ({
  results: outcome.hits.map(toSearchResult),
  ...foundBy(outcome),
  ...(outcome.facets === undefined ? {} : { facets: outcome.facets }),
  ...(outcome.explain === undefined ? {} : { explain: outcome.explain })
})

const toPromptResponse = (outcome: PromptOutcome): PromptResponse => ({
  prompt: outcome.prompt,
  sources: outcome.hits.map(({ document }) => document.source),
  ...foundBy(outcome),
  ...(outcome.omitted === 0 ? {} : { omitted: outcome.omitted })
})

export const layer = HttpApiBuilder.group(Api, "search", (handlers) =>
  Effect.gen(function* () {
    const search = yield* Search
    const prompt = yield* Prompt
    return (
      handlers
        // It is JSON as its schema has it already, and encoding it once more would take as long as fusing the legs.
        .handle("query", ({ payload }) =>
          Effect.map(search.run({ ...payload, ...byContract }), (outcome) =>
            HttpServerResponse.unsafeJson(toSearchResponse(outcome))
          )
        )
        .handle("similar", ({ payload }) =>
          Effect.map(search.similar({ ...payload, ...byContract }), (outcome) =>
            HttpServerResponse.unsafeJson(toSearchResponse(outcome))
          )
        )
        .handle("prompt", ({ payload }) => Effect.map(prompt.run({ ...payload, ...byContract }), toPromptResponse))
    )
  })
)

export const graphLayer = HttpApiBuilder.group(Api, "graph", (handlers) =>
  Effect.gen(function* () {
    const graph = yield* Graph

    return handlers
      .handle(
        "listEntities",
        ({ urlParams: { collection = defaultCollection, cursor: offset = 0, limit = 100, prefix } }) =>
          orEmpty(collection, { entities: [], complete: true })(graph.entities(collection, { limit, offset, prefix }))
      )
      .handle(
        "getEntity",
        ({ path: { name }, urlParams: { collection = defaultCollection, hops = 1, kind, limit = 20 } }) =>
          untilMade(
            collection,
            () => new EntityNotFound({ name })
          )(graph.entity(collection, name, { hops, limit, kinds: kind === undefined ? undefined : new Set([kind]) }))
      )
      .handle("getPath", ({ urlParams: { collection = defaultCollection, from, to } }) =>
        untilMade(collection, () => new EntityNotFound({ name: from }))(graph.path(collection, from, to))
      )
  })
)

export const judgementsLayer = HttpApiBuilder.group(Api, "judgements", (handlers) =>
  Effect.gen(function* () {
    const { append, readOrNone, usual } = yield* Judgements
    return handlers
      .handle("judge", ({ payload: { judgements } }) =>
        Effect.as(append(usual, judgements), { saved: judgements.length })
      )
      .handle("judged", ({ urlParams: { query } }) =>
        Effect.map(readOrNone(usual), (questions) => ({
          judgements: questions.find((question) => question.query === query)?.judgements ?? []
        }))
      )
  })
)
