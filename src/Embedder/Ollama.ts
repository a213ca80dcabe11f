import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { Embedder } from "../Embedder.ts"
import { call, type OllamaError, type OllamaServer } from "../vendors/Ollama.ts"
import { digestOf } from "../vendors/OllamaModels.ts"
import type { Turns } from "../runtime/Turn.ts"
import type { Prefixes } from "./prefixes.ts"
import { makeRemote, Numbers, RequestFailed } from "./remote.ts"

export interface OllamaOptions extends OllamaServer {
  readonly model: string
  /** Narrower vectors than the model's own, where it can. */
  readonly dimensions?: number | undefined
  readonly prefixes: Prefixes
  readonly batchSize: number
  /** For the requests that may be under way at once. */
  readonly turns: Turns
  readonly timeoutMs: number
  /** As `RemoteOptions` has it. */
  readonly queryTimeoutMs?: number | undefined
}

/** Texts cut to a model's window since the process started. */
export const truncated = Metric.counter("clew_embedding_truncated_total", {
  description: "Texts that were longer than the embedding model takes and were cut to its window",
  incremental: true
})

const Embeddings = Schema.Struct({ embeddings: Schema.Array(Numbers) }).annotations({ title: "list of embeddings" })

const tooLong = /exceeds? (?:the )?(?:maximum )?context length|input length/i

/** Embeddings by Ollama's `/api/embed`. A text longer than the model's window is cut to it, and counted in the log. */
export const make = (options: OllamaOptions): Effect.Effect<typeof Embedder.Service, never, Scope.Scope> => {
  const { dimensions, model } = options

  const request = (input: ReadonlyArray<string>, truncate: boolean) =>
    Effect.map(
      call(options, model, Embeddings, (ollama) =>
        ollama.embed({ model, input: [...input], truncate, ...(dimensions === undefined ? {} : { dimensions }) })
      ),
      ({ embeddings }) => embeddings
    )

  /** One by one, so that only what is too long is cut. */
  const oneByOne = (texts: ReadonlyArray<string>) =>
    Effect.gen(function* () {
      let cut = 0
      const vectors = yield* Effect.forEach(texts, (text) =>
        Effect.catchIf(request([text], false), isTooLong, () => {
          cut++
          return request([text], true)
        })
      )
      yield* Metric.incrementBy(truncated, cut)
      yield* Effect.logWarning(
        `${cut} of ${texts.length} texts were longer than ${model} takes and were cut to its window`
      )
      return vectors.flat()
    })

  const failed = (error: OllamaError) =>
    new RequestFailed({ reason: error.reason, retryable: error.retryable, status: error.status })

  return makeRemote({
    ...options,
    backend: "ollama",
    digest: digestOf(options, model),
    embed: (texts) =>
      request(texts, false).pipe(
        Effect.catchIf(isTooLong, () => oneByOne(texts)),
        Effect.mapError(failed)
      )
  })
}

const isTooLong = (error: OllamaError): boolean => error.status === 400 && tooLong.test(error.reason)
