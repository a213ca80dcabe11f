import SwaggerParser from "@apidevtools/swagger-parser"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as HttpApi from "@effect/platform/HttpApi"
import * as OpenApi from "@effect/platform/OpenApi"
import { assert, it } from "@effect/vitest"
import * as Option from "effect/Option"
import * as SchemaAST from "effect/SchemaAST"
import { Validator } from "@seriousme/openapi-schema-validator"
import { Api } from "../../src/api/Api.ts"
import * as errors from "../../src/api/errors.ts"
import * as failures from "../../src/api/failures.ts"
import { BudgetTooSmall } from "../../src/Prompt.ts"
import { EmbedderUnavailable } from "../../src/Embedder.ts"
import { EntityNotFound } from "../../src/Graph.ts"
import { PassageNotFound } from "../../src/Search/naming.ts"
import { JudgementsUnusable } from "../../src/measuring/Judgements.ts"
import * as Llm from "../../src/Llm.ts"
import * as RateLimiter from "../../src/RateLimiter.ts"
import * as Store from "../../src/Store.ts"
import { NotPermitted } from "../../src/Caller.ts"
import { NotAnExport } from "../../src/upkeep/Transfer.ts"
import { IndexingBusy } from "../../src/Indexer.ts"

const spec = OpenApi.fromApi(Api) as any
const copy = () => structuredClone(spec)

const operations = Object.entries<any>(spec.paths).flatMap(([path, item]) =>
  Object.entries<any>(item).map(([method, operation]) => ({ name: `${method} ${path}`, operation }))
)

const resolve = (schema: any): any => {
  const ref = schema?.$ref ?? (schema?.allOf ?? schema?.anyOf)?.[0]?.$ref
  return ref === undefined ? schema : { ...spec.components.schemas[ref.split("/").at(-1)], ...schema }
}

it("is valid OpenAPI 3.0.3 to two validators", async () => {
  assert.strictEqual(spec.openapi, "3.0.3")
  const { errors, valid } = await new Validator().validate(copy())
  assert.isTrue(valid, JSON.stringify(errors))
  await SwaggerParser.validate(copy())
})

it("gives no two schemas one name", () => {
  const known = new Map<string, string>()
  const seen = new Set<object>()
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null || seen.has(value)) return
    seen.add(value)
    const { annotations, propertySignatures } = value as SchemaAST.TypeLiteral
    const name = annotations?.[SchemaAST.IdentifierAnnotationId] as string | undefined
    if (name !== undefined && Array.isArray(propertySignatures)) {
      const fields = propertySignatures.map((field) => String(field.name)).join()
      assert.strictEqual(known.get(name) ?? fields, fields, name)
      known.set(name, fields)
    }
    for (const part of Array.isArray(value) ? value : Object.values(value)) visit(part)
  }
  HttpApi.reflect(Api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, errors, payloads, successes }) => {
      visit(endpoint.urlParamsSchema)
      for (const { ast } of [...successes.values(), ...errors.values()]) visit(Option.getOrUndefined(ast))
      for (const { ast } of payloads.values()) visit(ast)
    }
  })
  assert.isAbove(known.size, 50)
})

it("uses no word that 3.0 does not have", () => {
  const text = JSON.stringify(spec)
  for (const word of [
    '"const"',
    '"$defs"',
    '"examples"',
    '"prefixItems"',
    '"type":[',
    '"type":"null"',
    "HttpApiDecodeError"
  ]) {
    assert.notInclude(text, word)
  }
  const refs = [...text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map((match) => match[1]!)
  for (const name of refs) assert.property(spec.components.schemas, name)
})

it("leaves defaults to the descriptions, since client generators make a field with one required", () => {
  assert.notInclude(
    JSON.stringify([spec.components, operations.map(({ operation }) => operation.requestBody)]),
    '"default":'
  )
  assert.notInclude(JSON.stringify(operations.map(({ operation }) => operation.parameters)), '"default":')
})

it("describes every operation, parameter and field", () => {
  for (const { name, operation } of operations) {
    assert.isNotEmpty(operation.summary, name)
    assert.isNotEmpty(operation.description, name)
    for (const parameter of operation.parameters ?? [])
      assert.isNotEmpty(parameter.description, `${name} ${parameter.name}`)
    for (const [status, response] of Object.entries<any>(operation.responses)) {
      assert.isNotEmpty(response.description, `${name} ${status}`)
    }
  }
  for (const [name, schema] of Object.entries<any>(spec.components.schemas)) {
    const structs = [schema, ...(schema.anyOf ?? [])]
    for (const struct of structs) {
      for (const [field, property] of Object.entries<any>(struct.properties ?? {})) {
        const says = resolve(property)
        assert.isTrue(Boolean(says?.description) || field === "type" || field === "status", `${name}.${field}`)
      }
    }
  }
})

it("lists what each operation can answer", () => {
  const statuses = Object.fromEntries(
    operations.map(({ name, operation }) => [
      name,
      Object.keys(operation.responses)
        .filter((status) => status !== "default")
        .join(" ")
    ])
  )
  assert.deepStrictEqual(statuses, {
    "post /query": "200 400 401 403 404 409 413 415 429 500 503",
    "post /similar": "200 400 401 403 404 409 413 415 429 500 503",
    "get /why": "200 400 401 403 404 409 429 500 503",
    "post /compare": "200 400 401 403 404 409 413 415 429 500 503",
    "get /suggest": "200 400 401 403 404 429 500 503",
    "post /prompt": "200 400 401 403 404 409 413 415 429 500 503",
    "post /ask": "200 400 401 403 404 409 413 415 429 500 503",
    "post /v1/chat/completions": "200 400 401 403 404 409 413 415 429 500 503",
    "post /v1/embeddings": "200 400 401 403 404 413 415 429 500 503",
    "get /v1/models": "200 401 403 429 500 503",
    "get /v1/models/{model}": "200 400 401 403 404 429 500 503",
    "post /index": "200 202 400 401 403 404 409 413 415 429 500 503",
    "post /files": "200 202 400 401 403 404 409 413 415 429 500 503",
    "post /import": "200 202 400 401 403 404 409 413 415 429 500 503",
    "post /collections/{name}/reindex": "200 202 400 401 403 404 409 413 415 429 500 503",
    "post /graph/build": "200 202 400 401 403 404 413 415 429 500 503",
    "get /jobs": "200 401 403 429 500 503",
    "get /jobs/{id}": "200 400 401 403 404 429 500 503",
    "delete /jobs/{id}": "200 400 401 403 404 429 500 503",
    "get /whoami": "200 401 403 429 500 503",
    "get /health/report": "200 401 403 404 429 500 503",
    "post /judgements": "200 400 401 403 413 415 429 500 503",
    "get /judgements": "200 400 401 403 429 500 503",
    "get /documents": "200 400 401 403 404 429 500 503",
    "delete /documents": "200 400 401 403 404 413 415 429 500 503",
    "get /documents/{doc_id}": "200 400 401 403 404 429 500 503",
    "get /documents/{doc_id}/passages": "200 400 401 403 404 429 500 503",
    "delete /documents/{doc_id}": "200 400 401 403 404 429 500 503",
    "get /graph/entities": "200 400 401 403 404 429 500 503",
    "get /graph/entities/{name}": "200 400 401 403 404 429 500 503",
    "get /graph/path": "200 400 401 403 404 429 500 503",
    "get /collections": "200 401 403 429 500 503",
    "post /collections": "201 400 401 403 409 413 415 429 500 503",
    "delete /collections/{name}": "200 400 401 403 404 409 429 500 503",
    "get /ws": "101 400 401 403 426 429 500 503",
    "get /health": "200 500",
    "get /ready": "200 403 500 503",
    "get /stats": "200 400 401 403 404 429 500 503",
    "get /metrics": "200 401 403 429 500 503"
  })
  for (const { name, operation } of operations) {
    for (const [status, response] of Object.entries<any>(operation.responses)) {
      const isProblem = Number(status) >= 400 && !(name === "get /ready" && status === "503")
      const type = name.includes(" /v1/") ? "application/json" : "application/problem+json"
      if (isProblem) assert.hasAllKeys(response.content, [type], `${name} ${status}`)
    }
  }
})

it("declares the headers that answers carry, and what HTTP itself can go wrong with", () => {
  for (const { name, operation } of operations) {
    assert.property(operation.responses, "default", name)
    for (const [status, { headers }] of Object.entries<any>(operation.responses)) {
      assert.property(headers, "X-Request-Id", `${name} ${status}`)
    }
  }
  assert.hasAllKeys(spec.paths["/ask"].post.responses["200"].headers, [
    "X-Request-Id",
    "X-Clew-Mode",
    "X-Clew-Fusion",
    "X-Clew-Llm",
    "X-Clew-Degraded",
    "X-Clew-Omitted"
  ])
  assert.property(spec.paths["/query"].post.responses["503"].headers, "Retry-After")
})

it("says that null is allowed beside a type, where alone it counts", () => {
  const visit = (value: any, path: string): void => {
    if (typeof value !== "object" || value === null) return
    if (value.nullable === true) assert.isString(value.type, path)
    // openapi-generator makes no TypeScript of a property with such an enum.
    if (value.enum?.[0] === null) assert.match(path, /\/anyOf\/\d+$/)
    for (const [key, part] of Object.entries(value)) visit(part, `${path}/${key}`)
  }
  visit(spec, "")
  const { anyOf } = spec.components.schemas.ChatRequest.properties.temperature
  assert.deepStrictEqual(anyOf.at(-1), { type: "string", nullable: true, enum: [null] })
})

it("leaves answers open for fields to come, and requests closed", () => {
  const { schemas } = spec.components
  for (const name of ["SearchResponse", "IndexResponse", "Stats", "InvalidRequest", "ServerMessage", "Problem"]) {
    assert.notInclude(JSON.stringify(schemas[name]), '"additionalProperties":false', name)
  }
  for (const name of ["QueryRequest", "IndexRequest", "Document", "DeleteRequest"]) {
    assert.isFalse(schemas[name].additionalProperties, name)
  }
})

it("has numbers that generators can make: bounds beside their type", () => {
  assert.deepInclude(spec.components.schemas.PromptRequest.properties.max_tokens, {
    type: "integer",
    minimum: 1,
    maximum: 1_000_000
  })
})

it("declares each error with the status that it goes out with", () => {
  const classes: Record<string, any> = {
    ...errors,
    BudgetTooSmall,
    ...Llm,
    ...Store,
    ...RateLimiter,
    EmbedderUnavailable,
    EntityNotFound,
    IndexingBusy,
    JudgementsUnusable,
    NotAnExport,
    NotPermitted,
    PassageNotFound
  }
  for (const [name, failure] of Object.entries(failures)) {
    assert.property(classes, name)
    assert.strictEqual(
      HttpApiSchema.getStatusErrorAST(failure.ast),
      HttpApiSchema.getStatusErrorAST(classes[name].ast),
      name
    )
  }
})

it("needs the key where the contract says so", () => {
  const open = operations.filter(({ operation }) => operation.security.length === 0).map(({ name }) => name)
  assert.sameMembers(open, ["get /health", "get /ready"])
  // A generated client sends the key only where it is named.
  assert.deepStrictEqual(spec.paths["/whoami"].get.security, [{}, { bearer: [] }])
  assert.deepInclude(spec.components.securitySchemes.bearer, { type: "http", scheme: "bearer" })
})
