import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import { Collections } from "./Collections.ts"
import { SearchConfig } from "./Config.ts"
import { Embedders } from "./Embedders.ts"
import { Reranker } from "./Reranker.ts"
import { plainly, type Reading, read, relaxed, unmet, withFilters } from "./Search/reading.ts"
import { refined, refinedPlaces } from "./Search/refined.ts"
import { naming } from "./Search/naming.ts"
import { reranked } from "./Search/reranked.ts"
import { keepingSlow } from "./Search/slow.ts"
import { makeStaleness } from "./Search/staleness.ts"
import { continued, fused, mostPlacesOfEach, placesOfEach, together } from "./Search/several.ts"
import { embedded, type Like, likenessOf, shortcomings } from "./Search/vectors.ts"
import { type EmbedderChanged, RankingStore, Store, StoreUnavailable } from "./Store.ts"
import { embeddedText } from "./chunking/embedded.ts"
import { searchedTitle } from "./entities/mention.ts"
import { filterHint } from "./filterHint.ts"
import { type Collection, type CollectionName, type CollectionSummary, hasBackground } from "./model/Collection.ts"
import { type Facets, noFacets } from "./model/Facets.ts"
import { emptyFilter, isEmptyFilter } from "./model/Filter.ts"
import { lazily } from "./model/lazily.ts"
import { limits } from "./model/Limits.ts"
import type { DoorRequest, DoorSimilarRequest, Fusion, Mode } from "./model/Query.ts"
import type { Dated, Found as Provenance, Hit, SearchExplanation } from "./model/SearchResult.ts"
import type { Asked, FindRequest, Found, NearTerm, StoredDocument } from "./model/Stored.ts"
import { indexedSince } from "./model/Since.ts"
import { withoutCopies } from "./ranking/folding.ts"
import { isFitted, isWeak, judging } from "./ranking/relevance.ts"
import { lean, spannedGen } from "./runtime/tracing.ts"
import { hasCode, isNames } from "./terms/codeNames.ts"
import { languageNamed } from "./terms/languages.ts"
import { writtenAs } from "./terms/spelling.ts"
import { learned } from "./terms/stemmers.ts"

export interface SearchOutcome extends Provenance {
  /** Best first, at most `topK`; fewer only if fewer match. */
  readonly hits: ReadonlyArray<Hit>
  /** As many hits after these as were asked for. */
  readonly further?: ReadonlyArray<Hit> | undefined
  /** The documents that it may find, counted by each facet that was asked for. */
  readonly facets?: Facets | undefined
  /** How the search ran, on request. */
  readonly explain?: SearchExplanation | undefined
  readonly queryTimeMs: number
}

type Outcome = Omit<SearchOutcome, "queryTimeMs">

/** The best measured weight of the vector leg, per fusion, by whether the vectors have a background. */
const defaultAlpha: Record<Fusion, { readonly plain: number; readonly above: number }> = {
  rrf: { plain: 0.4, above: 0.4 },
  score: { plain: 0.4, above: 0.5 }
}

/**
 * The weight of the vector leg for a query that is nothing but names in code: those are found by how they are written,
 * and ranks do not tell how much better words find them. What only vectors find follows what words find.
 */
const alphaOfNames = 0.001

/**
 * What is left of the vector leg's usual weight where words tell more: for a query in another language than the model's,
 * and, where ranks are fused, for one with a name in code.
 */
const lessened = 0.5

/** A request, with the configuration's defaults. */
const settled = (
  request: DoorRequest,
  config: typeof SearchConfig.Service,
  collections: ReadonlyArray<Collection>,
  /** What is searched of the query; a passage that others are to be like has none. */
  words = ""
) => {
  const hybrid = request.hybrid ?? true
  const fusion = request.fusion ?? config.fusion ?? request.usualFusion ?? "score"
  const kind = collections.every(({ embedder }) => hasBackground(embedder)) ? "above" : "plain"
  const whole = defaultAlpha[fusion][kind]
  const usual = fusion !== "rrf" ? whole : isNames(words) ? alphaOfNames : hasCode(words) ? lessened * whole : whole
  return {
    hybrid,
    fusion,
    alpha: hybrid ? (request.alpha ?? config.alpha ?? usual) : 1,
    isUsual: (request.alpha ?? config.alpha) === undefined,
    limit: (request.topK ?? config.topK) + (request.offset ?? 0),
    beyond: request.further ?? 0,
    minRelevance: request.minRelevance ?? 0,
    given: request.filter ?? emptyFilter
  }
}

/** Hits beyond those asked for, since the passage itself and its copies are left out. */
const copies = 10

/** Finds passages by vector, keyword, or both fused. */
export class Search extends Effect.Service<Search>()("clew/Search", {
  effect: Effect.gen(function* () {
    const stores = yield* Effect.context<Store | RankingStore>()
    const store = yield* RankingStore
    const documents = yield* Store
    const embedders = yield* Embedders
    const { searched } = yield* Collections
    const config = yield* SearchConfig
    const withStaleness = yield* makeStaleness
    const { named, vectorOf } = naming(documents, searched)
    const slow = keepingSlow()
    const available = Option.getOrUndefined(yield* Effect.serviceOption(Reranker))

    /** What a reading of the query finds in collections, of which there is at least one. */
    const searchFor = Effect.fnUntraced(function* (
      request: DoorRequest,
      collections: ReadonlyArray<CollectionSummary>,
      reading: Reading,
      like?: Like
    ) {
      const { demands, words } = reading
      const { alpha, beyond, fusion, given, hybrid, isUsual, limit, minRelevance } = settled(
        request,
        config,
        collections,
        like === undefined ? words : undefined
      )
      const filter = withFilters(given, reading.filters)
      const wordsAlone = alpha === 0
      // Relevance means the same without the vector leg, so it needs the query's vector there too.
      const wanted = wordsAlone ? collections.filter(isFitted) : collections
      const embeds = performance.now()
      const vectors = yield* embedded(embedders, words, wanted, like)
      const embedding = performance.now() - embeds
      const failures = vectors.flatMap(({ answer }) => (Either.isLeft(answer) ? [answer.left] : []))
      // Search the collections that can be searched; if none can, report why.
      if (!wordsAlone && failures.length > 0 && failures.length === collections.length) {
        const refused = failures.find(({ _tag }) => _tag !== "EmbedderUnavailable")
        if (refused !== undefined || !hybrid) return yield* refused ?? failures[0]!
      }
      const answers = new Map(vectors.map(({ answer, collection }) => [collection, Either.getOrUndefined(answer)]))
      const asked = collections.map(
        (collection): Asked & Record<"isEnglish" | "isMultilingual", boolean> & { readonly share: number } => {
          const answer = { share: 1, vector: undefined, isEnglish: false, isMultilingual: false }
          const { isEnglish, isMultilingual, share, vector } = { ...answer, ...answers.get(collection) }
          const { embedder, name } = collection
          return { collection: name, vector, embedder, share, isEnglish, isMultilingual }
        }
      )
      const isBlind = wordsAlone || asked.every(({ vector }) => vector === undefined)
      const keyword = isBlind || alpha < 1 ? words : undefined
      const mode: Mode = isBlind ? "keyword" : keyword === undefined ? "vector" : "hybrid"
      const short = wordsAlone ? undefined : shortcomings(vectors, keyword === undefined)
      // An explicit request for the graph wins; otherwise the reranker, if there is one. Both read a question.
      const reranker = request.graph === true || request.reranks === false || like !== undefined ? undefined : available
      const use = reranker === undefined && like === undefined ? (request.graph ?? config.graph) : false
      const isLed = use !== false && limit > limits.graph.first
      const { collection, embedder, vector } = asked[0]!
      const likeness =
        mode === "hybrid" && fusion === "score" && config.recency === undefined ? likenessOf(vectors) : undefined
      const known = Math.min(...asked.map(({ share }) => share))
      const ranking: FindRequest = {
        collection,
        vector,
        embedder,
        others: asked.slice(1),
        keyword,
        wordsAlone,
        spelling: alpha < 1,
        // Only words can find what the model does not know of a query.
        alpha: alpha * known,
        foreignAlpha:
          isUsual && like === undefined && asked.every(({ isEnglish }) => isEnglish)
            ? lessened * alpha * known
            : undefined,
        isMultilingual: asked.every(({ isMultilingual }) => isMultilingual),
        fusion,
        rrfK: config.rrfK,
        context: config.context,
        recency: config.recency && { ...config.recency, now: yield* Clock.currentTimeMillis },
        filter,
        demands,
        graph: isLed ? { question: words, auto: use === "auto" } : undefined,
        explain: request.explain,
        facets: request.facets,
        passages: collections.reduce((sum, { passages }) => sum + passages, 0),
        list: {
          // A list with the graph is the head of a longer one only if all its places are decided.
          places: Math.max(
            limit + beyond,
            reranker?.top ?? 0,
            isLed ? limits.graph.end : 0,
            likeness ? refinedPlaces : 0
          ),
          filled: request.filled ?? (likeness === undefined && reranker === undefined ? undefined : limit + beyond),
          fold: config.fold || like !== undefined,
          perDocument: request.perDocument ?? config.perDocument,
          minRelevance,
          question: words,
          apart: likeness !== undefined
        }
      }
      const found = yield* store.find(ranking)
      yield* learned(found.hits.map(({ language }) => languageNamed(language)))
      const relevanceOf = lazily(() => judging(collections, found.unscaled, words, found.near))
      const judged = (hit: Hit): Hit => (hit.relevance === undefined ? { ...hit, relevance: relevanceOf()(hit) } : hit)
      const listed = likeness === undefined ? found.hits : yield* refined(likeness, ranking, found, judged)
      const reranks = performance.now()
      const { hits: all, missing } =
        reranker === undefined
          ? { hits: listed, missing: undefined }
          : yield* reranked(reranker, words, listed, found.open)
      const reranking = reranker && performance.now() - reranks
      const hits = all.slice(0, limit).map(judged)
      const names = collections.map(({ name }) => name)
      const hint =
        hits.length > 0
          ? undefined
          : found.best === undefined
            ? (unfilled(request, collections) ?? (yield* Effect.provide(filterHint(given, names), stores)))
            : `the best match has a relevance of ${found.best.toFixed(2)}, less than ${minRelevance}`
      return {
        hits,
        further: beyond > 0 ? all.slice(limit, limit + beyond).map(judged) : undefined,
        mode,
        readAs: reading.readAs && { ...reading.readAs, ...(found.unchecked > 0 && { unchecked: found.unchecked }) },
        alsoSearched: alsoSearched(found.near, hits),
        fusion: mode === "hybrid" ? fusion : undefined,
        degraded:
          [short, wordsAlone ? undefined : staged(collections), missing]
            .filter((why) => why !== undefined)
            .join("; ") || undefined,
        weak:
          (demands === undefined && isEmptyFilter(filter) && hits.length > 0 && isWeak(hits, found.unscaled)) ||
          undefined,
        hint,
        facets: found.facets,
        explain: explained(found, reading, embedding, reranking)
      } satisfies Outcome as Outcome
    })

    /**
     * What one query finds. Without a collection's name, all are searched together. A vector-only search fails if the vector
     * leg fails for every collection; a hybrid search continues with the keyword leg.
     */
    const outcomeOf = Effect.fnUntraced(function* (request: DoorRequest, like?: Like) {
      const collections = yield* searched(request.collection)
      if (collections.length === 0) {
        const { alpha } = settled(request, config, collections)
        return {
          hits: [],
          mode: alpha === 1 ? "vector" : alpha === 0 ? "keyword" : "hybrid",
          hint: unfilled(request, collections),
          facets: request.facets && noFacets(request.facets)
        } satisfies Outcome as Outcome
      }
      const names = collections.map(({ name }) => name)
      if (like !== undefined) return yield* searchFor(request, collections, plainly(request.query), like)
      const reading = yield* read(documents, store, request.query, names)
      const found = yield* searchFor(request, collections, reading)
      if (found.hits.length > 0 || reading.readAs === undefined) return found
      // Pasted text must not find nothing only because of its quotes.
      if (reading.hasWords) return yield* searchFor(request, collections, relaxed(request.query))
      return { ...found, hint: [found.hint, unmet(reading.readAs)].filter((why) => why !== undefined).join("; ") }
    })

    const find = (request: DoorRequest, like?: Like) => {
      const outcome = outcomeOf(request, like)
      type Failure = Effect.Effect.Error<typeof outcome>
      // Between listing and searching a collection may be dropped, or get another embedder.
      const isPassing = ({ _tag }: { readonly _tag: string }) =>
        _tag === "EmbedderChanged" || (_tag === "CollectionNotFound" && request.collection === undefined)
      const attempt = (again: number): Effect.Effect<Outcome, Exclude<Failure, EmbedderChanged> | StoreUnavailable> =>
        Effect.catchAll(outcome, (error) =>
          again > 0 && isPassing(error)
            ? attempt(again - 1)
            : error._tag === "EmbedderChanged"
              ? new StoreUnavailable({ reason: error.message })
              : Effect.fail(error)
        )
      return attempt(2)
    }

    /** What several queries find together. */
    const findAll = Effect.fnUntraced(function* (request: DoorRequest, queries: ReadonlyArray<string>) {
      const { beyond, limit } = settled(request, config, [])
      const each = (topK: number, filled: number, facets?: DoorRequest["facets"]) =>
        Effect.forEach(
          [request.query, ...queries],
          (query, at) =>
            find({
              ...request,
              query,
              topK,
              offset: 0,
              further: 0,
              filled,
              // Those of the first query are those of the answer.
              facets: at === 0 ? facets : undefined
            }),
          { concurrency: "unbounded" }
        )
      const outcomes = yield* each(placesOfEach, Math.min(limit + beyond, placesOfEach), request.facets)
      const head = fused(outcomes.map(({ hits }) => hits))
      // Longer lists fuse otherwise: they only add to the head, so that pages neither repeat nor miss a passage.
      const longer = limit + beyond > placesOfEach ? yield* each(mostPlacesOfEach, mostPlacesOfEach) : []
      const all =
        longer.length === 0 ? head : continued(head.slice(0, placesOfEach), fused(longer.map(({ hits }) => hits)))
      const distinct = <A>(of: (outcome: Outcome) => A | undefined): ReadonlyArray<A> =>
        [...new Set(outcomes.flatMap((outcome) => of(outcome) ?? []))] as ReadonlyArray<A>
      const words = [...new Set(outcomes.flatMap(({ alsoSearched }) => alsoSearched ?? []))]
      return {
        ...outcomes[0]!,
        hits: all.slice(0, limit),
        further: beyond > 0 ? all.slice(limit, limit + beyond) : undefined,
        degraded: distinct(({ degraded }) => degraded).join("; ") || undefined,
        alsoSearched: words.length === 0 ? undefined : words,
        weak: (all.length > 0 && outcomes.every(({ hits, weak }) => weak === true || hits.length === 0)) || undefined,
        hint: all.length > 0 ? undefined : distinct(({ hint }) => hint).join("; ") || undefined,
        explain: together([...outcomes, ...longer].flatMap(({ explain }) => explain ?? []))
      } satisfies Outcome as Outcome
    })

    /** The hits of an outcome that are shown, with what has become of their files. */
    const shownOf = Effect.fnUntraced(function* (found: Outcome, offset: number | undefined, started: number) {
      const shown = found.hits.slice(offset ?? 0)
      const all = yield* withStaleness([...shown, ...(found.further ?? [])])
      return {
        ...found,
        hits: all.slice(0, shown.length),
        further: found.further && all.slice(shown.length),
        queryTimeMs: (yield* Clock.currentTimeMillis) - started
      } satisfies SearchOutcome as SearchOutcome
    })

    const run = spannedGen("Search.run")(function* (given: DoorRequest) {
      const started = yield* Clock.currentTimeMillis
      const request = { ...given, filter: indexedSince(given.since, started, given.filter) }
      const found = yield* given.queries?.length ? findAll(request, given.queries) : find(request)
      return yield* shownOf(found, given.offset, started)
    })

    const similar = spannedGen("Search.similar")(function* (given: DoorSimilarRequest) {
      const started = yield* Clock.currentTimeMillis
      const itself = given.text === undefined ? yield* named(given) : undefined
      const { text = "", ...rest } = given
      const whole = itself === undefined ? text : embeddedText(itself.document.title, itself.passage)
      const vector = itself === undefined ? undefined : yield* vectorOf(itself)
      const { limit } = settled({ ...rest, query: "" }, config, [])
      const found = yield* find(
        {
          ...rest,
          query: whole,
          filter: indexedSince(given.since, started, given.filter),
          topK: limit + copies,
          offset: 0
        },
        { text: whole, stored: vector }
      )
      const others = itself === undefined ? found.hits : withoutCopies(itself, found.hits)
      return yield* shownOf({ ...found, hits: others.slice(0, limit), weak: undefined }, given.offset, started)
    })

    return {
      run: (request: DoorRequest) => lean(Effect.tap(run(request), (outcome) => slow.note(request.query, outcome))),
      /** Queries of this process that took long, the newest first. */
      slow: slow.all,
      /** Passages like one of the index, without itself and its copies, or like a text. */
      similar: (request: DoorSimilarRequest) => lean(similar(request)),
      /** Says of a stored document whether its file is still the one that was indexed. */
      dated: (collection: CollectionName, document: StoredDocument): Effect.Effect<Dated> =>
        Effect.map(withStaleness([{ collection, document } satisfies Dated as Dated]), ([dated]) => dated!)
    }
  }),
  dependencies: [Collections.Default]
}) {}

/** The words that were also searched, as the hits write them; a term that no hit has is left out, since it may be a stem. */
const alsoSearched = (near: ReadonlyArray<NearTerm>, hits: ReadonlyArray<Hit>): ReadonlyArray<string> | undefined => {
  const texts = lazily(() =>
    hits.flatMap(({ document, passage }) => [
      ...passage.heading,
      passage.text,
      searchedTitle(document.title, document.source)
    ])
  )
  const words = new Set(near.flatMap(({ term }) => writtenAs(term, texts()) ?? []))
  return words.size === 0 ? undefined : [...words]
}

/** What is to be said where there is nothing to find. */
const unfilled = ({ collection }: DoorRequest, collections: ReadonlyArray<CollectionSummary>): string | undefined =>
  collections.some(({ documents }) => documents > 0)
    ? undefined
    : collection === undefined
      ? "no documents are indexed"
      : `collection ${collection} has no documents`

/** What is said while the configured model makes the vectors of a new collection. */
const staged = (collections: ReadonlyArray<CollectionSummary>): string | undefined =>
  collections
    .filter(({ embedder, next }) => embedder.backend === "builtin" && next?.embedder.backend === "onnx")
    .map(
      ({ name, next, passages }) =>
        `the configured model has made ${Math.floor((100 * next!.done) / Math.max(1, passages))} % of the vectors of collection ${name}; until it has made all, those of the packaged model are searched`
    )
    .join("; ") || undefined

const microseconds = (ms: number): number => Math.round(1000 * ms)

/** The store's report with what was done around it, and the milliseconds that it took. */
const explained = (
  { report, unchecked }: Found,
  { readAs }: Reading,
  embedding: number,
  reranking: number | undefined
): SearchExplanation | undefined =>
  report && {
    ...(readAs && { read_as: { ...readAs, ...(unchecked > 0 && { unchecked }) } }),
    ...report,
    stages_us: {
      ...report.stages_us,
      embed: microseconds(embedding),
      ...(reranking !== undefined && { rerank: microseconds(reranking) })
    }
  }
