import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { Embedder } from "../Embedder.ts"
import { endpoint, type OpenAiError, type OpenAiServer, post } from "../vendors/OpenAi.ts"
import type { Turns } from "../runtime/Turn.ts"
import type { Prefixes } from "./prefixes.ts"
import { makeRemote, Numbers, RequestFailed } from "./remote.ts"

export interface OpenAiOptions extends OpenAiServer {
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

const Embeddings = Schema.Struct({
  data: Schema.Array(Schema.Struct({ index: Schema.Int, embedding: Numbers }))
})

/** Embeddings by any server that speaks OpenAI's `/v1/embeddings`: llama.cpp, vLLM, LM Studio and others. */
export const make = (
  options: OpenAiOptions
): Effect.Effect<typeof Embedder.Service, never, HttpClient.HttpClient | Scope.Scope> =>
  Effect.flatMap(HttpClient.HttpClient, (http) => {
    const { dimensions, model, url } = options
    const noList = `${endpoint(url, "embeddings")} sent what is no list of embeddings; check embedding.url`
    const failed = (error: OpenAiError) =>
      new RequestFailed({ reason: error.reason, retryable: error.retryable, status: error.status })
    return makeRemote({
      ...options,
      backend: "openai",
      embed: (input) =>
        post(options, "embeddings", {
          model,
          input,
          encoding_format: "float",
          ...(dimensions === undefined ? {} : { dimensions })
        }).pipe(
          Effect.mapError(failed),
          Effect.flatMap((response) =>
            Effect.mapError(
              HttpClientResponse.schemaBodyJson(Embeddings)(response),
              () => new RequestFailed({ reason: noList, retryable: false })
            )
          ),
          Effect.map(({ data }) => [...data].sort((a, b) => a.index - b.index).map(({ embedding }) => embedding)),
          Effect.provideService(HttpClient.HttpClient, http)
        )
    })
  })
