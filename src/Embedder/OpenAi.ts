import * as HttpClient from "@effect/platform/HttpClient"
import type * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { Embedder } from "../Embedder.ts"
import { type OpenAiError, type OpenAiServer, answerOf, endpoint, post } from "../vendors/OpenAi.ts"
import { shown } from "../vendors/redirect.ts"
import { Numbers, type ServerOptions, makeRemote } from "./remote.ts"

export interface OpenAiOptions extends OpenAiServer, ServerOptions {}

const Embeddings = Schema.Struct({
  data: Schema.Array(Schema.Struct({ index: Schema.Int, embedding: Numbers })),
  usage: Schema.optional(Schema.NullOr(Schema.Struct({ prompt_tokens: Schema.optional(Schema.Number) })))
})

/** Embeddings by any server that speaks OpenAI's `/v1/embeddings`: llama.cpp, vLLM, LM Studio and others. */
export const make = (
  options: OpenAiOptions
): Effect.Effect<typeof Embedder.Service, never, HttpClient.HttpClient | Scope.Scope> =>
  Effect.flatMap(HttpClient.HttpClient, (http) => {
    const { dimensions, model, url } = options
    const answer = answerOf(
      shown(endpoint(url, "embeddings")),
      Embeddings,
      "sent something that is not a list of embeddings; check embedding.url"
    )
    // A server whose model cannot reduce dimensions refuses the field; its vectors must still have the configured
    // width.
    let asksWidth = dimensions !== undefined
    const request = (input: ReadonlyArray<string>): Effect.Effect<HttpClientResponse.HttpClientResponse, OpenAiError> =>
      post(options, "embeddings", {
        model,
        input,
        encoding_format: "float",
        ...(asksWidth ? { dimensions } : {})
      }).pipe(
        Effect.provideService(HttpClient.HttpClient, http),
        Effect.catchIf(
          ({ reason, status }) =>
            asksWidth && (status === 400 || status === 422) && /dimension|matryoshka/i.test(reason),
          () => {
            asksWidth = false
            return request(input)
          }
        )
      )
    return makeRemote({
      ...options,
      backend: "openai",
      embed: (input) =>
        request(input).pipe(
          Effect.flatMap(answer),
          Effect.map(({ data, usage }) => ({
            vectors: [...data].sort((a, b) => a.index - b.index).map(({ embedding }) => embedding),
            tokens: usage?.prompt_tokens
          }))
        )
    })
  })
