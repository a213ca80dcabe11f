import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as Schema from "effect/Schema"
import { int, list, text } from "../model/fields.ts"

/** An invalid field; `path` such as `documents[0].content`, empty for the body itself. */
export const FieldError = Schema.Struct({
  path: text("The path of the field, such as documents[0].content"),
  message: text("What is wrong with it")
}).annotations({ identifier: "FieldError", description: "An invalid field" })
export type FieldError = typeof FieldError.Type

export const problemType = "application/problem+json"

const about = {
  type: text("Always about:blank: the status and _tag identify the error"),
  title: text("The status in words"),
  detail: text("What went wrong, and how to fix it if that is known")
}

/** Every error on the wire, a problem object of RFC 9457 with the typed error's name. */
export const ProblemBody = Schema.Struct({
  ...about,
  status: int("The HTTP status"),
  _tag: text("The error's name"),
  errors: Schema.optional(list(FieldError, "The invalid fields, for an invalid request"))
}).annotations({ identifier: "Problem", description: "A problem object of RFC 9457" })
export type ProblemBody = typeof ProblemBody.Type

/** An error in the form of OpenAI's API, for the routes under /v1. */
export const OpenAiError = Schema.Struct({
  error: Schema.Struct({
    message: text("What went wrong, and how to fix it if that is known"),
    type: text("The kind of error, such as invalid_request_error"),
    code: text("The error's name, such as model_not_found"),
    param: Schema.NullOr(Schema.String).annotations({ description: "The first invalid field" })
  }).annotations({ description: "The error" })
}).annotations({ identifier: "OpenAiError", description: "An error in the form of OpenAI's API" })
export type OpenAiError = typeof OpenAiError.Type

type Wire<Tag extends string> = Omit<ProblemBody, "_tag"> & { readonly _tag: Tag }

/** Any error with this name: handlers fail with it, clients catch it. */
export interface Failure<Tag extends string> {
  readonly _tag: Tag
  readonly message: string
}

/** A problem as a client gets it, decoded from the response's body. */
export class Problem<Tag extends string = string> extends Error implements Failure<Tag> {
  readonly _tag: Tag
  readonly status: number
  /** What went wrong; the same as `message`. */
  readonly detail: string
  readonly errors: ReadonlyArray<FieldError>

  constructor(body: Wire<Tag>) {
    super(body.detail)
    this.name = body._tag
    this._tag = body._tag
    this.status = body.status
    this.detail = body.detail
    this.errors = body.errors ?? []
  }
}

const titles: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  409: "Conflict",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  417: "Expectation Failed",
  426: "Upgrade Required",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  503: "Service Unavailable"
}

/** The only place where an error becomes its wire form. */
export const problemBody = (error: {
  readonly _tag: string
  readonly status: number
  readonly detail: string
  readonly errors?: ReadonlyArray<FieldError> | undefined
}): ProblemBody => ({
  type: "about:blank",
  title: titles[error.status] ?? "Error",
  status: error.status,
  detail: error.detail,
  _tag: error._tag,
  ...(error.errors === undefined ? {} : { errors: error.errors })
})

/** The errors that name fields of the request. */
const located: ReadonlySet<string> = new Set(["InvalidRequest", "DocumentConflict"])

/**
 * Declares an error of an endpoint: a handler fails with any error of that name, the wire carries SPEC's problem object,
 * a client gets a `Problem`.
 */
export const failure = <const Tag extends string>(tag: Tag, status: number, description: string) => {
  const wire = Schema.Struct({
    ...about,
    status: Schema.Literal(status).annotations({ description: "The HTTP status" }),
    _tag: Schema.Literal(tag).annotations({ description: "The error's name" }),
    ...(located.has(tag) ? { errors: ProblemBody.fields.errors } : {})
  }).annotations({ identifier: tag, description }) as unknown as Schema.Schema<Wire<Tag>>
  const isFailure = (value: unknown): value is Failure<Tag> =>
    typeof value === "object" && value !== null && "_tag" in value && value._tag === tag
  return Schema.transform(wire, Schema.declare(isFailure), {
    strict: true,
    decode: (body): Failure<Tag> => new Problem(body),
    encode: (_, error) => ({ ...problemBody({ _tag: tag, status, detail: error.message }), _tag: tag })
  }).annotations(HttpApiSchema.annotations({ status }))
}
