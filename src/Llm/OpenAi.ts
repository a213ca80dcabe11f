import * as Sse from "@effect/experimental/Sse"
import * as HttpClient from "@effect/platform/HttpClient"
import type * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Record from "effect/Record"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Struct from "effect/Struct"
import { type Llm, LlmUnavailable, type Question } from "../Llm.ts"
import { endpoint, type OpenAiError, type OpenAiServer, post, refusalIn } from "../vendors/OpenAi.ts"
import { shown } from "../vendors/redirect.ts"
import {
  generation,
  type Part,
  reasonOf,
  whileBusy,
  messagesOf,
  withoutSystem,
  type ModelOptions
} from "./generation.ts"
import { isBusy } from "../vendors/again.ts"
import { makeCalibration, usualWindow, windowOf } from "./window.ts"

/** Fields of a request on which servers differ, each by what a server says that refuses it. */
const refusals = {
  /** Newer models want `max_completion_tokens` in place of `max_tokens`. */
  newLimit: /max_completion_tokens/,
  noUsage: /stream_options/,
  noTemperature: /temperature/,
  /** Its template has no system role. */
  noSystem: /system.{0,20}(?:role|message|prompt)|roles? must alternate/i
}
export type Differences = Readonly<Record<keyof typeof refusals, boolean>>

const noDifferences: Differences = Record.map(refusals, () => false)

/**
 * What to change after a refusal that names a field; undefined if already changed, or if it names none. A request's own
 * temperature is never dropped: the caller gets the error.
 */
export const differing = (known: Differences, reason: string, isTemperatureAsked: boolean): Differences | undefined => {
  const refused = Struct.keys(refusals).find(
    (name) => !known[name] && refusals[name].test(reason) && !(name === "noTemperature" && isTemperatureAsked)
  )
  return refused && { ...known, [refused]: true }
}

/** Servers leave out what they do not know, or send null. */
const perhaps = <A, I>(schema: Schema.Schema<A, I>) => Schema.optional(Schema.NullOr(schema))

/** One event of the stream: a fragment, or the server's own error. */
const Fragment = Schema.parseJson(
  Schema.Struct({
    choices: perhaps(
      Schema.Array(
        Schema.Struct({
          delta: perhaps(Schema.Struct({ content: perhaps(Schema.String), refusal: perhaps(Schema.String) })),
          finish_reason: perhaps(Schema.String)
        })
      )
    ),
    usage: perhaps(Schema.Struct({ prompt_tokens: perhaps(Schema.Number), completion_tokens: perhaps(Schema.Number) })),
    error: perhaps(Schema.Union(Schema.String, Schema.Struct({ message: Schema.String })))
  })
)

const end = "[DONE]"
const path = "chat/completions"
const eventStream = "text/event-stream"

const unavailable = (reason: string) => new LlmUnavailable({ reason })

interface StreamPart extends Part {
  /** The answer is complete; token counts may follow. */
  readonly ends: boolean
  /** Nothing follows. */
  readonly isLast: boolean
}

const failed = (words: string) => unavailable(`the server failed during the answer: ${words}`)

/** What an event named `error` says. */
const Failure = Schema.parseJson(Schema.Struct({ message: Schema.String }))
const failureIn = (data: string): string =>
  Option.match(Schema.decodeOption(Failure)(data), {
    onNone: () => Option.getOrElse(refusalIn(data), () => data.slice(0, 200)),
    onSome: ({ message }) => message
  })

/** Parses an event; fails if it is not an event of a chat. */
const read = ({ data, event }: Pick<Sse.Event, "data" | "event">): Either.Either<StreamPart, LlmUnavailable> => {
  if (data === end) return Either.right({ text: "", isCut: false, ends: true, isLast: true })
  if (event === "error") return Either.left(failed(failureIn(data)))
  const decoded = Schema.decodeEither(Fragment)(data)
  if (Either.isLeft(decoded)) {
    return Either.left(unavailable(`the server sent something that is not an answer: ${data.slice(0, 200)}`))
  }
  const { choices, error, usage } = decoded.right
  if (error) return Either.left(failed(typeof error === "string" ? error : error.message))
  const [choice] = choices ?? []
  const reason = choice?.finish_reason
  if (reason === "content_filter") {
    return Either.left(unavailable("the server's content filter ended the answer before it was complete"))
  }
  // Some servers close the stream after the finish reason, without the closing event.
  return Either.right({
    text: choice?.delta?.content || choice?.delta?.refusal || "",
    isCut: reason === "length",
    ends: Boolean(reason),
    isLast: false,
    ...(typeof usage?.prompt_tokens === "number" && {
      usage: {
        promptTokens: usage.prompt_tokens,
        answerTokens: usage.completion_tokens ?? undefined,
        isPromptCut: false
      }
    })
  })
}

/** Chat by any server that speaks OpenAI's `/v1/chat/completions`, streamed: llama.cpp, vLLM, LM Studio and others. */
export const make = (
  options: ModelOptions & OpenAiServer
): Effect.Effect<typeof Llm.Service, never, HttpClient.HttpClient> =>
  Effect.map(HttpClient.HttpClient, (http) => {
    const { contextTokens = usualWindow, maxTokens, seed, stop, systemPrompt, timeoutMs, url } = options
    const calibration = makeCalibration()
    const differences = new Map<string, Differences>()
    const identity = (model = options.model) => ({ backend: "openai" as const, model })
    const silence = () =>
      new LlmUnavailable({
        reason: `${url} sent nothing for ${timeoutMs} ms; the model may be too large, or llm.timeout_ms too short`,
        silent: true
      })

    /**
     * Fails if a page or a complete answer comes instead of a stream; without a content type, the stream is accepted.
     */
    const streamed = (response: HttpClientResponse.HttpClientResponse) => {
      const type = response.headers["content-type"]?.split(";")[0]?.trim() ?? eventStream
      if (type === eventStream) return Effect.succeed(response)
      const body = type === "application/json" ? response.text : Effect.succeed("")
      return Effect.flatMap(
        Effect.orElseSucceed(body, () => ""),
        (text) => {
          const words = Option.match(refusalIn(text), {
            onNone: () => `sent ${type} instead of a stream of events; check llm.url, and that the server can stream`,
            onSome: (own) => `answered: ${own}`
          })
          return Effect.fail(unavailable(`${shown(endpoint(url, path))} ${words}`))
        }
      )
    }

    /** The events up to the end of the answer, and the token counts; a stream without an end was cut short. */
    const eventsOf = (response: HttpClientResponse.HttpClientResponse) =>
      Effect.map(Deferred.make<void>(), (complete) => {
        let ended = false
        const broken = Stream.suspend(() =>
          ended ? Stream.empty : Stream.fail(unavailable(`${url} ended the stream before the answer was complete`))
        )
        const ends = Effect.suspend(() => {
          ended = true
          return Deferred.succeed(complete, undefined)
        })
        return response.stream.pipe(
          Stream.mapError(() => unavailable(`${url} failed in the middle of the answer`)),
          // A failure after the end of the answer does not matter.
          Stream.catchAll((error) => (ended ? Stream.empty : Stream.fail(error))),
          Stream.decodeText(),
          Stream.pipeThroughChannel(Sse.makeChannel()),
          Stream.catchAllCause((cause) =>
            Option.exists(Cause.dieOption(cause), (defect) => defect instanceof Sse.SseError)
              ? Stream.fail(unavailable(`${url} sent an event of more than 10 MB`))
              : Stream.failCause(cause)
          ),
          Stream.mapEffect(read),
          Stream.tap((part) => (part.ends ? ends : Effect.void)),
          Stream.takeUntil(({ isLast, usage }) => isLast || (ended && usage !== undefined)),
          // A server may send no counts and keep the connection open.
          Stream.interruptWhen(Effect.zipRight(Deferred.await(complete), Effect.sleep("1 second"))),
          Stream.concat(broken)
        )
      })

    const bodyOf = (question: Question, model: string, not: Differences) => {
      const messages = messagesOf(question, systemPrompt)
      return {
        model,
        messages: not.noSystem ? withoutSystem(messages) : messages,
        ...(not.noTemperature ? {} : { temperature: question.temperature ?? options.temperature }),
        ...(not.newLimit ? { max_completion_tokens: maxTokens } : { max_tokens: maxTokens }),
        ...(seed === undefined ? {} : { seed }),
        ...(stop === undefined || question.schema !== undefined ? {} : { stop }),
        ...(question.schema === undefined
          ? {}
          : { response_format: { type: "json_schema", json_schema: { name: "answer", schema: question.schema } } }),
        ...(not.noUsage ? {} : { stream_options: { include_usage: true } }),
        stream: true
      }
    }

    /** Sends a request, and sends it differently if the server refuses a field that others need. */
    const ask = (
      question: Question,
      model: string
    ): Effect.Effect<HttpClientResponse.HttpClientResponse, OpenAiError> => {
      const not = differences.get(model) ?? noDifferences
      return post(options, path, bodyOf(question, model, not)).pipe(
        Effect.provideService(HttpClient.HttpClient, http),
        Effect.catchTag("OpenAiError", (error) => {
          const next =
            error.status === 400 || error.status === 422
              ? differing(not, error.reason, question.temperature !== undefined)
              : undefined
          if (next === undefined) return Effect.fail(error)
          if (differences.size > 32) differences.clear()
          differences.set(model, next)
          const asked = ask(question, model)
          return next.noTemperature === not.noTemperature
            ? asked
            : Effect.zipRight(Effect.logWarning(`${model} does not accept llm.temperature; leaving it out`), asked)
        })
      )
    }

    return {
      identity: (model) => Effect.succeed(identity(model)),
      window: (model = options.model) => Effect.succeed(windowOf(options, calibration, model, contextTokens)),
      answer: (question) => {
        const { model = options.model } = question
        let busy: OpenAiError | undefined
        const asked = ask(question, model).pipe(
          Effect.tapBoth({
            onFailure: (error) => Effect.sync(() => (busy = isBusy(error) ? error : undefined)),
            onSuccess: () => Effect.sync(() => (busy = undefined))
          }),
          whileBusy(timeoutMs),
          Effect.mapError((error) => unavailable(reasonOf(error)))
        )
        const parts = Stream.unwrapScoped(Effect.flatMap(Effect.flatMap(asked, streamed), eventsOf)).pipe(
          // A thinking model sends fragments without text: that is not silence.
          Stream.timeoutFail(
            () => (busy === undefined ? silence() : unavailable(reasonOf(busy))),
            Duration.millis(timeoutMs)
          ),
          Stream.tap(({ usage }) =>
            Effect.sync(() => {
              if (usage?.promptTokens === undefined) return
              calibration.learn(model, messagesOf(question, systemPrompt), usage.promptTokens)
            })
          )
        )
        return generation({ llm: identity(model), configured: options.model, maxTokens, contextTokens }, parts)
      }
    }
  })
