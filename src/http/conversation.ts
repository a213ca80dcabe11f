import * as Effect from "effect/Effect"
import * as ParseResult from "effect/ParseResult"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import { InvalidRequest, MalformedBody } from "../api/errors.ts"
import { fromIssues } from "../api/issues.ts"
import { type ClientMessage, clientMessages, MessageId, type ServerMessage } from "../api/Socket.ts"
import { toSearchResult } from "../model/SearchResult.ts"
import { Prompt } from "../Prompt.ts"
import { RateLimiter } from "../RateLimiter.ts"
import { Search } from "../Search.ts"
import { parseJson } from "./json.ts"
import * as metrics from "./metrics.ts"
import { errorOf, render } from "./respond.ts"
import { byContract, foundBy } from "./search.ts"

/** A message as received: a string; bytes are never a valid message. */
export type Incoming = string | Uint8Array

const fail = (path: string, message: string) => new InvalidRequest({ errors: [{ path, message }] })

const isType = Schema.is(Schema.Literal("search", "prompt", "ping"))
const isId = Schema.is(MessageId)

const decoders = {
  search: Schema.decodeUnknown(clientMessages.search),
  prompt: Schema.decodeUnknown(clientMessages.prompt),
  ping: Schema.decodeUnknown(clientMessages.ping)
} satisfies Record<ClientMessage["type"], unknown>

const decode = (value: object): Effect.Effect<ClientMessage, InvalidRequest> => {
  const type: unknown = "type" in value ? value.type : undefined
  if (!isType(type)) return fail("type", 'must be "search", "prompt" or "ping"')
  const decoded: Effect.Effect<ClientMessage, ParseResult.ParseError> = decoders[type](value)
  return Effect.catchAll(decoded, (error) => Effect.flatMap(ParseResult.ArrayFormatter.formatError(error), fromIssues))
}

const parse = (incoming: Incoming): Effect.Effect<object, MalformedBody | InvalidRequest> =>
  typeof incoming === "string"
    ? Effect.filterOrFail(
        parseJson("The message", Buffer.from(incoming)),
        Predicate.isRecord,
        () => new MalformedBody({ reason: "The message is not a JSON object" })
      )
    : new MalformedBody({ reason: "The message is not JSON in a text frame" })

/** Splits a text into parts of at most about a thousand characters, at line ends if possible. */
const fragments = function* (text: string, size = 1000): Iterable<string> {
  for (let at = 0; at < text.length;) {
    const line = text.lastIndexOf("\n", at + size)
    const whole = line > at ? line + 1 : Math.min(text.length, at + size)
    // A surrogate pair stays together.
    const end = whole < text.length && /[\uD800-\uDBFF]/.test(text[whole - 1]!) ? whole + 1 : whole
    yield text.slice(at, end)
    at = end
  }
}

/**
 * The sender of a message: its key for the rate limit, and the id of the request that opened the connection, for the
 * log.
 */
export interface Caller {
  readonly client: string
  readonly requestId: string
}

/** Answers one client's messages, each completely before the next; `send` waits until the client takes more. */
export const makeAnswer = Effect.gen(function* () {
  const search = yield* Search
  const prompt = yield* Prompt
  const limiter = yield* RateLimiter

  return (
    incoming: Incoming,
    { client, requestId }: Caller,
    send: (message: ServerMessage) => Effect.Effect<void>
  ): Effect.Effect<void> => {
    let id: { readonly id?: MessageId } = {}

    const searched = Effect.fn("Socket.search")(function* (message: ClientMessage & { type: "search" }) {
      const outcome = yield* search.run({ ...Struct.omit(message, "id", "type"), ...byContract })
      for (const [index, hit] of outcome.hits.entries()) {
        yield* send({ type: "result", ...id, index: index + 1, result: toSearchResult(hit) })
      }
      const explain = outcome.explain === undefined ? {} : { explain: outcome.explain }
      yield* send({ type: "done", ...id, count: outcome.hits.length, ...foundBy(outcome), ...explain })
    })

    const prompted = Effect.fn("Socket.prompt")(function* (message: ClientMessage & { type: "prompt" }) {
      const outcome = yield* prompt.run({ ...Struct.omit(message, "id", "type"), ...byContract })
      for (const text of fragments(outcome.prompt)) yield* send({ type: "prompt", ...id, text })
      const omitted = outcome.omitted === 0 ? {} : { omitted: outcome.omitted }
      yield* send({ type: "done", ...id, count: outcome.hits.length, ...foundBy(outcome), ...omitted })
    })

    return Effect.gen(function* () {
      const value = yield* parse(incoming)
      if ("id" in value && isId(value.id)) id = { id: value.id }
      yield* Effect.tapError(limiter.take(client), () => metrics.rateLimited)
      const message = yield* decode(value)
      yield* metrics.socketMessage(message.type)
      if (message.type === "search") return yield* searched(message)
      if (message.type === "prompt") return yield* prompted(message)
      return yield* send({ type: "pong", ...id })
    }).pipe(
      Effect.catchAllCause((cause) => {
        const error = errorOf(cause)
        if (error._tag === "None") return Effect.failCause(cause) as Effect.Effect<never>
        const { body, defect } = render(error.value, requestId)
        const log =
          defect === undefined
            ? Effect.void
            : Effect.annotateLogs(Effect.logError("defect", cause), "request_id", defect)
        const counted = body.status === 400 ? metrics.socketMessage("invalid") : Effect.void
        return Effect.all([log, counted, send({ type: "error", ...id, error: body })], { discard: true })
      })
    )
  }
})
