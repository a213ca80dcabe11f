import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Cause from "effect/Cause"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { InternalError, RouteNotFound } from "../api/errors.ts"
import { fromIssues, type Issue } from "../api/issues.ts"
import { type FieldError, type ProblemBody, problemBody, problemType } from "../api/Problem.ts"

/** An error whose class declares its HTTP status. */
interface StatusError {
  readonly _tag: string
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
  readonly errors?: ReadonlyArray<FieldError>
}

const statuses = new WeakMap<object, number>()

/** The status annotated on the error's class; 0 if there is none. */
const statusOf = (error: object): number => {
  const known = statuses.get(error.constructor)
  if (known !== undefined) return known
  const status = Schema.isSchema(error.constructor) ? HttpApiSchema.getStatus(error.constructor.ast, 0) : 0
  statuses.set(error.constructor, status)
  return status
}

const isStatusError = (error: unknown): error is StatusError =>
  Predicate.hasProperty(error, "_tag") && error instanceof Error && statusOf(error) > 0

/** Clients must not learn where the server keeps files: only the last part of an absolute path goes out. */
export const withoutPaths = (text: string): string =>
  text.replace(/(?<![\w:/.])(?:\/[^\s/'"`,;:()]+)+\/([^\s/'"`,;:()]+)/g, "$1")

/** Addresses as network errors name them: a URL, numbers, or a name after the error. */
const addresses = [
  /\b[a-z][a-z+.-]{1,20}:\/\/[^\s'"`<>;,)]+/gi,
  /(?<=\b(?:getaddrinfo|connect) [A-Z_]{1,30} )[^\s'"`;,)]+/g,
  /\[[0-9a-f:.]{2,45}\](?::\d{1,5})?/gi,
  /\b(?:\d{1,3}\.){3}\d{1,3}\b(?::\d{1,5}\b)?/g,
  /\b(?:localhost|[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,10}):\d{2,5}\b/gi
]

/** As `withoutPaths`, for internal failures: also hides the addresses of other servers. The log keeps them. */
export const withoutInside = (text: string): string =>
  withoutPaths(addresses.reduce((left, address) => left.replace(address, "[address]"), text))

/** The request's id in the log and in the response; the edge has set it. */
export const idOf = ({ headers }: HttpServerRequest.HttpServerRequest): string => headers["x-request-id"] ?? ""

export interface Rendered {
  readonly body: ProblemBody
  readonly headers: Readonly<Record<string, string>>
  /** Set for a defect, which must be logged. */
  readonly defect?: string
  /** The internal failure with the details that the body hides. */
  readonly inside?: string
}

/** Maps the platform's errors to ours. */
const ownOf = (error: unknown): unknown => {
  if (Predicate.isTagged(error, "HttpApiDecodeError")) {
    return fromIssues((error as unknown as { readonly issues: ReadonlyArray<Issue> }).issues)
  }
  return Predicate.isTagged(error, "RouteNotFound") && !isStatusError(error) ? new RouteNotFound() : error
}

/** Renders any error as a problem object; an unknown error is a defect, identified by the given id. */
export const render = (error: unknown, id: string): Rendered => {
  const known = ownOf(error)
  const ours: StatusError = isStatusError(known) ? known : new InternalError({ id })
  const body = problemBody({
    _tag: ours._tag,
    status: statusOf(ours),
    detail: (statusOf(ours) < 500 ? withoutPaths : withoutInside)(ours.message),
    errors: ours.errors
  })
  const shown = { body, headers: ours.headers ?? {} }
  if (ours !== known) return { ...shown, defect: id }
  return body.status < 500 ? shown : { ...shown, inside: ours.message }
}

/** The first failure, else the first defect; none if the request was only interrupted. */
export const errorOf = (cause: Cause.Cause<unknown>): Option.Option<unknown> =>
  Option.orElse(Cause.failureOption(cause), () => Cause.dieOption(cause))

export const respond = ({ body, headers }: Rendered): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(JSON.stringify(body), { status: body.status, contentType: problemType, headers })
