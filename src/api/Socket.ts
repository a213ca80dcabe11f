import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { Facets } from "../model/Facets.ts"
import { int, text } from "../model/fields.ts"
import { provenance, SearchResult, SearchExplanation } from "../model/SearchResult.ts"
import { about, strict } from "./endpoint.ts"
import * as failures from "./failures.ts"
import { ProblemBody } from "./Problem.ts"
import { PromptRequest, QueryRequest } from "./Search.ts"

/** A client's identifier of a message, which relates answers to it. */
export const MessageId = Schema.Union(Schema.String.pipe(Schema.maxLength(200)), Schema.Finite).annotations({
  identifier: "MessageId",
  description: "Echoed with every answer to the message",
  message: () => ({ message: "id must be a finite number, or a string of at most 200 characters", override: true })
})
export type MessageId = typeof MessageId.Type

const id = { id: Schema.optional(MessageId) }

const message = <const T extends string, F extends Schema.Struct.Fields>(type: T, fields: F, description: string) =>
  Schema.Struct({ type: Schema.Literal(type), ...id, ...fields }).annotations({ ...strict, description })

/** Every message that a client may send, by its type. */
export const clientMessages = {
  search: message("search", QueryRequest.fields, "Searches; answered by result messages, then done"),
  prompt: message(
    "prompt",
    PromptRequest.fields,
    "Searches and builds a prompt; answered by prompt messages, then done"
  ),
  ping: message("ping", {}, "Answered by pong")
}

export const ClientMessage = Schema.Union(...Object.values(clientMessages)).annotations({
  identifier: "ClientMessage",
  description: "What a client sends over /ws"
})
export type ClientMessage = typeof ClientMessage.Type

const answer = <const T extends string, F extends Schema.Struct.Fields>(type: T, fields: F, description: string) =>
  Schema.Struct({ type: Schema.Literal(type), ...id, ...fields }).annotations({ description })

export const ServerMessage = Schema.Union(
  answer("result", { index: int("From 1"), result: SearchResult }, "One result"),
  answer("prompt", { text: text("The next part of the prompt") }, "A part of a prompt"),
  answer(
    "done",
    {
      count: int("Results sent, or passages in the prompt"),
      query_time_ms: int("The duration of the search"),
      ...provenance,
      facets: Schema.optional(Facets),
      explain: Schema.optional(SearchExplanation),
      omitted: Schema.optional(int("Passages left out to fit max_tokens"))
    },
    "The end of an answer"
  ),
  answer("pong", {}, "The answer to ping"),
  answer("error", { error: ProblemBody }, "What went wrong; the connection stays open")
).annotations({ identifier: "ServerMessage", description: "What the server sends over /ws" })
export type ServerMessage = typeof ServerMessage.Type

export class SocketGroup extends HttpApiGroup.make("socket")
  .add(
    HttpApiEndpoint.get("socket", "/ws")
      .addSuccess(HttpApiSchema.Empty(101))
      .addError(failures.InvalidRequest)
      .addError(failures.Unauthorized)
      .addError(failures.InsufficientScope)
      .addError(failures.NotPermitted)
      .addError(failures.AccessUnavailable)
      .addError(failures.UpgradeRequired)
      .addError(failures.TooManySockets)
      .annotateContext(
        about(
          "Search over a WebSocket",
          "Upgrades to a WebSocket that carries JSON text messages: ClientMessage from the client, ServerMessage from the server. A browser, which cannot set a header, offers the subprotocol `bearer.<base64url of the key>`, and `clew` beside it.",
          { override: { security: [{ bearer: [] }] } }
        )
      )
  )
  .annotateContext(OpenApi.annotations({ title: "WebSocket", description: "Searches over one connection." })) {}
