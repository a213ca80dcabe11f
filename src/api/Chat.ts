import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { SearchRequest } from "../model/Query.ts"
import { Temperature } from "./Ask.ts"
import * as failures from "./failures.ts"
import { Authorization } from "./Middleware.ts"

/** The model's name for clients. */
export const ownModel = "clew"

const TextPart = Schema.Struct({
  type: Schema.Literal("text").annotations({ description: "Only text is accepted" }),
  text: Schema.String.annotations({ description: "The text" })
}).annotations({ identifier: "ChatTextPart", description: "A part of a message" })

export const ChatMessage = Schema.Struct({
  role: Schema.Literal("system", "developer", "user", "assistant").annotations({
    description: "The author of the message"
  }),
  content: Schema.NullOr(Schema.Union(Schema.String, Schema.Array(TextPart))).annotations({
    description: "The content: a text, or parts that are texts"
  })
}).annotations({ identifier: "ChatMessage", description: "A message of the conversation" })
export type ChatMessage = typeof ChatMessage.Type

const { collection, filter, fusion, topK } = SearchRequest.fields

export const ChatRequest = Schema.Struct({
  model: Schema.optional(
    Schema.String.pipe(Schema.maxLength(200)).annotations({
      description: "`clew`, or the name of the configured model; GET /v1/models lists them"
    })
  ),
  messages: Schema.Array(ChatMessage).pipe(
    Schema.minItems(1),
    Schema.maxItems(1000),
    Schema.annotations({
      description:
        "The last user message is the question. System messages and earlier messages are kept, the newest first if the model's window is short"
    })
  ),
  stream: Schema.optional(
    Schema.NullOr(Schema.Boolean).annotations({ description: "Server-sent events instead of one answer" })
  ),
  temperature: Schema.optional(Schema.NullOr(Temperature)),
  n: Schema.optional(
    Schema.NullOr(
      Schema.Literal(1).annotations({
        description: "One answer",
        message: () => ({ message: "n must be 1: a question gets one answer", override: true })
      })
    )
  ),
  streamOptions: Schema.optional(
    Schema.NullOr(
      Schema.Struct({
        includeUsage: Schema.optional(
          Schema.Boolean.annotations({ description: "Add a last chunk with the token counts of the model's server" })
        ).pipe(Schema.fromKey("include_usage"))
      }).annotations({ description: "Further chunks of a stream" })
    )
  ).pipe(Schema.fromKey("stream_options")),
  topK,
  collection,
  filter,
  fusion
}).annotations({
  identifier: "ChatRequest",
  title: "Chat",
  description:
    "A conversation in the form of OpenAI's API, with top_k, collection, filter and fusion as in POST /query. Other fields are ignored.",
  parseOptions: { onExcessProperty: "ignore", errors: "all" }
})
export type ChatRequest = typeof ChatRequest.Type

/** A passage behind the answer. */
export const ChatAnnotation = Schema.Struct({
  type: Schema.Literal("file_citation").annotations({ description: "Always file_citation" }),
  index: Schema.Int.annotations({ description: "The number by which the answer cites it, as in [1]" }),
  file_id: Schema.String.annotations({ description: "The document's id in its collection" }),
  filename: Schema.String.annotations({ description: "The same as source" }),
  source: Schema.String.annotations({ description: "The document's source, or its doc_id if it has none" }),
  collection: Schema.String.annotations({ description: "The collection it was found in" }),
  start_line: Schema.Int.annotations({ description: "First line, from 1" }),
  end_line: Schema.Int.annotations({ description: "Last line, from 1" }),
  locator: Schema.optional(
    Schema.String.annotations({ description: "Where the passage begins in a file that is not text: #page=3" })
  ),
  score: Schema.Finite.annotations({ description: "Relevance, higher is better" }),
  text: Schema.String.annotations({ description: "The passage, exactly as in the original" })
}).annotations({ identifier: "ChatAnnotation", description: "A passage behind the answer" })
export type ChatAnnotation = typeof ChatAnnotation.Type

const FinishReason = Schema.Literal("stop", "length").annotations({
  description: "length: the answer was cut at llm.max_tokens"
})

/** Token counts of the model's server. */
const Usage = Schema.Struct({
  prompt_tokens: Schema.Int.annotations({ description: "Tokens of the prompt" }),
  completion_tokens: Schema.Int.annotations({ description: "Tokens of the answer" }),
  total_tokens: Schema.Int.annotations({ description: "Both" })
}).annotations({ identifier: "ChatUsage", description: "Token counts of the model's server" })

const completion = {
  id: Schema.String.annotations({ description: "Identifies the answer" }),
  created: Schema.Int.annotations({ description: "When the answer began, in seconds since 1970" }),
  model: Schema.String.annotations({ description: "The name of the model that answers, or clew if none does" })
}

export const ChatCompletion = Schema.Struct({
  ...completion,
  object: Schema.Literal("chat.completion").annotations({ description: "Always chat.completion" }),
  choices: Schema.Array(
    Schema.Struct({
      index: Schema.Literal(0).annotations({ description: "Always 0" }),
      message: Schema.Struct({
        role: Schema.Literal("assistant").annotations({ description: "Always assistant" }),
        content: Schema.String.annotations({ description: "The answer, which cites passages as [1]" }),
        refusal: Schema.Null.annotations({ description: "Always null" }),
        annotations: Schema.Array(ChatAnnotation).annotations({ description: "The passages, in the order of index" })
      }).annotations({ description: "The answer" }),
      logprobs: Schema.Null.annotations({ description: "Always null" }),
      finish_reason: FinishReason
    }).annotations({ identifier: "ChatChoice", description: "The answer" })
  ).annotations({ description: "One" }),
  usage: Schema.optional(Usage)
}).annotations({ identifier: "ChatCompletion", description: "An answer" })
export type ChatCompletion = typeof ChatCompletion.Type

export const ChatChunk = Schema.Struct({
  ...completion,
  object: Schema.Literal("chat.completion.chunk").annotations({ description: "Always chat.completion.chunk" }),
  choices: Schema.Array(
    Schema.Struct({
      index: Schema.Literal(0).annotations({ description: "Always 0" }),
      delta: Schema.Struct({
        role: Schema.optional(Schema.Literal("assistant").annotations({ description: "In the first chunk" })),
        content: Schema.optional(Schema.String.annotations({ description: "A fragment of the answer" })),
        annotations: Schema.optional(
          Schema.Array(ChatAnnotation).annotations({ description: "In the first chunk: the passages" })
        )
      }).annotations({ description: "What this chunk adds" }),
      logprobs: Schema.Null.annotations({ description: "Always null" }),
      finish_reason: Schema.NullOr(FinishReason).annotations({ description: "In the last chunk" })
    }).annotations({ identifier: "ChatChunkChoice", description: "What this chunk adds" })
  ).annotations({ description: "One; none in the chunk with usage" }),
  usage: Schema.optional(Usage)
}).annotations({ identifier: "ChatChunk", description: "Data of an event of a streamed answer; the last is [DONE]" })
export type ChatChunk = typeof ChatChunk.Type

export const ModelList = Schema.Struct({
  object: Schema.Literal("list").annotations({ description: "Always list" }),
  data: Schema.Array(
    Schema.Struct({
      id: Schema.String.annotations({ description: "The name for requests" }),
      object: Schema.Literal("model").annotations({ description: "Always model" }),
      created: Schema.Int.annotations({ description: "Always 0" }),
      owned_by: Schema.String.annotations({ description: "clew, or the backend of the model" })
    }).annotations({ identifier: "ChatModel", description: "A name for requests" })
  ).annotations({ description: "clew, and the configured model if there is one" })
}).annotations({ identifier: "ModelList", description: "Names for requests" })
export type ModelList = typeof ModelList.Type

const streamed = {
  "text/event-stream": {
    schema: { type: "string", description: "With stream: events whose data is a ChatChunk each, then [DONE]" }
  }
}

export class ChatGroup extends HttpApiGroup.make("chat")
  .add(
    HttpApiEndpoint.post("chat", "/v1/chat/completions")
      .setPayload(ChatRequest)
      .addSuccess(ChatCompletion)
      .addError(failures.InvalidRequest)
      .addError(failures.MalformedBody)
      .addError(failures.CollectionNotFound)
      .addError(failures.ModelNotFound)
      .addError(failures.EmbedderMismatch)
      .addError(failures.PayloadTooLarge)
      .addError(failures.UnsupportedMediaType)
      .addError(failures.EmbedderUnavailable)
      .addError(failures.StoreUnavailable)
      .addError(failures.LlmUnavailable)
      .annotateContext(
        OpenApi.annotations({
          summary: "Chat",
          description:
            "Answers the last question of a conversation from the index, in the form of OpenAI's chat completions. Errors have OpenAI's form.",
          transform: (operation) => ({
            ...operation,
            responses: {
              ...operation["responses"],
              200: {
                ...operation["responses"][200],
                content: { ...operation["responses"][200].content, ...streamed }
              }
            }
          })
        })
      )
  )
  .add(
    HttpApiEndpoint.get("models", "/v1/models")
      .addSuccess(ModelList)
      .annotateContext(
        OpenApi.annotations({ summary: "Models", description: "The names that a chat request may use for its model." })
      )
  )
  .middlewareEndpoints(Authorization)
  .annotateContext(OpenApi.annotations({ title: "Chat", description: "For clients of OpenAI's API." })) {}
