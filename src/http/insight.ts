import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { Api } from "../api/Api.ts"
import type { CompareRequest, CompareResponse, WhyParams } from "../api/Insight.ts"
import { Collections } from "../Collections.ts"
import { similarSources } from "../filterHint.ts"
import { find } from "../find.ts"
import type { CollectionName } from "../model/Collection.ts"
import { type Hit, ownPassage, passageKey } from "../model/SearchResult.ts"
import { indexedSince } from "../model/Since.ts"
import { suggested } from "../model/Suggestion.ts"
import type { WhyReport } from "../model/Why.ts"
import { Search } from "../Search.ts"
import { GraphStore, Store } from "../Store.ts"
import { recorded, toWhyReport, why } from "../Why.ts"
import { withoutInside, withoutPaths } from "./respond.ts"
import { byContract, toSearchResponse } from "./search.ts"

const rankOf = (hit: Hit): string => passageKey({ ...hit, passage: ownPassage(hit) })

/** The passages of two lists with their ranks, by the better rank; and the share of the longer list that both have. */
const between = (a: ReadonlyArray<Hit>, b: ReadonlyArray<Hit>): Pick<CompareResponse, "moves" | "overlap"> => {
  const places = new Map<string, { readonly hit: Hit; a?: number; b?: number }>()
  for (const [side, hits] of Object.entries({ a, b }) as ReadonlyArray<["a" | "b", ReadonlyArray<Hit>]>) {
    for (const [at, hit] of hits.entries()) {
      const place = places.get(rankOf(hit)) ?? { hit }
      place[side] ??= at + 1
      places.set(rankOf(hit), place)
    }
  }
  const best = ({ a = Infinity, b = Infinity }) => Math.min(a, b)
  const all = [...places.values()].sort(
    (one, other) => best(one) - best(other) || (one.a ?? Infinity) - (other.a ?? Infinity)
  )
  const longer = Math.max(a.length, b.length)
  return {
    overlap: longer === 0 ? 1 : all.filter(({ a, b }) => a !== undefined && b !== undefined).length / longer,
    moves: all.map(({ hit, ...ranks }) => ({
      doc_id: hit.document.docId,
      chunk_index: ownPassage(hit).ordinal,
      collection: hit.collection,
      source: hit.document.source,
      ...ranks
    }))
  }
}

export const layer = HttpApiBuilder.group(Api, "insight", (handlers) =>
  Effect.gen(function* () {
    const search = yield* Search
    const { among } = yield* Collections
    const graph = yield* GraphStore
    const namesIn = (collection: CollectionName | undefined) =>
      Effect.map(among(collection), (all) => all.map(({ name }) => name))
    const services = yield* Effect.context<Search | Store>()

    const explain = Effect.fnUntraced(function* ({
      alpha,
      collection,
      doc_id: docId,
      filter: given,
      fusion,
      query,
      since,
      source
    }: typeof WhyParams.Type) {
      const names = yield* namesIn(collection)
      const wanted = yield* find(names, { docId, source })
      if (wanted === undefined) {
        const named = (source ?? docId)!
        const known = source === undefined ? undefined : yield* recorded(names, source)
        const [near] = known === undefined && source !== undefined ? yield* similarSources(names, source) : []
        const meant = near === undefined ? "" : ` (did you mean ${JSON.stringify(near.source)}?)`
        const none = `no document has this ${source === undefined ? "doc_id" : "source"}${meant}`
        return {
          source: named,
          indexed: false,
          reason: known === undefined ? none : withoutPaths(known)
        } satisfies WhyReport as WhyReport
      }
      const filter = indexedSince(since, yield* Clock.currentTimeMillis, given)
      const outcome = yield* why({ query, collection, filter, fusion, alpha, ...byContract }, wanted)
      const report = toWhyReport(wanted, outcome)
      return report.degraded === undefined ? report : { ...report, degraded: withoutInside(report.degraded) }
    })

    const compare = Effect.fnUntraced(function* ({ a, b, ...request }: CompareRequest) {
      const [one, other] = yield* Effect.all(
        [a, b].map((settings) => search.run({ ...request, ...settings, ...byContract })) as [
          ReturnType<typeof search.run>,
          ReturnType<typeof search.run>
        ],
        { concurrency: "unbounded" }
      )
      return {
        a: toSearchResponse(one),
        b: toSearchResponse(other),
        ...between(one.hits, other.hits)
      } satisfies CompareResponse as CompareResponse
    })

    return handlers
      .handle("why", ({ urlParams }) =>
        explain(urlParams).pipe(
          Effect.provide(services),
          // Deleted since it was found.
          Effect.catchTag("DocumentNotFound", ({ docId, message: reason }) =>
            Effect.succeed<WhyReport>({ source: urlParams.source ?? docId, indexed: false, reason })
          )
        )
      )
      .handle("compare", ({ payload }) => compare(payload))
      .handle("suggest", ({ urlParams: { collection, limit = suggested.usual, prefix } }) =>
        Effect.flatMap(namesIn(collection), (names) =>
          Effect.map(graph.suggest(names, prefix, limit), (suggestions) => ({ suggestions }))
        )
      )
  })
)
