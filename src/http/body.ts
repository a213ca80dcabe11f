import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import * as Headers from "@effect/platform/Headers"
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as Stream from "effect/Stream"
import { badField, InvalidRequest, MalformedBody, PayloadTooLarge, UnsupportedMediaType } from "../api/errors.ts"
import type { FieldError } from "../api/Problem.ts"
import { current, mustUse } from "../Caller.ts"
import { isObject, kindOf, pathText } from "../model/kinds.ts"
import { limits } from "../model/Limits.ts"
import { JsonFault, readJson } from "../model/readJson.ts"
import { inTurns } from "../runtime/EventLoop.ts"
import { didYouMean } from "../terms/nearest.ts"

const toError = (what: string, { path, reason }: JsonFault): MalformedBody | InvalidRequest =>
  path === undefined ? new MalformedBody({ reason: `${what} ${reason}` }) : badField(pathText(path), reason)

/** Parses a caller's JSON, yielding to others meanwhile; `what` names it in errors. */
export const parseJson = (what: string, bytes: Buffer): Effect.Effect<unknown, MalformedBody | InvalidRequest> =>
  Effect.catchAllDefect(
    inTurns(() => readJson(bytes)),
    (error): Effect.Effect<never, MalformedBody | InvalidRequest> =>
      error instanceof JsonFault ? toError(what, error) : Effect.die(error)
  )

const known = ["content", "metadata", "doc_id"]

/** Obvious faults of a document, one error per place. */
const faultsOf = function* (document: unknown): Generator<readonly [name: string, message: string]> {
  if (!isObject(document)) return yield ["", `a document must be a JSON object, not ${kindOf(document)}`]
  for (const key of Object.keys(document)) {
    if (!known.includes(key))
      yield [
        `.${key.slice(0, 60)}`,
        `${key.slice(0, 60)} is unknown${didYouMean(key, known)}; a document has ${known.join(", ")}`
      ]
  }
  const { content, doc_id: id, metadata } = document
  if (content === undefined) yield [".content", "content is required"]
  else if (typeof content !== "string") yield [".content", `content must be a string, not ${kindOf(content)}`]
  if (metadata !== undefined && !isObject(metadata)) {
    yield [".metadata", `metadata must be a JSON object, not ${kindOf(metadata)}`]
  }
  if (id !== undefined && typeof id !== "string") yield [".doc_id", `doc_id must be a string, not ${kindOf(id)}`]
}

/** Reports too many documents, or obvious faults, before the expensive decoding. */
export const batchFault = (body: unknown, maxBatch: number): InvalidRequest | undefined => {
  const documents = isObject(body) ? body["documents"] : undefined
  if (!Array.isArray(documents)) return undefined
  if (documents.length > maxBatch) {
    const message = `a batch may have at most ${maxBatch} documents (limits.max_batch), got ${documents.length}`
    return badField("documents", message)
  }
  const errors: Array<FieldError> = []
  for (const [index, document] of documents.entries()) {
    for (const [name, message] of faultsOf(document)) {
      errors.push({ path: `documents[${index}]${name}`, message })
      if (errors.length === limits.errors) return new InvalidRequest({ errors })
    }
  }
  return errors.length === 0 ? undefined : new InvalidRequest({ errors })
}

/** Reports what is wrong with texts to embed by its place, which a schema with a choice of forms cannot. */
export const embeddingsFault = (body: unknown): InvalidRequest | undefined => {
  const input = isObject(body) ? body["input"] : undefined
  if (input === undefined) return undefined
  const texts: ReadonlyArray<unknown> = Array.isArray(input) ? input : [input]
  if (texts.length === 0) return badField("input", "input must have a text")
  if (texts.length > limits.embeddingTexts) {
    return badField("input", `input may have at most ${limits.embeddingTexts} texts, got ${texts.length}`)
  }
  for (const [at, text] of texts.entries()) {
    const path = Array.isArray(input) ? `input[${at}]` : "input"
    if (typeof text === "number" || Array.isArray(text)) {
      return badField(path, `${path} must be a text, not tokens, since each model numbers its own`)
    }
    if (typeof text !== "string") return badField(path, `${path} must be a text, not ${kindOf(text)}`)
    if (text === "") return badField(path, `${path} must not be empty`)
    if (text.length > limits.embeddingText) {
      const most = `at most ${limits.embeddingText} characters`
      return badField(path, `${path} may have ${most}, got ${text.length}: split it`)
    }
  }
  return undefined
}

/** Reports by its name what a conversation with Clew cannot have: tools, formats, kinds of messages and of their parts. */
export const chatFault = (body: unknown): InvalidRequest | undefined => {
  if (!isObject(body)) return undefined
  const { messages, response_format: format } = body
  for (const [name, choice] of [
    ["tools", "tool_choice"],
    ["functions", "function_call"]
  ] as const) {
    const offered = body[name]
    if (Array.isArray(offered) && offered.length > 0 && body[choice] !== "none") {
      return badField(
        name,
        `${name} are not supported, since Clew searches by itself and calls none: leave them out, or say "${choice}": "none"`
      )
    }
  }
  if (isObject(format) && format["type"] !== "text") {
    const type = JSON.stringify(String(format["type"]).slice(0, 60))
    return badField(
      "response_format",
      `response_format ${type} is not supported: answers are text with citations; leave it out`
    )
  }
  if (!Array.isArray(messages)) return undefined
  for (const [index, message] of messages.entries()) {
    if (!isObject(message)) continue
    const { content, role } = message
    if (role === "tool" || role === "function") {
      return badField(
        `messages[${index}].role`,
        `${role} messages are not supported, since Clew calls no tools: send system, developer, user and assistant messages`
      )
    }
    for (const [at, part] of Array.isArray(content) ? content.entries() : []) {
      const type: unknown = isObject(part) ? part["type"] : undefined
      if (typeof type === "string" && type !== "text") {
        const name = JSON.stringify(type.slice(0, 60))
        return badField(
          `messages[${index}].content[${at}].type`,
          `${name} parts are not supported: send text parts alone`
        )
      }
    }
  }
  return undefined
}

type BodyError = InvalidRequest | MalformedBody | PayloadTooLarge | UnsupportedMediaType

export interface BodyRules {
  /** Bytes. */
  readonly limit: number
  /** A POST must declare JSON, which another site's page cannot do without a preflight. */
  readonly typed: boolean
  /** A POST may have no body. */
  readonly mayBeEmpty?: boolean
  /** Gets the number of bytes. */
  readonly taken?: (bytes: number) => void
  /** Cheap checks of a body before it is decoded. */
  readonly check?: ((body: unknown) => InvalidRequest | undefined) | undefined
}

const checkType = (headers: HttpServerRequest.HttpServerRequest["headers"]) => {
  const refuse = (reason: string) => new UnsupportedMediaType({ reason })
  const encoding = headers["content-encoding"]
  if (encoding !== undefined && encoding !== "identity")
    return refuse(`Bodies encoded with ${encoding} are not supported; send plain JSON`)
  const [type = "", ...parameters] = (headers["content-type"] ?? "application/json").toLowerCase().split(";")
  if (type.trim() !== "application/json")
    return refuse(`The body must be application/json, not ${type.trim() || "nothing"}`)
  const charset = parameters.map((it) => it.trim()).find((it) => it.startsWith("charset="))
  if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset)) return refuse("JSON must be in UTF-8")
  return undefined
}

/** The whole body, at most `limit` bytes; the rest stays unread. */
const readAll = (request: HttpServerRequest.HttpServerRequest, limit: number): Effect.Effect<Buffer, PayloadTooLarge> =>
  Effect.async((resume) => {
    const source = NodeHttpServerRequest.toIncomingMessage(request)
    if (/^100-continue$/i.test(source.headers.expect ?? "")) {
      NodeHttpServerRequest.toServerResponse(request).writeContinue()
    }
    const chunks: Array<Buffer> = []
    let size = 0
    const done = (result: Effect.Effect<Buffer, PayloadTooLarge>) => {
      source.off("data", onData)
      source.off("end", onEnd)
      resume(result)
    }
    const onData = (chunk: Buffer) => {
      size += chunk.length
      chunks.push(chunk)
      if (size <= limit) return
      done(new PayloadTooLarge({ limit }))
      source.pause()
    }
    const onEnd = () => done(Effect.succeed(Buffer.concat(chunks, size)))
    source.on("data", onData)
    source.on("end", onEnd)
    return Effect.sync(() => {
      source.off("data", onData)
      source.off("end", onEnd)
    })
  })

/** What a body must be, apart from its size. */
export interface Kind {
  readonly limit: number
  /** Media types; the first is what errors tell to send. */
  readonly types: ReadonlyArray<string>
  /** What it may be encoded with. */
  readonly encodings?: ReadonlyArray<string>
}

const kindFault = (headers: HttpServerRequest.HttpServerRequest["headers"], { encodings = [], types }: Kind) => {
  const encoding = headers["content-encoding"] ?? "identity"
  if (encoding !== "identity" && !encodings.includes(encoding)) {
    return new UnsupportedMediaType({ reason: `Bodies encoded with ${encoding} are not supported here` })
  }
  const type = (headers["content-type"] ?? "").split(";")[0]!.trim().toLowerCase()
  return types.includes(type)
    ? undefined
    : new UnsupportedMediaType({ reason: `The body must be ${types[0]}, not ${type || "of no type"}` })
}

/** The body in pieces, as it arrives, at most `limit` bytes; the rest stays unread. */
export const bodyStream = (
  request: HttpServerRequest.HttpServerRequest,
  kind: Kind
): Stream.Stream<Buffer, BodyError> =>
  Stream.suspend((): Stream.Stream<Buffer, BodyError> => {
    const { limit } = kind
    const fault = kindFault(request.headers, kind)
    if (fault !== undefined) return Stream.fail(fault)
    if (Number(request.headers["content-length"] ?? 0) > limit) return Stream.fail(new PayloadTooLarge({ limit }))
    const source = NodeHttpServerRequest.toIncomingMessage(request)
    if (/^100-continue$/i.test(source.headers.expect ?? "")) {
      NodeHttpServerRequest.toServerResponse(request).writeContinue()
    }
    let size = 0
    return Stream.fromAsyncIterable(
      source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>,
      () => new MalformedBody({ reason: "The body ended before it was complete" })
    ).pipe(
      Stream.mapEffect((chunk) => {
        size += chunk.length
        return size > limit ? new PayloadTooLarge({ limit }) : Effect.succeed(chunk)
      })
    )
  })

const none = Buffer.alloc(0)

const bytesOf = (
  request: HttpServerRequest.HttpServerRequest,
  { limit, typed }: BodyRules
): Effect.Effect<Buffer, BodyError> => {
  const { headers, method } = request
  const declared = Number(headers["content-length"] ?? 0)
  if (declared === 0 && headers["transfer-encoding"] === undefined) return Effect.succeed(none)
  if (typed && method === "POST" && headers["content-type"] === undefined) {
    return new UnsupportedMediaType({ reason: "Send Content-Type: application/json" })
  }
  const wrong = checkType(headers)
  if (wrong !== undefined) return wrong
  return declared > limit ? new PayloadTooLarge({ limit }) : readAll(request, limit)
}

/** Fails if the body names a collection that the caller may not use. */
const permitted = (body: unknown) =>
  Effect.flatMap(FiberRef.get(current), (caller) =>
    isObject(body) && typeof body["collection"] === "string" ? mustUse(caller, body["collection"]) : Effect.void
  )

/**
 * The request with a body that is JSON, UTF-8 and within the limit, or an error that says what is wrong. The body is
 * read only when a handler asks for it, so an unauthorized request's body stays unread. A DELETE may have no body.
 */
export const withJsonBody = (
  request: HttpServerRequest.HttpServerRequest,
  rules: BodyRules
): HttpServerRequest.HttpServerRequest => {
  const json = Effect.flatMap(bytesOf(request, rules), (content) => {
    rules.taken?.(content.length)
    if (content.length > 0) {
      return Effect.tap(
        Effect.flatMap(parseJson("The body", content), (value) => rules.check?.(value) ?? Effect.succeed(value)),
        permitted
      )
    }
    return request.method === "DELETE" || rules.mayBeEmpty === true
      ? Effect.succeed({})
      : new MalformedBody({ reason: "The body is empty; it must be JSON" })
  })
  // HttpApi would parse other types differently; the real type is checked above.
  const headers = Headers.set(request.headers, "content-type", "application/json")
  return Object.defineProperty(request.modify({ headers }), "json", { value: json })
}
