import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { SearchConfig } from "./Config.ts"
import { EmbedderUnavailable } from "./Embedder.ts"
import { Embedders } from "./Embedders.ts"
import { defaultCollection, describeEmbedder } from "./model/Collection.ts"
import { emptyFilter } from "./model/Filter.ts"
import type { Vector } from "./model/Passage.ts"
import type { Fusion, Mode, SearchRequest } from "./model/Query.ts"
import type { Hit } from "./model/SearchResult.ts"
import { Store } from "./Store.ts"

export interface SearchOutcome {
  /** Best first, at most `topK`; fewer only where fewer match. */
  readonly hits: ReadonlyArray<Hit>
  /** The legs that answered. */
  readonly mode: Mode
  /** Why fewer legs answered than were asked for. */
  readonly degraded?: string | undefined
  readonly queryTimeMs: number
}

/** The weight of the vector leg that measured best, by how the legs are fused. */
const defaultAlpha: Record<Fusion, number> = { rrf: 0.4, score: 0.5 }

/** What the vector leg is asked, or why it is not. */
type QueryVector = { readonly vector: Vector } | { readonly missing: string }

/** Finds passages by vector, keyword, or both fused. */
export class Search extends Effect.Service<Search>()("clew/Search", {
  effect: Effect.gen(function* () {
    const store = yield* Store
    const embedders = yield* Embedders
    const config = yield* SearchConfig

    const embed = Effect.fn("Search.embed")(function* (
      query: string,
      collection: Parameters<typeof embedders.forCollection>[0]
    ) {
      // The packaged model loads from the disk; any other may hang, and somebody waits.
      const embedder = yield* collection.embedder.backend === "builtin"
        ? embedders.forCollection(collection)
        : Effect.timeoutFail(embedders.forCollection(collection), {
            duration: "5 seconds",
            onTimeout: () =>
              new EmbedderUnavailable({ reason: `${describeEmbedder(collection.embedder)}: no answer within 5 s` })
          })
      return Option.match(yield* embedder.embedQuery(query), {
        onNone: (): QueryVector => ({ missing: "the query has no word that the embedding model knows" }),
        onSome: (vector): QueryVector => ({ vector })
      })
    })

    /** Fails as the vector leg does when it alone was asked; hybrid goes on with the keyword leg. */
    const run = Effect.fn("Search.run")(function* (request: SearchRequest) {
      const started = yield* Clock.currentTimeMillis
      const collection = request.collection ?? defaultCollection
      const hybrid = request.hybrid ?? true
      const fusion = request.fusion ?? config.fusion
      const alpha = hybrid ? (request.alpha ?? config.alpha ?? defaultAlpha[fusion]) : 1
      const limit = request.topK ?? config.topK
      const filter = request.filter ?? emptyFilter

      const outcome = Effect.gen(function* () {
        const known = yield* store.collection(collection)
        const asked = alpha === 0 ? undefined : embed(request.query, known)
        const answer =
          asked === undefined
            ? undefined
            : yield* hybrid
                ? Effect.catchTag(asked, "EmbedderUnavailable", ({ reason }) =>
                    Effect.succeed<QueryVector>({ missing: `embedder unavailable: ${reason}` })
                  )
                : asked
        const vector = answer !== undefined && "vector" in answer ? answer.vector : undefined
        const degraded = answer !== undefined && "missing" in answer ? answer.missing : undefined
        const keyword = vector === undefined || alpha < 1 ? request.query : undefined
        const hits = yield* store.rank({ collection, vector, keyword, alpha, fusion, filter, limit })
        const mode: Mode = vector === undefined ? "keyword" : keyword === undefined ? "vector" : "hybrid"
        return { hits, mode, ...(degraded === undefined ? {} : { degraded }) }
      })

      const found = yield* collection === defaultCollection
        ? // The default collection always exists, though it is made with its first document.
          Effect.catchTag(outcome, "CollectionNotFound", () =>
            Effect.succeed({ hits: [], mode: modeOf(hybrid, alpha) } as Omit<SearchOutcome, "queryTimeMs">)
          )
        : outcome
      return { ...found, queryTimeMs: (yield* Clock.currentTimeMillis) - started } satisfies SearchOutcome
    })

    return { run }
  })
}) {}

const modeOf = (hybrid: boolean, alpha: number): Mode =>
  !hybrid || alpha === 1 ? "vector" : alpha === 0 ? "keyword" : "hybrid"
