import * as HttpClient from "@effect/platform/HttpClient"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { type Reranker, RerankerUnavailable } from "../Reranker.ts"
import { answerOf, endpoint, type OpenAiServer, post } from "../vendors/OpenAi.ts"
import { shown } from "../vendors/redirect.ts"

interface RerankerOptions extends OpenAiServer {
  /** Undefined: the server's only model. */
  readonly model?: string | undefined
  readonly top: number
  readonly timeoutMs: number
}

const Ranking = Schema.Struct({
  results: Schema.Array(Schema.Struct({ index: Schema.Int, relevance_score: Schema.Finite }))
})

/** Pauses after a failure: the first one, doubled with each retry that fails, up to the longest. */
const pauses = { firstMs: 1000, longestMs: 30_000 }

/**
 * A reranker behind `/v1/rerank`, as in llama.cpp, vLLM, Infinity, LiteLLM and Jina. After a failure it is not asked
 * for a while.
 */
export const make = (options: RerankerOptions): Effect.Effect<typeof Reranker.Service, never, HttpClient.HttpClient> =>
  Effect.map(HttpClient.HttpClient, (http) => {
    const { model, timeoutMs, top } = options
    const address = shown(endpoint(options.url, "rerank"))
    const answer = answerOf(address, Ranking, "did not send a ranking; check rerank.url")
    let down: { readonly reason: string; readonly until: number; readonly pauseMs: number } | undefined

    const request = (query: string, texts: ReadonlyArray<string>) =>
      post(options, "rerank", {
        ...(model === undefined ? {} : { model }),
        query,
        documents: texts,
        top_n: texts.length
      }).pipe(
        Effect.flatMap(answer),
        Effect.filterOrFail(
          ({ results }) =>
            results.length === texts.length &&
            new Set(results.map(({ index }) => index)).size === texts.length &&
            results.every(({ index }) => index >= 0 && index < texts.length),
          () => ({ reason: `${address} did not rank each of the ${texts.length} passages once`, waitMs: undefined })
        ),
        // Sorted by score; `index` says which text each belongs to.
        Effect.map(({ results }) => results.toSorted((a, b) => a.index - b.index).map((one) => one.relevance_score)),
        Effect.timeoutFail({
          duration: Duration.millis(timeoutMs),
          onTimeout: () => ({ reason: `no answer from ${address} within ${timeoutMs} ms`, waitMs: undefined })
        }),
        Effect.provideService(HttpClient.HttpClient, http)
      )

    /** `retried` is what was known when it was asked: requests in flight at the first failure do not count as retries. */
    const failed = Effect.fnUntraced(function* (reason: string, waitMs = 0, retried: typeof down) {
      const now = yield* Clock.currentTimeMillis
      if (down === undefined) yield* Effect.logWarning(`${reason}; searching without reranking`)
      if (down !== undefined && retried === undefined) down = { ...down, until: Math.max(down.until, now + waitMs) }
      else {
        const pauseMs = retried === undefined ? pauses.firstMs : Math.min(2 * retried.pauseMs, pauses.longestMs)
        down = { reason, until: now + Math.max(pauseMs, waitMs), pauseMs }
      }
      return yield* new RerankerUnavailable({ reason })
    })

    const rerank = Effect.fn("Reranker.rerank")(function* (query: string, texts: ReadonlyArray<string>) {
      if (texts.length === 0) return []
      const before = down
      if (before !== undefined) {
        const now = yield* Clock.currentTimeMillis
        if (now < before.until) {
          const seconds = Math.max(1, Math.ceil((before.until - now) / 1000))
          return yield* new RerankerUnavailable({ reason: `${before.reason}; the next retry is in ${seconds} s` })
        }
        // One caller retries; the others skip reranking until it has the result.
        down = { ...before, until: now + timeoutMs }
      }
      const scores = yield* Effect.catchAll(request(query, texts), ({ reason, waitMs }) =>
        failed(reason, waitMs, before)
      ).pipe(
        // An interrupted caller has learned nothing.
        Effect.onInterrupt(() => Effect.sync(() => (down = before)))
      )
      if (down !== undefined) yield* Effect.logInfo(`${address} answers again`)
      down = undefined
      return scores
    })

    return { name: `openai ${model ?? "(the server's own model)"}`, top, rerank }
  })
