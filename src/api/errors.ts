import * as Schema from "effect/Schema"
import type { Fault } from "../model/checked.ts"
import { because, fault, reasonOf } from "../model/fault.ts"
import { limits } from "../model/Limits.ts"
import { pathText } from "../model/kinds.ts"
import { FieldError } from "./Problem.ts"

/** A fault with its whole path, of which its message may name the end. */
const placed = ({ message, path }: FieldError): string => {
  if (message.startsWith(path)) return message
  const name = path.slice(path.lastIndexOf(".") + 1)
  // Of a filter's keys one may be `a`, as in `a list`.
  const isNamed = message.startsWith(`${name} `) && !(name === "a" && path !== name)
  return isNamed ? path + message.slice(name.length) : `${path}: ${message}`
}

/** A field is missing, unknown or out of range. */
export class InvalidRequest extends fault<InvalidRequest>()(
  "InvalidRequest",
  400,
  { errors: Schema.Array(FieldError) },
  ({ errors }) => errors.map(placed).join("; ")
) {}

/** One field is wrong. */
export const badField = (path: string, message: string): InvalidRequest =>
  new InvalidRequest({ errors: [{ path, message }] })

export class MalformedBody extends fault<MalformedBody>()("MalformedBody", 400, because, reasonOf) {}

/** The request violates HTTP itself. */
export class MalformedRequest extends fault<MalformedRequest>()("MalformedRequest", 400, because, reasonOf) {}

/** The bearer token is missing or wrong. */
export class Unauthorized extends fault<Unauthorized>()(
  "Unauthorized",
  401,
  { reason: Schema.UndefinedOr(Schema.String), challenge: Schema.UndefinedOr(Schema.String) },
  ({ reason }) => reason ?? "This needs the API key: send it as `Authorization: Bearer <key>`"
) {
  get headers() {
    return { "www-authenticate": this.challenge === undefined ? "Bearer" : `Bearer ${this.challenge}` }
  }
}

/** The token is valid, and does not allow this. */
export class InsufficientScope extends fault<InsufficientScope>()(
  "InsufficientScope",
  403,
  { scope: Schema.String, challenge: Schema.String },
  ({ scope }) => `The token needs the scope ${scope}`
) {
  get headers() {
    return { "www-authenticate": `Bearer ${this.challenge}` }
  }
}

/** Tokens cannot be checked now. */
export class AccessUnavailable extends fault<AccessUnavailable>()("AccessUnavailable", 503, because, reasonOf) {}

/** The server was started read-only. */
export class ReadOnly extends fault<ReadOnly>()("ReadOnly", 403, {}, () => "This server is read-only") {}

/** The request's Host or Origin is not allowed. */
export class Forbidden extends fault<Forbidden>()("Forbidden", 403, because, reasonOf) {}

export class RouteNotFound extends fault<RouteNotFound>()(
  "RouteNotFound",
  404,
  { served: Schema.UndefinedOr(Schema.Array(Schema.String)) },
  ({ served }) =>
    `There is nothing at this address; ${served === undefined ? "GET /openapi.json lists all" : `here are only ${served.join(", ")}`}`
) {}

/** The request names a model that is not the configured one. */
export class ModelNotFound extends fault<ModelNotFound>()(
  "ModelNotFound",
  404,
  { model: Schema.String, known: Schema.Array(Schema.String) },
  ({ known, model }) => `There is no model ${JSON.stringify(model)} here; available: ${known.join(", ")}`
) {}

export class JobNotFound extends fault<JobNotFound>()(
  "JobNotFound",
  404,
  { id: Schema.String },
  ({ id }) =>
    `There is no job ${JSON.stringify(id)}; jobs that ended are kept for an hour, and none outlives its server`
) {}

export class MethodNotAllowed extends fault<MethodNotAllowed>()(
  "MethodNotAllowed",
  405,
  { allowed: Schema.Array(Schema.String) },
  ({ allowed }) => `This address accepts ${allowed.join(", ")}`
) {
  get headers() {
    return { allow: this.allowed.join(", ") }
  }
}

/** The default collection always exists. */
export class CollectionProtected extends fault<CollectionProtected>()(
  "CollectionProtected",
  409,
  {},
  () => "The default collection cannot be dropped; delete its documents to empty it"
) {}

export class PayloadTooLarge extends fault<PayloadTooLarge>()(
  "PayloadTooLarge",
  413,
  { limit: Schema.Int },
  ({ limit }) => `The body is over ${limit} bytes (server.max_body_bytes); send it in smaller parts`
) {}

export class UnsupportedMediaType extends fault<UnsupportedMediaType>()(
  "UnsupportedMediaType",
  415,
  because,
  reasonOf
) {}

export class ExpectationFailed extends fault<ExpectationFailed>()(
  "ExpectationFailed",
  417,
  {},
  () => "The only supported Expect is 100-continue"
) {}

export class UpgradeRequired extends fault<UpgradeRequired>()(
  "UpgradeRequired",
  426,
  {},
  () => "This address speaks WebSocket only"
) {
  readonly headers = { upgrade: "websocket", connection: "Upgrade" }
}

/** A bug in Clew; the log has the cause under the same id. */
export class InternalError extends fault<InternalError>()(
  "InternalError",
  500,
  { id: Schema.String },
  ({ id }) => `Something went wrong in the server; see id ${id} in its log`
) {}

export class JobsBusy extends fault<JobsBusy>()(
  "JobsBusy",
  503,
  { limit: Schema.Int },
  ({ limit }) => `${limit} jobs are already running or waiting; ask for this one later`
) {
  readonly headers = { "retry-after": "5" }
}

export class TooManySockets extends fault<TooManySockets>()(
  "TooManySockets",
  503,
  { limit: Schema.Int },
  ({ limit }) => `${limit} WebSocket connections are already open (server.max_sockets)`
) {
  readonly headers = { "retry-after": "5" }
}

const cut = (text: string, longest: number): string => (text.length > longest ? `${text.slice(0, longest)}…` : text)

/** What schemas call kinds of values, in words. */
const kinds: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  boolean: "true or false",
  null: "null"
}

const kindText = (expected: string): string =>
  kinds[expected] ??
  (expected.startsWith("ReadonlyArray<")
    ? "a list"
    : expected.startsWith("{")
      ? "an object"
      : expected.replace(/^an array of at least (\d+) item\(s\)$/, "a list of at least $1"))

const expectation = /^Expected ([^]*?), actual ([^]*)$/

/** What is wrong at a place, from what a schema says of it, once for each alternative. */
const said = (
  name: string,
  messages: ReadonlyArray<string>,
  meant: (name: string, known: ReadonlyArray<string>) => string
): string => {
  const [first = ""] = messages
  if (first === "is missing") return `${name} is required`
  if (first.startsWith("is unexpected, expected: ")) {
    const known = [...first.matchAll(/"([^"]+)"/g)].map(([, key = ""]) => key)
    return `${name} is unknown${meant(name.slice(name.lastIndexOf(".") + 1), known)}; allowed: ${known.join(", ")}`
  }
  const expected = messages.flatMap((message) => expectation.exec(message)?.[1] ?? [])
  const actual = expectation.exec(first)?.[2]
  if (actual === undefined) return first
  const allowed = [...new Set(expected.map(kindText))]
  return `${name === "" ? "the body" : name} must be ${allowed.join(" or ")}, got ${cut(actual, 60)}`
}

/**
 * The faults that a schema found, one line per path, without the alternative that a field could be absent. `meant` names
 * the field that an unknown one may mean.
 */
export const fromIssues = (
  issues: ReadonlyArray<Fault>,
  meant: (name: string, known: ReadonlyArray<string>) => string = () => ""
): InvalidRequest => {
  const telling = issues.filter(({ message }) => !message.startsWith("Expected undefined, actual"))
  const byName = new Map<string, ReadonlyArray<string>>()
  for (const { message, path } of telling.length > 0 ? telling : issues) {
    const name = pathText(path)
    const others = byName.get(name)
    if (others === undefined && byName.size === limits.errors) break
    byName.set(name, [...(others ?? []), message])
  }
  return new InvalidRequest({
    errors: [...byName].map(([path, messages]) => ({ path, message: cut(said(path, messages, meant), 300) }))
  })
}
