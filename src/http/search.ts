import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import { Api } from "../api/Api.ts"
import { badField, InvalidRequest } from "../api/errors.ts"
import type { GraphBuildRequest } from "../api/Graph.ts"
import type { QueryResponse } from "../api/Search.ts"
import { orEmpty, untilMade } from "../Collections.ts"
import { EntityNotFound, Graph } from "../Graph.ts"
import { asGlob } from "../filterHint.ts"
import { Judgements } from "../measuring/Judgements.ts"
import { Judging } from "../measuring/Judging.ts"
import { defaultCollection } from "../model/Collection.ts"
import type { Judgement } from "../model/Judgement.ts"
import { limits } from "../model/Limits.ts"
import {
  type Found,
  type Provenance,
  toProvenance,
  type PromptResponse,
  toSearchResult
} from "../model/SearchResult.ts"
import { Prompt, type PromptOutcome } from "../Prompt.ts"
import { Search, type SearchOutcome } from "../Search.ts"
import { Store } from "../Store.ts"
import { makeAudit } from "./audit.ts"
import { Jobs, type Told } from "./Jobs.ts"
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
    // It is JSON as its schema has it already, and encoding it once more would take as long as fusing the legs.
    const answered = Effect.map((outcome: SearchOutcome) => HttpServerResponse.unsafeJson(toSearchResponse(outcome)))
    return handlers
      .handle("query", ({ payload }) => answered(search.run({ ...payload, ...byContract })))
      .handle("similar", ({ payload }) => answered(search.similar({ ...payload, ...byContract })))
      .handle("prompt", ({ payload }) => Effect.map(prompt.run({ ...payload, ...byContract }), toPromptResponse))
  })
)

export const graphLayer = HttpApiBuilder.group(Api, "graph", (handlers) =>
  Effect.gen(function* () {
    const graph = yield* Graph
    const jobs = yield* Jobs

    const build = ({ collection = defaultCollection, llm = false, model }: typeof GraphBuildRequest.Type, told: Told) =>
      graph.build(
        collection,
        (done) => told({ done, unit: "passages" }),
        llm ? graph.ask(collection, model, (done, total) => told({ done, total, unit: "calls" })) : undefined
      )

    return handlers
      .handle("buildGraph", ({ payload, request }) =>
        payload.model !== undefined && payload.llm !== true
          ? badField("model", "needs llm: true, since without it no model reads")
          : jobs.answer(request, { kind: "graph", collection: payload.collection ?? defaultCollection }, (told) =>
              build(payload, told)
            )
      )
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
    const { unmatched } = yield* Judging
    const { collections, filtered } = yield* Store
    const audit = yield* makeAudit
    /** Those about no document of the index. What was judged before can be judged again, though its document is gone. */
    const strangers = Effect.fnUntraced(function* (judgements: ReadonlyArray<Judgement>) {
      const names = (yield* collections).map(({ name }) => name)
      const sources = [...new Set(judgements.map(({ source }) => source))]
      // Most are sources as they are stored, which need no look at every document.
      const others = yield* Effect.filter(sources, (source) =>
        Effect.map(filtered(names, { source: asGlob(source) }), (passages) => passages === 0)
      )
      if (others.length === 0) return []
      const known = new Set((yield* readOrNone(usual)).flatMap((one) => one.judgements.map(({ source }) => source)))
      const fresh = judgements.filter(({ source }) => others.includes(source) && !known.has(source))
      // A collection was dropped in this instant.
      return yield* Effect.catchTag(unmatched(fresh), "CollectionNotFound", () => Effect.succeed([]))
    })
    return handlers
      .handle("judge", ({ payload: { judgements } }) =>
        Effect.gen(function* () {
          const lost = (yield* strangers(judgements)).map((one) => {
            const path = `judgements[${judgements.indexOf(one)}].source`
            return { path, message: `${path}: no document ${JSON.stringify(one.source)} is in the index` }
          })
          if (lost.length > 0) return yield* new InvalidRequest({ errors: lost.slice(0, limits.errors) })
          yield* append(usual, judgements)
          return { saved: judgements.length }
        }).pipe(audit("judge"))
      )
      .handle("judged", ({ urlParams: { query } }) =>
        Effect.map(readOrNone(usual), (questions) => ({
          judgements: questions.find((question) => question.query === query)?.judgements ?? []
        }))
      )
  })
)
