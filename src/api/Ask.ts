import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import { flag, int, list, number, text, within } from "../model/fields.ts"
import { ViaStep } from "../model/Graph.ts"
import { mustBeList, mustBeObject, mustHaveLength } from "../model/kinds.ts"
import { limits } from "../model/Limits.ts"
import { SearchRequest } from "../model/Query.ts"
import { freshness, place, provenance, CitationVerdict } from "../model/SearchResult.ts"
import { about, ofSearches, strict, Authorization } from "./endpoint.ts"

const ModelName = Schema.NonEmptyString.pipe(
  Schema.maxLength(200),
  Schema.annotations({
    identifier: "ModelName",
    description: "Model to answer instead of the configured one (llm.model)",
    message: mustHaveLength("model", 200)
  })
)

export const Temperature = within(
  "temperature",
  "Temperature",
  Schema.Finite,
  limits.temperature,
  "Randomness of the answer; 0 gives nearly the same answer each time; default llm.temperature (0.2)"
)

/** Messages before a question, and the characters of one. */
const historyLimits = { messages: 100, characters: 100_000 }

/** What was asked and answered before, in order. */
const History = Schema.Array(
  Schema.Struct({
    role: Schema.Literal("user", "assistant").annotations({ description: "Who wrote it" }),
    content: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(historyLimits.characters)).annotations({
      description: "The question, or the answer",
      message: mustHaveLength("content", historyLimits.characters)
    })
  }).annotations({
    identifier: "AskMessage",
    description: "A message before the question",
    message: mustBeObject("a message")
  })
).pipe(
  Schema.maxItems(historyLimits.messages, { message: mustBeList("history", "messages", historyLimits.messages) }),
  Schema.annotations({
    description: `What was asked and answered before, at most ${historyLimits.messages} messages: the model sees the newest that fit into half of its window. It is not searched for: for that, name what the question refers to in queries`
  })
)

export const AskRequest = Schema.Struct({
  ...SearchRequest.fields,
  history: Schema.optional(History),
  hybrid: Schema.optionalWith(
    flag("Fuse search by words and by meaning; if false, search by meaning only; default true"),
    { default: () => true }
  ),
  model: Schema.optional(ModelName),
  temperature: Schema.optional(Temperature),
  verify: Schema.optionalWith(
    flag("Check every [n] of the answer; a citations event before done has a verdict on each; default false"),
    { default: () => false }
  )
}).annotations({
  ...strict,
  identifier: "AskRequest",
  title: "Ask",
  description: "The question, where to search, and how to write the answer",
  examples: [{ query: "how are documents chunked?", topK: 5, hybrid: true, temperature: 0.2, verify: true }]
})
export type AskRequest = typeof AskRequest.Type

/** Data of a `source` event. */
export const SourceEvent = Schema.Struct({
  index: int("The number by which the answer cites it, from 1"),
  source: text("The document's source, or its doc_id if it has none"),
  score: number("Relevance, higher is better"),
  text: text("The passage"),
  doc_id: text("The document's id in its collection"),
  ...Struct.pick(place, "chunk_index", "start_line", "end_line", "locator"),
  ...freshness,
  collection: Schema.optional(text("The collection it was found in, unless `default`")),
  via: Schema.optional(list(ViaStep, "The path by which the knowledge graph led to it; absent if the ranking found it"))
}).annotations({
  identifier: "SourceEvent",
  description: "Data of a source event: a passage that the answer is made from"
})
export type SourceEvent = typeof SourceEvent.Type

/** What answers: a model, or quotes of the passages. */
export const Answerer = Schema.Struct({
  backend: Schema.Literal("ollama", "openai", "extractive"),
  model: Schema.optional(Schema.String),
  why: Schema.optional(text("Why no model answers, although auto would prefer one"))
})

/** Data of a `citations` event. */
export const CitationsEvent = Schema.Struct({
  citations: Schema.Array(CitationVerdict).annotations({ description: "Every mark of the answer, in order" }),
  ...Struct.omit(provenance, "weak"),
  omitted: Schema.optional(int("Passages that did not fit into the model's window")),
  llm: Answerer.annotations({ description: "What answered" }),
  cut: flag("Whether the answer was cut at llm.max_tokens"),
  prompt_cut: Schema.optional(flag("True if the model's server cut the prompt to its window"))
}).annotations({ identifier: "CitationsEvent", description: "Data of a citations event: the result of the check" })
export type CitationsEvent = typeof CitationsEvent.Type

/** Data of an `error` event. */
export const ErrorEvent = Schema.Struct({
  message: text("What went wrong, and what to do")
}).annotations({ identifier: "ErrorEvent", description: "Data of an error event, which ends the stream" })
export type ErrorEvent = typeof ErrorEvent.Type

const Events = HttpApiSchema.Text({ contentType: "text/event-stream" }).annotations({
  description:
    "Server-sent events: every source (SourceEvent), that is, the passages found that fit into the model's window, then token (a fragment of the answer as plain text), then done ({}). With verify a citations event (CitationsEvent) comes before done. If the model fails, error (ErrorEvent) ends the stream. A comment line every 15 s keeps it open, and one says so if the answer was cut at llm.max_tokens, or the prompt by the model's server. The headers x-clew-llm (what answers), x-clew-mode and x-clew-fusion (as mode and fusion of POST /query), x-clew-degraded (what the search did without) and x-clew-omitted (how many passages the model's window had no room for), and comments before the first source, say how the passages were found, which words were searched for besides, and what may be why nothing was."
})

const header = (description: string, type = "string") => ({ description, schema: { type } })

const headers = {
  "X-Clew-Mode": header("As mode of POST /query"),
  "X-Clew-Fusion": header("As fusion of POST /query"),
  "X-Clew-Llm": header("The backend and the model that answer, or why none does"),
  "X-Clew-Degraded": header("What the search lacked, and why"),
  "X-Clew-Omitted": header("How many passages did not fit into the model's window", "integer")
}

const withHeaders = (responses: Record<string, object>) => ({
  ...responses,
  200: { ...responses[200], headers }
})

export class AskGroup extends HttpApiGroup.make("ask")
  .add(
    HttpApiEndpoint.post("ask", "/ask")
      .setPayload(AskRequest)
      .addSuccess(Events)
      .annotateContext(
        about(
          "Ask",
          "Answers a question from the index, streamed: the passages found, then the answer, which cites them by number.",
          { transform: (operation) => ({ ...operation, responses: withHeaders(operation["responses"]) }) }
        )
      )
  )
  .addError(ofSearches)
  .middlewareEndpoints(Authorization)
  .annotateContext(OpenApi.annotations({ title: "Ask", description: "Answers from the index." })) {}
