import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Answer, type Answering } from "../Answer.ts"
import { Api } from "../api/Api.ts"
import {
  type ChatAnnotation,
  type ChatChunk,
  type ChatCompletion,
  type ChatMessage,
  type ChatRequest,
  ownModel
} from "../api/Chat.ts"
import { InvalidRequest, ModelNotFound } from "../api/errors.ts"
import type { Generation, Turn } from "../Llm.ts"
import { fragment } from "../model/Locator.ts"
import { QueryText } from "../model/Query.ts"
import type { Hit } from "../model/SearchResult.ts"
import { endOf, headersOf, originOf } from "./ask.ts"
import { openAiError } from "./openAi.ts"
import { errorOf, idOf, render } from "./respond.ts"
import { byContract } from "./search.ts"
import * as sse from "./sse.ts"

const annotation = ({ collection, document, passage, score }: Hit, at: number): ChatAnnotation => ({
  type: "file_citation",
  index: at + 1,
  file_id: document.docId,
  filename: document.source,
  source: document.source,
  collection,
  start_line: passage.startLine,
  end_line: passage.endLine,
  ...(passage.locator === undefined ? {} : { locator: fragment(passage.locator) }),
  score,
  text: passage.text
})

const textOf = ({ content }: ChatMessage): string =>
  typeof content === "string" ? content : (content ?? []).map(({ text }) => text).join("\n")

const decodeQuery = Schema.decodeEither(QueryText)

/** The question, and the messages before it. */
const conversation = (messages: ReadonlyArray<ChatMessage>) => {
  const at = messages.findLastIndex(({ role }) => role === "user")
  const wrong = (path: string, message: string) => new InvalidRequest({ errors: [{ path, message }] })
  if (at === -1) return Effect.fail(wrong("messages", "messages must contain a user message: the question"))
  const query = decodeQuery(textOf(messages[at]!))
  if (Either.isLeft(query)) {
    const [issue] = ParseResult.ArrayFormatter.formatErrorSync(query.left)
    return Effect.fail(wrong(`messages.${at}.content`, issue?.message ?? "is not a question"))
  }
  const history = messages.slice(0, at).map((message): Turn => ({
    role: message.role === "developer" ? "system" : message.role,
    content: textOf(message)
  }))
  return Effect.succeed({ query: query.right, history: history.filter(({ content }) => content.trim() !== "") })
}

const finishReason = (isCut: boolean) => (isCut ? "length" : "stop")

/** Empty if the model's server counts no tokens, or no model answers. */
const usageOf = ({ usage }: Generation): Effect.Effect<Pick<ChatCompletion, "usage">> =>
  Effect.map(usage, ({ answerTokens = 0, promptTokens }) =>
    promptTokens === undefined
      ? {}
      : {
          usage: {
            prompt_tokens: promptTokens,
            completion_tokens: answerTokens,
            total_tokens: promptTokens + answerTokens
          }
        }
  )

const data = (value: ChatChunk | object): string => `data: ${JSON.stringify(value)}\n\n`

/** OpenAI's chat completions, answered from the index. */
export const layer = HttpApiBuilder.group(Api, "chat", (handlers) =>
  Effect.gen(function* () {
    const answer = yield* Answer
    const late = yield* endOf

    const begin = (id: string) =>
      Effect.map(Clock.currentTimeMillis, (now) => (generation: Generation) => ({
        id: `chatcmpl-${id}`,
        created: Math.floor(now / 1000),
        model: generation.llm.model ?? ownModel
      }))

    const whole = Effect.fnUntraced(function* (answering: Answering, id: string) {
      const about = yield* begin(id)
      const generation = yield* answering.generation
      const content = yield* Effect.raceFirst(
        Stream.runFold(generation.fragments, "", (text, part) => text + part),
        late
      )
      const completion: ChatCompletion = {
        ...about(generation),
        object: "chat.completion",
        choices: [
          {
            index: 0,
            message: { role: "assistant", content, refusal: null, annotations: answering.hits.map(annotation) },
            logprobs: null,
            finish_reason: finishReason(yield* generation.isCut)
          }
        ],
        ...(yield* usageOf(generation))
      }
      return HttpServerResponse.unsafeJson(completion, { headers: headersOf(originOf(answering)) })
    })

    const write =
      (answering: Answering, generation: Generation, id: string, isCounted: boolean) =>
      (emit: (text: string) => Effect.Effect<void>) =>
        Effect.gen(function* () {
          const about = (yield* begin(id))(generation)
          const send = (
            delta: ChatChunk["choices"][number]["delta"],
            finish: ChatChunk["choices"][number]["finish_reason"] = null
          ) =>
            emit(
              data({
                ...about,
                object: "chat.completion.chunk",
                choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }]
              } satisfies ChatChunk)
            )
          yield* send({ role: "assistant", content: "", annotations: answering.hits.map(annotation) })
          yield* Effect.raceFirst(
            Stream.runForEach(generation.fragments, (content) => send({ content })),
            late
          )
          yield* send({}, finishReason(yield* generation.isCut))
          const counted = isCounted ? yield* usageOf(generation) : {}
          if (counted.usage !== undefined) {
            yield* emit(
              data({ ...about, object: "chat.completion.chunk", choices: [], ...counted } satisfies ChatChunk)
            )
          }
          yield* emit("data: [DONE]\n\n")
        }).pipe(
          Effect.catchAllCause((cause) => {
            const error = errorOf(cause)
            if (error._tag === "None") return Effect.failCause(cause) as Effect.Effect<never>
            const rendered = render(error.value, id)
            const log =
              rendered.defect === undefined
                ? Effect.logWarning(`POST /v1/chat/completions: ${rendered.body.detail}`)
                : Effect.annotateLogs(Effect.logError("defect", cause), "request_id", id)
            return Effect.zipRight(log, emit(data(openAiError(rendered))))
          })
        )

    /** Undefined for the configured model. */
    const modelOf = Effect.fnUntraced(function* ({ model = ownModel }: ChatRequest) {
      if (model === ownModel) return undefined
      const { configured, used } = yield* answer.models
      if (model === used.model) return undefined
      if (model === configured) return model
      return yield* new ModelNotFound({
        model,
        known: [ownModel, used.model ?? configured].filter((it) => it !== undefined)
      })
    })

    return handlers
      .handle("chat", ({ payload, request }) =>
        Effect.gen(function* () {
          const { messages, stream, temperature, topK, collection, filter, fusion } = payload
          const { history, query } = yield* conversation(messages)
          const model = yield* modelOf(payload)
          const answering = yield* answer.ask({
            query,
            history,
            model,
            temperature: temperature ?? undefined,
            hybrid: true,
            topK,
            collection,
            filter,
            fusion,
            ...byContract
          })
          const id = idOf(request)
          if (stream !== true) return yield* whole(answering, id)
          const generation = yield* answering.generation
          const isCounted = payload.streamOptions?.includeUsage === true
          return sse.respond(write(answering, generation, id, isCounted), headersOf(originOf(answering)))
        })
      )
      .handle("models", () =>
        Effect.map(answer.models, ({ used }) => {
          const named = (id: string, owner: string) => ({ id, object: "model" as const, created: 0, owned_by: owner })
          return {
            object: "list" as const,
            data: [named(ownModel, "clew"), ...(used.model === undefined ? [] : [named(used.model, used.backend)])]
          }
        })
      )
  })
)
