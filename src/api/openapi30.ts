import { problemType } from "./Problem.ts"

type Json = Record<string, any>

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

const mapValues = (value: Json, f: (inner: any, key: string) => unknown): Json =>
  Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, f(inner, key)]))

const isNull = (schema: Json): boolean => schema["type"] === "null"

/** Null alone: `nullable` counts beside a `type` only. */
const nothing: Json = { type: "string", nullable: true, enum: [null] }
/** Null as a value of its own: on an enum of null there, openapi-generator fails. */
const alwaysNull: Json = { type: "string", nullable: true }

/** Alternatives, in which null becomes `nullable` where there is one type beside it. */
const alternatives = (members: ReadonlyArray<Json>): Json => {
  const [first, ...more] = members.filter((member) => !isNull(member)).map(schema30)
  const mayBeNull = more.length + 1 < members.length
  if (more.length === 0 && "type" in first!) return { ...first, nullable: true }
  return { anyOf: [first, ...more, ...(mayBeNull ? [nothing] : [])] }
}

/** Refinements of one type merged into one schema, which code and data generators understand. */
const together = (members: ReadonlyArray<Json>): Json =>
  members.some((member) => "$ref" in member || "allOf" in member || "anyOf" in member)
    ? { allOf: members }
    : Object.assign({}, ...members)

const ref = (name: string): string => `#/components/schemas/${name}`

/** The component that a schema refers to; empty if it refers to none. */
const nameIn = (schema: Json): string => String(schema["$ref"] ?? "").replace(ref(""), "")

/** Effect's own components, which are clearer inline. */
const plainTypes: Readonly<Record<string, Json>> = {
  [ref("Int")]: { type: "integer" },
  [ref("Finite")]: { type: "number" },
  [ref("NonEmptyString")]: { type: "string", minLength: 1 }
}

/**
 * Translates a JSON Schema of draft 2020-12 to OpenAPI 3.0.3, as far as the contract's schemas use it. A test fails if one
 * uses more.
 */
const schema30 = (schema: Json): Json => {
  const { $ref, ...beside } = schema
  if (typeof $ref === "string") {
    const plain = plainTypes[$ref]
    if (plain !== undefined) return { ...plain, ...schema30(beside) }
    // 3.0 ignores everything beside a $ref.
    const rest = schema30(beside)
    return Object.keys(rest).length === 0 ? { $ref } : { allOf: [{ $ref }], ...rest }
  }
  const out: Json = {}
  for (const [key, value] of Object.entries(schema)) {
    // Effect titles a refinement by its function: "between(1, 100)".
    if (key === "$id" || (key === "title" && /^[a-z]/.test(value))) continue
    if (key === "type") Object.assign(out, value === "null" ? alwaysNull : { type: value })
    else if (key === "examples") out["example"] = value[0]
    else if (key === "properties") out["properties"] = mapValues(value, schema30)
    else if (key === "items" || key === "not") out[key] = schema30(value)
    else if (key === "additionalProperties") out[key] = isObject(value) ? schema30(value) : value
    else if (key === "allOf") Object.assign(out, together(value.map(schema30)))
    else if (key === "anyOf") Object.assign(out, alternatives(value))
    else if (key !== "required" || value.length > 0) out[key] = value
  }
  return out
}

/** HttpApi's own decode error goes out as InvalidRequest. */
const replaced = "HttpApiDecodeError"
const internal = new Set([replaced, "Issue", "PropertyKey", "Int", "Finite", "NonEmptyString"])

const members = (schema: Json): ReadonlyArray<Json> => (Array.isArray(schema["anyOf"]) ? schema["anyOf"] : [schema])

/** Every error is the problem object, one schema for each name that an endpoint can answer with at this status. */
const problem = (response: Json): Json => {
  const contents: ReadonlyArray<Json> = Object.values(response["content"] ?? {})
  const all = contents.flatMap((content) => members(schema30(content["schema"])))
  const own = all.filter((schema) => schema["$ref"] !== ref(replaced))
  const schema = own.length === 1 ? own[0] : { anyOf: own }
  return { content: { [problemType]: { schema } } }
}

const text = (description: string): Json => ({ description, schema: { type: "string" } })
const retryAfter = { description: "Seconds to wait", schema: { type: "integer", minimum: 1 } }

const headers: Readonly<Record<string, Json>> = {
  "401": { "WWW-Authenticate": text("Always Bearer") },
  "426": { Upgrade: text("Always websocket") },
  "429": { "Retry-After": retryAfter },
  "503": { "Retry-After": retryAfter }
}

/** Headers of every response. */
const everywhere = { "X-Request-Id": text("Identifies the request in the server's log; a request may set its own") }

/** Errors of HTTP itself, possible at every route. */
const otherwise = {
  description:
    "Any other error: MalformedRequest (400), RouteNotFound (404), MethodNotAllowed (405), RequestTimeout (408), ExpectationFailed (417), HeadersTooLarge (431)",
  content: { [problemType]: { schema: { $ref: ref("Problem") } } }
}

/** Allows further properties in responses, which a later server may add. */
const opened = (schema: any): any =>
  Array.isArray(schema)
    ? schema.map(opened)
    : isObject(schema)
      ? mapValues(
          schema["additionalProperties"] === false
            ? Object.fromEntries(Object.entries(schema).filter(([key]) => key !== "additionalProperties"))
            : schema,
          opened
        )
      : schema

/** Names of the schemas that a part of the document uses. */
const neededBy = (part: unknown, schemas: Json, found: Set<string> = new Set()): Set<string> => {
  for (const [, name] of JSON.stringify(part ?? null).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
    if (name === undefined || found.has(name)) continue
    found.add(name)
    neededBy(schemas[name], schemas, found)
  }
  return found
}

const describe = (status: string, response: Json, schemas: Json): Json => {
  const isProblem = Number(status) >= 400 && !JSON.stringify(response).includes("#/components/schemas/NotReady")
  if (!isProblem) {
    const { content: contents, headers: own } = response
    return {
      ...response,
      headers: { ...own, ...everywhere },
      ...(contents ? { content: mapValues(contents, (value) => opened(content(value))) } : {})
    }
  }
  const { content: contents } = problem(response)
  const names = members(contents[problemType].schema).map(nameIn)
  const description = names.map((name) => `${name}: ${schemas[name]?.description ?? ""}`).join(". ")
  return { description, headers: { ...headers[status], ...everywhere }, content: contents }
}

const content = (value: Json): Json => ({ ...value, schema: schema30(value["schema"]) })

const parameter30 = (parameter: Json, schemas: Json): Json => {
  const schema = schema30(parameter["schema"])
  return { ...parameter, description: parameter["description"] ?? schemas[nameIn(schema)]?.description, schema }
}

/** The same errors in OpenAI's form, for the routes under /v1. */
const likeOpenAi = (responses: Json): Json =>
  mapValues(responses, (response: Json, status) =>
    Number(status) >= 400
      ? { ...response, content: { "application/json": { schema: { $ref: ref("OpenAiError") } } } }
      : response
  )

const operation30 = (operation: Json, schemas: Json, path: string): Json => {
  const { operationId, parameters, requestBody, responses, security, ...rest } = operation
  const answers = Object.entries<Json>(responses).filter(
    // HttpApi declares this for the whole API; an endpoint that decodes nothing cannot return it.
    ([status, response]) =>
      status !== "400" || (problem(response)["content"][problemType].schema.anyOf ?? [1]).length > 0
  )
  const described = Object.fromEntries(
    answers.map(([status, response]) => [status, describe(status, response, schemas)])
  )
  return {
    ...rest,
    // Without its group: the names are unique.
    operationId: String(operationId).split(".").at(-1),
    security,
    ...(parameters.length > 0 ? { parameters: parameters.map((it: Json) => parameter30(it, schemas)) } : {}),
    ...(requestBody ? { requestBody: { ...requestBody, content: mapValues(requestBody.content, content) } } : {}),
    responses: {
      ...(path.startsWith("/v1/") ? likeOpenAi(described) : described),
      default: { ...otherwise, headers: everywhere }
    }
  }
}

/** Converts the OpenAPI 3.1 document of @effect/platform to an equivalent 3.0.3 document. */
export const toOpenApi30 = (spec: Json): Json => {
  const { summary: _, ...info } = spec["info"]
  const { security: __, ...rest } = spec
  const schemas: Json = {}
  for (const [name, schema] of Object.entries<Json>(spec["components"].schemas)) {
    if (!internal.has(name)) schemas[name] = schema30(schema)
  }
  const paths = mapValues(spec["paths"], (item: Json, path) =>
    mapValues(item, (operation) => operation30(operation, schemas, path))
  )
  const operations: ReadonlyArray<Json> = Object.values<Json>(paths).flatMap((item) => Object.values<Json>(item))
  const strict = neededBy([{ $ref: ref("ClientMessage") }, operations.map(({ requestBody }) => requestBody)], schemas)
  return {
    ...rest,
    openapi: "3.0.3",
    info,
    paths,
    components: {
      ...spec["components"],
      schemas: mapValues(schemas, (schema, name) => (strict.has(name) ? schema : opened(schema)))
    }
  }
}
