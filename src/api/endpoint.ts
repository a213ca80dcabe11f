import * as HttpApiMiddleware from "@effect/platform/HttpApiMiddleware"
import * as HttpApiSecurity from "@effect/platform/HttpApiSecurity"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { mustBeObject, valueText } from "../model/kinds.ts"
import * as failures from "./failures.ts"

const bearer = HttpApiSecurity.annotate(
  HttpApiSecurity.bearer,
  OpenApi.Description,
  "The value of SERVICE_API_KEY, or a token of server.oauth_issuer. Not needed if the server was started without both."
)

/** What a request that needs the key may be refused for. */
const ofAccess = Schema.Union(failures.Unauthorized, failures.InsufficientScope, failures.AccessUnavailable)

/** Admits requests with the API key or a token, or all if the server has neither. */
export class Authorization extends HttpApiMiddleware.Tag<Authorization>()("clew/http/Authorization", {
  failure: ofAccess,
  security: { bearer }
}) {}

/** The same, but open to everyone with `public_stats`. */
export class StatsAuthorization extends HttpApiMiddleware.Tag<StatsAuthorization>()("clew/http/StatsAuthorization", {
  failure: ofAccess,
  security: { bearer }
}) {}

/** Refuses requests if the server is read-only. */
export class Writing extends HttpApiMiddleware.Tag<Writing>()("clew/http/Writing", { failure: failures.ReadOnly }) {}

/** Unknown fields are errors, and all faults of a request are reported at once. */
export const strict = {
  parseOptions: { onExcessProperty: "error", errors: "all" },
  message: mustBeObject("the body")
} as const

/** What an endpoint is for, in the OpenAPI document, and what is special of it there. */
export const about = (
  summary: string,
  description: string,
  more: Partial<Parameters<typeof OpenApi.annotations>[0]> = {}
) => OpenApi.annotations({ summary, description, ...more })

/** A whole number in the query string. */
export const wholeNumber = (name: string, min: number, max: number, description: string) =>
  Schema.NumberFromString.pipe(
    Schema.int(),
    Schema.between(min, max),
    Schema.annotations({
      jsonSchema: { type: "integer", minimum: min, maximum: max, description },
      message: ({ actual }) => ({
        message: `${name} must be an integer from ${min} to ${max}, got ${valueText(actual)}`,
        override: true
      })
    })
  )

/** What a request may be refused for wherever it is limited. */
export const ofGuards = Schema.Union(failures.Forbidden, failures.TooManyRequests)
/** What a request with a body may be refused for. */
export const ofBodies = Schema.Union(
  failures.InvalidRequest,
  failures.MalformedBody,
  failures.PayloadTooLarge,
  failures.UnsupportedMediaType
)
/** What a request that searches may be refused for. */
export const ofSearches = Schema.Union(
  failures.InvalidRequest,
  failures.MalformedBody,
  failures.CollectionNotFound,
  failures.EmbedderMismatch,
  failures.PayloadTooLarge,
  failures.UnsupportedMediaType,
  failures.EmbedderUnavailable,
  failures.StoreUnavailable
)
