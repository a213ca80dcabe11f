import * as Sse from "@effect/experimental/Sse"
import * as HttpClient from "@effect/platform/HttpClient"
import type * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { type Llm, LlmUnavailable } from "../Llm.ts"
import { endpoint, type OpenAiServer, post } from "../vendors/OpenAi.ts"
import { generation, type Part } from "./generation.ts"
import type { ModelOptions } from "./options.ts"

/** One event of the stream: a fragment, or the server's own error. */
const Fragment = Schema.parseJson(
  Schema.Struct({
    choices: Schema.optionalWith(
      Schema.Array(
        Schema.Struct({
          delta: Schema.optional(Schema.Struct({ content: Schema.optional(Schema.NullOr(Schema.String)) })),
          finish_reason: Schema.optional(Schema.NullOr(Schema.String))
        })
      ),
      { default: () => [] }
    ),
    error: Schema.optional(Schema.Union(Schema.String, Schema.Struct({ message: Schema.String })))
  })
)

const end = "[DONE]"
const path = "chat/completions"
const eventStream = "text/event-stream"

const unavailable = (reason: string) => new LlmUnavailable({ reason })

interface Said extends Part {
  readonly ends: boolean
}

/** What an event says; fails on what is no event of a chat. */
const read = (data: string): Effect.Effect<Said, LlmUnavailable> =>
  data === end
    ? Effect.succeed({ text: "", isCut: false, ends: true })
    : Either.match(Schema.decodeEither(Fragment)(data), {
        onLeft: () => Effect.fail(unavailable(`the server sent what is no answer: ${data.slice(0, 200)}`)),
        onRight: ({ choices: [choice], error }) =>
          error === undefined
            ? // Some servers close after the reason to finish, without the closing event.
              Effect.succeed({
                text: choice?.delta?.content ?? "",
                isCut: choice?.finish_reason === "length",
                ends: Boolean(choice?.finish_reason)
              })
            : Effect.fail(unavailable(`the server broke off: ${typeof error === "string" ? error : error.message}`))
      })

/** Chat by any server that speaks OpenAI's `/v1/chat/completions`, streamed: llama.cpp, vLLM, LM Studio and others. */
export const make = (
  options: ModelOptions & OpenAiServer
): Effect.Effect<typeof Llm.Service, never, HttpClient.HttpClient> =>
  Effect.map(HttpClient.HttpClient, (http) => {
    const { maxTokens, timeoutMs, url } = options
    const identity = (model = options.model) => ({ backend: "openai" as const, model })
    const silence = () =>
      unavailable(`${url} said nothing for ${timeoutMs} ms; the model may be too large, or llm.timeout_ms too short`)

    /** Fails where a page or a whole answer comes instead of a stream; a server that does not say what it sends is believed. */
    const streamed = (response: HttpClientResponse.HttpClientResponse) => {
      const type = response.headers["content-type"]?.split(";")[0]?.trim() ?? eventStream
      return type === eventStream
        ? Effect.succeed(response)
        : Effect.fail(
            unavailable(
              `${endpoint(url, path)} sent ${type} and no stream of events; check llm.url, and that the server can stream`
            )
          )
    }

    /** The events up to the one that ends the answer; a stream without one was broken off. */
    const said = (response: HttpClientResponse.HttpClientResponse) => {
      let ended = false
      const broken = Stream.suspend(() =>
        ended ? Stream.empty : Stream.fail(unavailable(`${url} broke off before the answer's end`))
      )
      return response.stream.pipe(
        Stream.mapError(() => unavailable(`${url} broke off in the middle of the answer`)),
        Stream.decodeText(),
        Stream.pipeThroughChannel(Sse.makeChannel()),
        Stream.mapEffect(({ data }) => read(data)),
        Stream.tap(({ ends }) => Effect.sync(() => (ended ||= ends))),
        Stream.takeUntil(({ ends }) => ends),
        Stream.concat(broken)
      )
    }

    return {
      identity: (model) => Effect.succeed(identity(model)),
      answer: ({ history = [], model = options.model, prompt, schema, temperature = options.temperature }) => {
        const body = {
          model,
          messages: [...history, { role: "user", content: prompt }],
          temperature,
          max_tokens: maxTokens,
          stream: true,
          ...(schema === undefined
            ? {}
            : { response_format: { type: "json_schema", json_schema: { name: "answer", schema } } })
        }
        const parts = Stream.unwrapScoped(
          post(options, path, body).pipe(
            Effect.provideService(HttpClient.HttpClient, http),
            Effect.mapError(({ reason }) => unavailable(reason)),
            Effect.flatMap(streamed),
            Effect.map(said)
          )
        ).pipe(
          // A model that thinks sends fragments without text meanwhile: that is no silence.
          Stream.timeoutFail(silence, Duration.millis(timeoutMs))
        )
        return generation(identity(model), maxTokens, parts)
      }
    }
  })
