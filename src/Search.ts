import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Struct from "effect/Struct"
import { Collections } from "./Collections.ts"
import { SearchConfig } from "./Config.ts"
import { Embedders } from "./Embedders.ts"
import { filterHint } from "./filterHint.ts"
import { type Collection, identicalEmbedder } from "./model/Collection.ts"
import type { SearchExplanation } from "./model/Explain.ts"
import { emptyFilter, isEmptyFilter } from "./model/Filter.ts"
import { limits } from "./model/Limits.ts"
import type { Found } from "./model/Provenance.ts"
import type { DoorRequest, Fusion, Mode } from "./model/Query.ts"
import type { Hit } from "./model/SearchResult.ts"
import type { Asked, RankRequest } from "./model/Stored.ts"
import { Reranker } from "./Reranker.ts"
import { isFitted, judging, tooWeak } from "./Search/judging.ts"
import { listed } from "./Search/listed.ts"
import { wordsOf } from "./Search/nearWords.ts"
import { reranked } from "./Search/reranked.ts"
import { read, type Reading, relaxed, unmet, withFilters } from "./Search/reading.ts"
import { lean, spannedGen } from "./runtime/tracing.ts"
import { type QueryVector, shortcomings } from "./Search/shortcomings.ts"
import { RankingStore, type Store, StoreUnavailable } from "./Store.ts"

export interface SearchOutcome extends Found {
  /** Best first, at most `topK`; fewer only if fewer match. */
  readonly hits: ReadonlyArray<Hit>
  /** How the search ran, on request. */
  readonly explain?: SearchExplanation | undefined
  readonly queryTimeMs: number
}

/** The best measured weight of the vector leg, per fusion. */
const defaultAlpha: Record<Fusion, number> = { rrf: 0.4, score: 0.4 }

/** Finds passages by vector, keyword, or both fused. */
export class Search extends Effect.Service<Search>()("clew/Search", {
  effect: Effect.gen(function* () {
    const stores = yield* Effect.context<Store | RankingStore>()
    const store = yield* RankingStore
    const embedders = yield* Embedders
    const { searched } = yield* Collections
    const config = yield* SearchConfig
    const available = Option.getOrUndefined(yield* Effect.serviceOption(Reranker))

    const embed = spannedGen("Search.embed")(function* (
      query: string,
      collection: Parameters<typeof embedders.forCollection>[0]
    ) {
      const embedder = yield* embedders.forCollection(collection, "urgent")
      const vector = yield* embedder.embedQuery(query)
      if (Option.isNone(vector)) {
        return { missing: "the query has no word that the embedding model knows" } satisfies QueryVector
      }
      const share = embedder.knownShare === undefined ? 1 : yield* embedder.knownShare(query)
      return { vector: vector.value, share } satisfies QueryVector
    })

    /** The query vector for each collection; a shared embedder is asked once. */
    const embedFor = Effect.fnUntraced(function* (query: string, collections: ReadonlyArray<Collection>) {
      const firsts = collections.filter(
        ({ embedder }, at) => collections.findIndex((other) => identicalEmbedder(other.embedder, embedder)) === at
      )
      const answers = yield* Effect.forEach(firsts, (collection) => Effect.either(embed(query, collection)), {
        concurrency: "unbounded"
      })
      return collections.map((collection) => ({
        collection,
        answer: answers[firsts.findIndex(({ embedder }) => identicalEmbedder(embedder, collection.embedder))]!
      }))
    })

    /**
     * Without a collection's name, all are searched together. A vector-only search fails if the vector leg fails for
     * every collection; a hybrid search continues with the keyword leg.
     */
    const run = spannedGen("Search.run")(function* (request: DoorRequest) {
      const started = yield* Clock.currentTimeMillis
      const hybrid = request.hybrid ?? true
      const fusion = request.fusion ?? config.fusion ?? request.usualFusion ?? "score"
      const alpha = hybrid ? (request.alpha ?? config.alpha ?? defaultAlpha[fusion]) : 1
      const offset = request.offset ?? 0
      const limit = (request.topK ?? config.topK) + offset
      const least = request.minRelevance ?? 0
      const given = request.filter ?? emptyFilter

      const searchFor = Effect.fnUntraced(function* (collections: ReadonlyArray<Collection>, reading: Reading) {
        const { demands, words } = reading
        const filter = withFilters(given, reading.filters)
        const wordsAlone = alpha === 0
        // Relevance means the same without the vector leg, so it needs the query's vector there too.
        const [embedding, embedded] = yield* Effect.timed(
          embedFor(words, wordsAlone ? collections.filter(isFitted) : collections)
        )
        const answers = new Map(embedded.map(({ answer, collection }) => [collection.name, answer]))
        const failures = wordsAlone
          ? []
          : embedded.flatMap(({ answer }) => (Either.isLeft(answer) ? [answer.left] : []))
        // Search the collections that can be searched; if none can, report why.
        if (failures.length > 0 && failures.length === collections.length) {
          const refused = failures.find(({ _tag }) => _tag !== "EmbedderUnavailable")
          if (refused !== undefined || !hybrid) return yield* refused ?? failures[0]!
        }
        const asked = collections.map((collection): Asked & { readonly share: number } => {
          const answer = answers.get(collection.name)
          const known = answer !== undefined && Either.isRight(answer) ? answer.right : undefined
          const vector = known !== undefined && "vector" in known ? known : undefined
          return {
            collection: collection.name,
            vector: vector?.vector,
            embedder: collection.embedder,
            share: vector?.share ?? 1
          }
        })
        const isBlind = wordsAlone || asked.every(({ vector }) => vector === undefined)
        const keyword = isBlind || alpha < 1 ? words : undefined
        const short = wordsAlone ? undefined : shortcomings(embedded, keyword === undefined)
        // Only words can find what the model does not know of a query.
        const weight = alpha * Math.min(...asked.map(({ share }) => share))
        const { collection, embedder, vector } = asked[0]!
        const others = asked.slice(1)
        // An explicit request for the graph wins; otherwise the reranker, if there is one.
        const reranker = request.graph === true ? undefined : available
        const use = reranker === undefined ? (request.graph ?? config.graph) : false
        const isLed = use !== false && limit > limits.graph.first
        const ranking: Omit<RankRequest, "limit"> = {
          collection,
          vector,
          embedder,
          others,
          keyword,
          wordsAlone,
          spelling: alpha < 1,
          alpha: weight,
          fusion,
          rrfK: config.rrfK,
          context: config.context,
          recency: config.recency && { ...config.recency, now: started },
          filter,
          demands,
          graph: isLed ? { question: words, auto: use === "auto" } : undefined,
          // Only the report says how many passages were unchecked for a phrase.
          explain: request.explain === true || demands !== undefined
        }
        // A list with the graph is the head of a longer one only if all its places are decided.
        const places = Math.max(limit, reranker?.top ?? 0, isLed ? limits.graph.end : 0)
        const { found, list } = yield* listed(
          { ...config, limit: places },
          // Relevance orders differently from scores, so fetch more hits than requested.
          least > 0 ? Math.max(places, limits.topK.max) : places,
          (wanted) =>
            Effect.map(store.find({ ...ranking, limit: wanted }), ({ hits: ranked, led, near, report }) => {
              const judge = judging(collections, words, near)
              const fit = (hits: ReadonlyArray<Hit>) =>
                least === 0 ? hits : judge.judged(hits).filter(({ relevance }) => relevance >= least)
              return { hits: fit(ranked), led: fit(led), ranked, near, report, ...judge }
            })
        )
        const { isWeak: isWeakOf, judged, near, ranked, report } = found
        const isAsked = demands === undefined && isEmptyFilter(filter)
        const [rerankTime, { hits: all, missing }] = yield* Effect.timed(
          reranker === undefined ? Effect.succeed({ hits: list, missing: undefined }) : reranked(reranker, words, list)
        )
        const hits = all.slice(0, limit)
        const isWeak = isAsked && hits.length > 0 && isWeakOf(hits)
        const degraded = [short, missing].filter((why) => why !== undefined).join("; ") || undefined
        const unchecked = report?.unchecked ?? 0
        const readAs =
          reading.readAs === undefined || unchecked === 0 ? reading.readAs : { ...reading.readAs, unchecked }
        const embedUs = Math.round(Duration.toMillis(embedding) * 1000)
        const mode: Mode = isBlind ? "keyword" : keyword === undefined ? "vector" : "hybrid"
        const hint =
          hits.length > 0
            ? undefined
            : ranked.length > 0
              ? tooWeak(judged(ranked), least)
              : yield* Effect.provide(
                  filterHint(
                    given,
                    collections.map(({ name }) => name)
                  ),
                  stores
                )
        const alsoSearched = wordsOf(near, hits)
        return {
          hits:
            request.explain === true || report === undefined
              ? hits
              : hits.map((hit): Hit => Struct.omit(hit, "explain")),
          mode,
          ...(readAs === undefined ? {} : { readAs }),
          ...(alsoSearched.length === 0 ? {} : { alsoSearched }),
          ...(mode === "hybrid" ? { fusion } : {}),
          ...(degraded === undefined ? {} : { degraded }),
          ...(isWeak ? { weak: true } : {}),
          ...(hint === undefined ? {} : { hint }),
          ...(report === undefined || request.explain !== true
            ? {}
            : {
                explain: {
                  ...(readAs === undefined ? {} : { read_as: readAs }),
                  ...Struct.omit(report, "unchecked"),
                  stages_us: {
                    ...report.stages_us,
                    embed: embedUs,
                    ...(reranker === undefined ? {} : { rerank: Math.round(Duration.toMillis(rerankTime) * 1000) })
                  }
                }
              })
        }
      })

      const outcome = Effect.gen(function* () {
        const collections = yield* searched(request.collection)
        if (collections.length === 0) return { hits: [], mode: modeOf(hybrid, alpha) }
        const names = collections.map(({ name }) => name)
        const reading = yield* Effect.provide(read(request.query, names), stores)
        const found = yield* searchFor(collections, reading)
        if (found.hits.length > 0 || reading.readAs === undefined) return found
        // Pasted text must not find nothing only because of its quotes.
        if (reading.hasWords) return yield* searchFor(collections, relaxed(request.query))
        return { ...found, hint: [...(found.hint === undefined ? [] : [found.hint]), unmet(reading.readAs)].join("; ") }
      })

      // Between listing and searching a collection may be dropped, or get another embedder.
      const isPassing = ({ _tag }: { readonly _tag: string }) =>
        _tag === "EmbedderChanged" || (_tag === "CollectionNotFound" && request.collection === undefined)
      const found = yield* Effect.retry(outcome, { times: 2, while: isPassing }).pipe(
        Effect.catchTag("EmbedderChanged", ({ message }) => new StoreUnavailable({ reason: message }))
      )
      return {
        ...found,
        hits: found.hits.slice(offset),
        queryTimeMs: (yield* Clock.currentTimeMillis) - started
      } satisfies SearchOutcome
    })

    return { run: (request: DoorRequest) => lean(run(request)) }
  }),
  dependencies: [Collections.Default]
}) {}

const modeOf = (hybrid: boolean, alpha: number): Mode =>
  !hybrid || alpha === 1 ? "vector" : alpha === 0 ? "keyword" : "hybrid"
