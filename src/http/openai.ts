import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
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
import type { EmbeddingList } from "../api/Embeddings.ts"
import { badField, ModelNotFound } from "../api/errors.ts"
import { PackagedEmbedder } from "../Embedder.ts"
import type { Generation, Turn } from "../Llm.ts"
import { fragment } from "../model/Locator.ts"
import { QueryText } from "../model/Query.ts"
import { type Hit, toFreshness } from "../model/SearchResult.ts"
import { packagedDimensions, packagedModel } from "../packaged/model.ts"
import { Tokenizer } from "../packaged/Tokenizer.ts"
import { inTurns } from "../runtime/EventLoop.ts"
import { endOf, headersOf, originOf } from "./ask.ts"
import { eventStream } from "./events.ts"
import { failed, idOf, openAiError } from "./respond.ts"
import { byContract } from "./search.ts"

const annotation = (hit: Hit, at: number): ChatAnnotation => {
  const { collection, document, passage, score } = hit
  return {
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
    text: passage.text,
    ...toFreshness(hit)
  }
}

const textOf = ({ content }: ChatMessage): string =>
  typeof content === "string" ? content : (content ?? []).map(({ text }) => text).join("\n")

const decodeQuery = Schema.decodeEither(QueryText)

/** The question, and the messages before it. */
const conversation = (messages: ReadonlyArray<ChatMessage>) => {
  const at = messages.findLastIndex(({ role }) => role === "user")
  if (at === -1) return badField("messages", "messages must contain a user message: the question")
  const query = decodeQuery(textOf(messages[at]!))
  if (Either.isLeft(query)) {
    const [issue] = ParseResult.ArrayFormatter.formatErrorSync(query.left)
    return badField(`messages[${at}].content`, issue?.message ?? "is not a question")
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
export const chatLayer = HttpApiBuilder.group(Api, "chat", (handlers) =>
  Effect.gen(function* () {
    const answer = yield* Answer
    const late = yield* endOf

    const begin = (id: string) =>
      Effect.map(Clock.currentTimeMillis, (now) => (generation: Generation) => ({
        id: `chatcmpl-${id}`,
        created: Math.floor(now / 1000),
        model: generation.llm.model ?? ownModel
      }))

    const complete = Effect.fnUntraced(function* (answering: Answering, id: string) {
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
      return HttpServerResponse.unsafeJson(completion, {
        headers: headersOf(originOf({ ...answering, llm: generation.llm }))
      })
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
          Effect.catchAllCause((cause) =>
            Effect.flatMap(failed(cause, id, "POST /v1/chat/completions"), (rendered) =>
              emit(data(openAiError(rendered)))
            )
          )
        )

    /** Undefined for the configured model. */
    const modelOf = Effect.fnUntraced(function* ({ model = ownModel }: ChatRequest) {
      if (model === ownModel) return undefined
      const { configured, used } = yield* answer.models
      if (model === used.model) return undefined
      if (model === configured) return model
      return yield* new ModelNotFound({
        model,
        known: [ownModel, used.model].filter((it) => it !== undefined)
      })
    })

    const listed = Effect.map(answer.models, ({ used }) => {
      const named = (id: string, owner: string) => ({ id, object: "model" as const, created: 0, owned_by: owner })
      return [
        named(ownModel, "clew"),
        ...(used.model === undefined ? [] : [named(used.model, used.backend)]),
        named(packagedModel, "clew")
      ]
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
          if (stream !== true) return yield* complete(answering, id)
          const generation = yield* answering.generation
          const isCounted = payload.streamOptions?.includeUsage === true
          const origin = originOf({ ...answering, llm: generation.llm })
          return eventStream(write(answering, generation, id, isCounted), headersOf(origin))
        })
      )
      .handle("models", () => Effect.map(listed, (data) => ({ object: "list" as const, data })))
      .handle("model", ({ path: { model } }) =>
        Effect.flatMap(listed, (data) => {
          const found = data.find(({ id }) => id === model)
          return found === undefined
            ? new ModelNotFound({ model, known: data.map(({ id }) => id) })
            : Effect.succeed(found)
        })
      )
  })
)

type Vector = EmbeddingList["data"][number]["embedding"]

const floats = (vector: Float32Array): Vector => Array.from(vector)

/** Little-endian floats of four bytes each. */
const base64 = (vector: Float32Array): Vector => Buffer.from(Float32Array.from(vector).buffer).toString("base64")

/** OpenAI's embeddings, by the packaged model. */
export const embeddingsLayer = HttpApiBuilder.group(Api, "embeddings", (handlers) =>
  Effect.gen(function* () {
    const { embedPassages } = yield* PackagedEmbedder
    const tokenizer = yield* Tokenizer

    return handlers.handle("embeddings", ({ payload }) =>
      Effect.gen(function* () {
        const { dimensions, encodingFormat, input, model } = payload
        if (model !== packagedModel) return yield* new ModelNotFound({ model, known: [packagedModel] })
        if ((dimensions ?? packagedDimensions) !== packagedDimensions) {
          return yield* badField(
            "dimensions",
            `dimensions must be ${packagedDimensions}, which is all that ${packagedModel} has: leave it out`
          )
        }
        const texts = typeof input === "string" ? [input] : input
        const { count } = yield* tokenizer.load
        const encode = encodingFormat === "base64" ? base64 : floats
        const vectors = yield* embedPassages(texts)
        const data: Array<EmbeddingList["data"][number]> = []
        const tokens = yield* inTurns(function* () {
          let tokens = 0
          for (const [index, text] of texts.entries()) {
            const embedding = encode(Option.getOrElse(vectors[index]!, () => new Float32Array(packagedDimensions)))
            data.push({ object: "embedding", index, embedding })
            tokens += count(text)
            yield
          }
          return tokens
        })
        const list: EmbeddingList = {
          object: "list",
          data,
          model: packagedModel,
          usage: { prompt_tokens: tokens, total_tokens: tokens }
        }
        return HttpServerResponse.unsafeJson(list)
      })
    )
  })
)
