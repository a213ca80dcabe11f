import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { flag, int, list, number, text } from "../model/fields.ts"
import { mustBeObject } from "../model/kinds.ts"
import { SearchRequest } from "../model/Query.ts"
import { freshness } from "../model/SearchResult.ts"
import { Temperature } from "./Ask.ts"
import { about, lenient, ofSearches, respondInEvents, Authorization } from "./endpoint.ts"
import * as failures from "./failures.ts"

/** The model's name for clients. */
export const ownModel = "clew"

const TextPart = Schema.Struct({
  type: Schema.Literal("text").annotations({ description: "Only text is accepted" }),
  text: text("The text")
}).annotations({
  identifier: "ChatTextPart",
  description: "A part of a message",
  message: mustBeObject("a part of a message")
})

export const ChatMessage = Schema.Struct({
  role: Schema.Literal("system", "developer", "user", "assistant").annotations({
    description: "The author of the message"
  }),
  content: Schema.NullOr(Schema.Union(Schema.String, Schema.Array(TextPart))).annotations({
    description: "The content: a text, or parts that are texts"
  })
}).annotations({
  identifier: "ChatMessage",
  description: "A message of the conversation",
  message: mustBeObject("a message")
})
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
        includeUsage: Schema.optional(flag("Add a last chunk with the token counts of the model's server")).pipe(
          Schema.fromKey("include_usage")
        )
      }).annotations({ description: "Further chunks of a stream", message: mustBeObject("stream_options") })
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
    "A conversation in the form of OpenAI's API, with top_k, collection, filter and fusion as in POST /query. Tools, and formats of the answer other than text, are refused; other fields are ignored.",
  ...lenient
})
export type ChatRequest = typeof ChatRequest.Type

/** A passage behind the answer. */
export const ChatAnnotation = Schema.Struct({
  type: Schema.Literal("file_citation").annotations({ description: "Always file_citation" }),
  index: int("The number by which the answer cites it, as in [1]"),
  file_id: text("The document's id in its collection"),
  filename: text("The same as source"),
  source: text("The document's source, or its doc_id if it has none"),
  collection: text("The collection it was found in"),
  start_line: int("First line, from 1"),
  end_line: int("Last line, from 1"),
  locator: Schema.optional(text("Where the passage begins in a file that is not text: #page=3")),
  score: number("Relevance, higher is better"),
  text: text("The passage, exactly as in the original"),
  ...freshness
}).annotations({ identifier: "ChatAnnotation", description: "A passage behind the answer" })
export type ChatAnnotation = typeof ChatAnnotation.Type

const FinishReason = Schema.Literal("stop", "length").annotations({
  description: "length: the answer was cut at llm.max_tokens"
})

/** Token counts of the model's server. */
const Usage = Schema.Struct({
  prompt_tokens: int("Tokens of the prompt"),
  completion_tokens: int("Tokens of the answer"),
  total_tokens: int("Both")
}).annotations({ identifier: "ChatUsage", description: "Token counts of the model's server" })

const completion = {
  id: text("Identifies the answer"),
  created: int("When the answer began, in seconds since 1970"),
  model: text("The name of the model that answers, or clew if none does")
}

export const ChatCompletion = Schema.Struct({
  ...completion,
  object: Schema.Literal("chat.completion").annotations({ description: "Always chat.completion" }),
  choices: Schema.Array(
    Schema.Struct({
      index: Schema.Literal(0).annotations({ description: "Always 0" }),
      message: Schema.Struct({
        role: Schema.Literal("assistant").annotations({ description: "Always assistant" }),
        content: text("The answer, which cites passages as [1]"),
        refusal: Schema.Null.annotations({ description: "Always null" }),
        annotations: list(ChatAnnotation, "The passages, in the order of index")
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
        content: Schema.optional(text("A fragment of the answer")),
        annotations: Schema.optional(list(ChatAnnotation, "In the first chunk: the passages"))
      }).annotations({ description: "What this chunk adds" }),
      logprobs: Schema.Null.annotations({ description: "Always null" }),
      finish_reason: Schema.NullOr(FinishReason).annotations({ description: "In the last chunk" })
    }).annotations({ identifier: "ChatChunkChoice", description: "What this chunk adds" })
  ).annotations({ description: "One; none in the chunk with usage" }),
  usage: Schema.optional(Usage)
}).annotations({ identifier: "ChatChunk", description: "Data of an event of a streamed answer; the last is [DONE]" })
export type ChatChunk = typeof ChatChunk.Type

const ChatModel = Schema.Struct({
  id: text("The name for requests"),
  object: Schema.Literal("model").annotations({ description: "Always model" }),
  created: int("Always 0"),
  owned_by: text("clew, or the backend of the model")
}).annotations({ identifier: "ChatModel", description: "A name for requests" })

const ModelList = Schema.Struct({
  object: Schema.Literal("list").annotations({ description: "Always list" }),
  data: Schema.Array(ChatModel).annotations({
    description: "clew, the configured model if there is one, and the packaged model for embeddings"
  })
}).annotations({ identifier: "ModelList", description: "Names for requests" })

export class ChatGroup extends HttpApiGroup.make("chat")
  .add(
    HttpApiEndpoint.post("chat", "/v1/chat/completions")
      .setPayload(ChatRequest)
      .addSuccess(ChatCompletion)
      .addError(ofSearches)
      .addError(failures.ModelNotFound)
      .addError(failures.LlmUnavailable)
      .annotateContext(
        about(
          "Chat",
          "Answers the last question of a conversation from the index, in the form of OpenAI's chat completions. Errors have OpenAI's form.",
          { transform: respondInEvents("With stream: events whose data is a ChatChunk each, then [DONE]") }
        )
      )
  )
  .add(
    HttpApiEndpoint.get("models", "/v1/models")
      .addSuccess(ModelList)
      .annotateContext(about("Models", "The names that a request for a chat or for embeddings may use for its model."))
  )
  .add(
    HttpApiEndpoint.get("model", "/v1/models/:model")
      .setPath(Schema.Struct({ model: text("A name that GET /v1/models lists") }))
      .addSuccess(ChatModel)
      .addError(failures.InvalidRequest)
      .addError(failures.ModelNotFound)
      .annotateContext(about("Model", "Whether a request may use this name for its model."))
  )
  .middlewareEndpoints(Authorization)
  .annotateContext(OpenApi.annotations({ title: "Chat", description: "For clients of OpenAI's API." })) {}
