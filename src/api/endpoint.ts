import * as HttpApiMiddleware from "@effect/platform/HttpApiMiddleware"
import * as HttpApiSecurity from "@effect/platform/HttpApiSecurity"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Context from "effect/Context"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { CollectionName } from "../model/Collection.ts"
import { NumberText } from "../model/fields.ts"
import { Filter } from "../model/Filter.ts"
import { changedNumber, mustBeObject, mustHaveLength, mustBe } from "../model/kinds.ts"
import type { Right } from "../model/Key.ts"
import * as failures from "./failures.ts"

const bearer = HttpApiSecurity.annotate(
  HttpApiSecurity.bearer,
  OpenApi.Description,
  "The value of SERVICE_API_KEY, one of server.keys, or a token of server.oauth_issuer. Not needed if the server was started without all of them."
)

/** What a request that needs the key may be refused for. */
const ofAccess = Schema.Union(
  failures.Unauthorized,
  failures.InsufficientScope,
  failures.NotPermitted,
  failures.AccessUnavailable
)

/** What an endpoint needs of a key. Unless annotated, it needs `write` if it has the middleware Writing, else `read`. */
export class Needs extends Context.Reference<Needs>()("clew/http/Needs", {
  defaultValue: (): {
    readonly right?: Right
    /** Tells of all collections, so that a key limited to some does not do. */
    readonly allCollections?: boolean
  } => ({})
}) {}

/** Admits requests with a key or a token that allows them, or all if the server has neither. */
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

/** The same for bodies in the form of OpenAI's API, whose clients send fields that nothing here takes. */
export const lenient = { ...strict, parseOptions: { onExcessProperty: "ignore", errors: "all" } } as const

/** What an endpoint is for, in the OpenAPI document, and what is special of it there. */
export const about = (
  summary: string,
  description: string,
  more: Partial<Parameters<typeof OpenApi.annotations>[0]> = {}
) => OpenApi.annotations({ summary, description, ...more })

/** Says in an operation of the OpenAPI document that it needs no body. */
export const bodyOptional = (operation: Record<string, any>): Record<string, any> => ({
  ...operation,
  requestBody: { ...operation["requestBody"], required: false }
})

/** Adds to an operation of the OpenAPI document that it may answer at once with a job. */
export const respondAsync = (operation: Record<string, any>): Record<string, any> => ({
  ...operation,
  parameters: [
    ...operation["parameters"],
    {
      name: "Prefer",
      in: "header",
      required: false,
      description: "respond-async: answer at once with 202 and a job, which does the work",
      schema: { type: "string" }
    }
  ],
  responses: {
    ...operation["responses"],
    202: {
      description: "With Prefer: respond-async: the job",
      headers: { Location: { description: "The job's address, /jobs/ID", schema: { type: "string" } } },
      content: { "application/json": { schema: { $ref: "#/components/schemas/Job" } } }
    }
  }
})

/** Adds to an operation of the OpenAPI document that it may answer with server-sent events. */
export const respondInEvents =
  (description: string) =>
  (operation: Record<string, any>): Record<string, any> => {
    const answer = operation["responses"][200]
    const content = { ...answer.content, "text/event-stream": { schema: { type: "string", description } } }
    return { ...operation, responses: { ...operation["responses"], 200: { ...answer, content } } }
  }

/** A query string that names a collection, if it names any. */
export const InCollection = Schema.Struct({ collection: Schema.optional(CollectionName) }).annotations(strict)

/** A filter in the query string. */
export const FilterParam = Schema.String.pipe(
  Schema.filter((text) => {
    const changed = changedNumber(text)
    return changed === undefined
      ? undefined
      : `filter: the number ${changed.slice(0, 40)} would change, being beyond 2^53; send it as a string`
  }),
  Schema.compose(Schema.parseJson(Filter))
).annotations({
  jsonSchema: { type: "string", description: "A filter as in POST /query, as JSON" }
})

/** A text that is not empty, by the name that its message has. */
export const someText = (name: string, most: number, description: string) =>
  Schema.String.pipe(
    Schema.minLength(1),
    Schema.maxLength(most),
    Schema.annotations({ description, message: mustHaveLength(name, most) })
  )

/** A text as a segment of the path: the router decodes it, so only a client has to encode it. */
export const segment = <A extends string, I>(schema: Schema.Schema<A, I>, most: number, description: string) =>
  Schema.transformOrFail(Schema.String, Schema.typeSchema(schema), {
    strict: false,
    decode: (segment) => ParseResult.succeed(segment),
    encode: (text, _, ast) =>
      /^\.\.?$|\p{Cs}/u.test(text)
        ? ParseResult.fail(new ParseResult.Type(ast, text, "no URL can have . or .. here, or half a character"))
        : ParseResult.succeed(encodeURIComponent(text))
  }).annotations({
    jsonSchema: { type: "string", minLength: 1, maxLength: most, description: `${description}, percent-encoded` }
  })

/** A whole number in the query string. */
export const wholeNumber = (name: string, min: number, max: number, description: string) =>
  NumberText.pipe(
    Schema.int(),
    Schema.between(min, max),
    Schema.annotations({
      jsonSchema: { type: "integer", minimum: min, maximum: max, description },
      message: mustBe(name, `an integer from ${min} to ${max}`)
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
