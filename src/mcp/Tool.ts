import type { CallToolResult, Tool as Listed } from "@modelcontextprotocol/sdk/types.js"
import * as Effect from "effect/Effect"
import * as JSONSchema from "effect/JSONSchema"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import type { Embedders } from "../Embedders.ts"
import type { FileIndexer } from "../files/FileIndexer.ts"
import type { Graph } from "../Graph.ts"
import type { Indexer } from "../Indexer.ts"
import { limits } from "../model/Limits.ts"
import { isObject, pathText } from "../model/kinds.ts"
import type { Tokenizer } from "../packaged/Tokenizer.ts"
import type { Prompt } from "../Prompt.ts"
import type { Search } from "../Search.ts"
import type { Store } from "../Store.ts"
import { didYouMean } from "../terms/nearest.ts"
import type { FieldError } from "../api/Problem.ts"
import { withoutNulls } from "./Message.ts"
import type { Overview } from "./overview.ts"
import { invalidParams, type RpcError } from "./RpcError.ts"

/** A JSON Schema without references. */
export type Json = { readonly [key: string]: unknown }

/**
 * Noise for a model: titles that only name a check, like `between(1, 100)`, ids that would collide, generated names.
 */
const isNoise = (key: string, value: unknown): boolean =>
  key === "$id" ||
  key === "$schema" ||
  key === "pattern" ||
  (key === "required" && Array.isArray(value) && value.length === 0) ||
  (key === "not" && JSON.stringify(value) === '{"enum":[".",".."]}') ||
  (key === "title" && typeof value === "string" && /^(int|finite|unknown|nonEmptyString|\w+\(.*\))$/.test(value))

/**
 * The JSON Schema of the wire format. References are inlined, since many clients follow none, and `defaults` are added
 * to their properties.
 */
export const toJsonSchema = (schema: Schema.Schema.All, defaults: Readonly<Record<string, unknown>> = {}): Json => {
  const { $defs, ...root } = JSONSchema.make(schema as Schema.Schema<unknown, unknown>) as unknown as Json
  const definitions = isObject($defs) ? $defs : {}

  const writeOut = (node: unknown, isNames = false): unknown => {
    if (Array.isArray(node)) return node.map((inner) => writeOut(inner))
    if (!isObject(node)) return node
    const { $ref, ...own } = node
    const target = typeof $ref === "string" && !isNames ? definitions[$ref.replace("#/$defs/", "")] : undefined
    const entries = Object.entries(own)
      .filter(([key, value]) => isNames || !isNoise(key, value))
      .map(([key, value]) => [
        key,
        verbatim.has(key) && !isNames ? value : writeOut(value, key === "properties" && !isNames)
      ])
    return { ...(target === undefined ? {} : (writeOut(target) as Json)), ...Object.fromEntries(entries) }
  }

  const written = writeOut(root) as Json
  const properties = isObject(written["properties"]) ? written["properties"] : {}
  return {
    ...written,
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, property]) => [
        name,
        name in defaults && isObject(property) ? { ...property, default: defaults[name] } : property
      ])
    )
  }
}

/** Bounds that nobody meets by chance are told where they are broken, and so is that nothing else is taken. */
const isTold = (key: string, value: unknown): boolean =>
  ["minLength", "maxLength", "minItems", "additionalProperties"].includes(key) ||
  (key === "minimum" && (value as number) <= 1) ||
  (key === "maximum" && (value as number) > 1000)

/** A schema as it is listed: clients pay for each of its tokens in every conversation. */
const brief = (node: unknown, isNames = false): unknown =>
  Array.isArray(node)
    ? node.map((inner) => brief(inner))
    : isObject(node)
      ? Object.fromEntries(
          Object.entries(node)
            .filter(([key, value]) => isNames || !isTold(key, value))
            .map(([key, value]) => [key, brief(value, key === "properties" && !isNames)])
        )
      : node

const verbatim = new Set(["examples", "default", "enum", "const", "required"])

const article = (type: string): string => (/^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`)

/** The values of a schema that is a choice of single values; none if it is not. */
const choices = ({ anyOf, enum: values, type }: Json): ReadonlyArray<unknown> => {
  if (Array.isArray(values)) return values
  if (type === "boolean") return [true, false]
  const each = Array.isArray(anyOf) ? anyOf.map((one) => (isObject(one) ? choices(one) : [])) : []
  return each.every((some) => some.length > 0) ? each.flat() : []
}

/** What a schema allows, in words: "an integer from 1 to 100". */
export const allowed = (schema: Json): string => {
  const { maximum, maxItems, maxLength, minimum, minItems, minLength, type } = schema
  const values = type === "boolean" ? [] : choices(schema)
  if (values.length > 0) return `one of ${values.map((value) => JSON.stringify(value)).join(", ")}`
  const range = (low: unknown, high: unknown, unit = "") =>
    high === undefined
      ? low === undefined || unit !== ""
        ? ""
        : ` of at least ${low}`
      : low === undefined
        ? ` of at most ${high}${unit}`
        : ` ${unit === "" ? "from" : "of"} ${low} to ${high}${unit}`
  switch (type) {
    case "integer":
    case "number":
      return `${article(type)}${range(minimum, maximum)}`
    case "string":
      return `a string${range(minLength, maxLength, " characters")}`
    case "array":
      return `an array${range(minItems, maxItems, " items")}`
    case "boolean":
      return "true or false"
    case "object":
      return "an object"
    default:
      return typeof schema["description"] === "string"
        ? schema["description"].replace(/^[A-Z]/, (letter) => letter.toLowerCase())
        : "of another kind"
  }
}

/** The schema at a path; the walk ends at a choice of several schemas. */
const schemaAt = (
  root: Json,
  path: ReadonlyArray<PropertyKey>
): { readonly schema: Json; readonly path: ReadonlyArray<PropertyKey> } => {
  let schema = root
  for (const [depth, key] of path.entries()) {
    const { additionalProperties, items, properties } = schema
    const next =
      typeof key === "number"
        ? items
        : isObject(properties) && String(key) in properties
          ? properties[String(key)]
          : additionalProperties === true
            ? {}
            : additionalProperties
    if (!isObject(next)) return { schema, path: path.slice(0, depth) }
    schema = next
  }
  return { schema, path }
}

const valueAt = (value: unknown, path: ReadonlyArray<PropertyKey>): unknown =>
  path.reduce<unknown>((inner, key) => (inner as Record<PropertyKey, unknown> | undefined)?.[key], value)

const longest = 60

const show = (value: unknown): string => {
  if (typeof value === "string" && value.length > longest) return `a string of ${[...value].length} characters`
  if (Array.isArray(value) && value.length > 4) return `${value.length} items`
  const text = JSON.stringify(value) ?? "nothing"
  return text.length > longest ? `${text.slice(0, longest)}…` : text
}

const unexpected = (json: Json, path: ReadonlyArray<PropertyKey>): string => {
  const parent = schemaAt(json, path.slice(0, -1)).schema["properties"]
  const known = Object.keys((parent as Json | undefined) ?? {})
  const takes = known.length === 0 ? "no arguments" : known.join(", ")
  return `${pathText(path)} is unknown${didYouMean(String(path.at(-1)), known)}; allowed: ${takes}`
}

/** One message for each fault: the field, what is allowed, what was found. */
const faultsIn = (value: unknown, json: Json, issues: ReadonlyArray<ParseResult.ArrayFormatterIssue>) => {
  const found = new Map<string, FieldError>()
  for (const issue of issues) {
    // The other half of an optional property; the informative issue came before.
    if (issue.message.startsWith("Expected undefined")) continue
    const { path, schema } =
      issue._tag === "Unexpected" || issue._tag === "Missing"
        ? { path: issue.path, schema: json }
        : schemaAt(json, issue.path)
    const name = pathText(path)
    if (found.has(name)) continue
    const message =
      issue._tag === "Missing"
        ? `${name} is required`
        : issue._tag === "Unexpected"
          ? unexpected(json, path)
          : /^(Expected|Unable to decode) /.test(issue.message)
            ? `${name === "" ? "arguments" : name} must be ${allowed(schema)}, got ${show(valueAt(value, path))}`
            : issue.message.startsWith(`${String(path.at(-1))} `)
              ? `${name}${issue.message.slice(String(path.at(-1)).length)}`
              : `${name}: ${issue.message}${issue.message.includes(", got ") ? "" : `, got ${show(valueAt(value, path))}`}`
    found.set(name, { path: name, message })
    if (found.size === limits.errors) break
  }
  return [...found.values()]
}

/** Reports a list with too many items before decoding, which would check each of them. */
const tooLong = (value: unknown, json: Json): ReadonlyArray<FieldError> =>
  Object.entries(value ?? {}).flatMap(([name, inner]) => {
    const { schema } = schemaAt(json, [name])
    const maxItems = schema["maxItems"]
    return Array.isArray(inner) && typeof maxItems === "number" && inner.length > maxItems
      ? [{ path: name, message: `${name} must be ${allowed(schema)}, got ${show(inner)}` }]
      : []
  })

/** Decodes arguments, or fails with -32602 and all their faults. */
export const decoder = <A, I>(schema: Schema.Schema<A, I>, json: Json) => {
  const decode = Schema.decodeUnknown(schema, { errors: "all", onExcessProperty: "error" })
  return (value: unknown): Effect.Effect<A, RpcError> => {
    const given = isObject(value) ? withoutNulls(value) : value
    const long = tooLong(given, json)
    if (long.length > 0) return invalidParams(long)
    return Effect.mapError(decode(given), (error) =>
      invalidParams(faultsIn(given, json, ParseResult.ArrayFormatter.formatErrorSync(error)))
    )
  }
}

/** The context of a tool call. */
export interface Call {
  /** Reports progress to the client, if it asked for that. */
  readonly progress: (done: number, total: number | undefined, message: string) => Effect.Effect<void>
}

/** What the tools use of an open index. */
export type Needs = Embedders | FileIndexer | Graph | Indexer | Prompt | Search | Store | Tokenizer

/** Settings fixed at the server's start. */
export interface Settings {
  readonly version: string
  readonly readOnly: boolean
  /** Folders whose files the tools may index and forget. */
  readonly writePaths: ReadonlyArray<string>
  /** Passages that `search` returns by default. */
  readonly topK: number
  /** Names of the tools served. */
  readonly tools: ReadonlyArray<string>
  /** A description of the index. */
  readonly overview: Overview
}

export interface Tool {
  readonly name: string
  readonly writes: boolean
  readonly listed: (settings: Settings) => Listed
  /** Checks the arguments, and returns the effect that does the work. */
  readonly call: (
    args: unknown,
    settings: Settings,
    call: Call
  ) => Effect.Effect<Effect.Effect<CallToolResult, unknown, Needs>, RpcError>
}

export interface Answer<O> {
  readonly structured: O
  /** Text for the model, one block each. */
  readonly text: ReadonlyArray<string>
}

interface Definition<A, I, O, OI, E> {
  readonly name: string
  readonly title: string
  readonly description: (settings: Settings) => string
  readonly input: Schema.Schema<A, I>
  readonly output: Schema.Schema<O, OI>
  readonly defaults?: (settings: Settings) => Readonly<Record<string, unknown>>
  /** Arguments that are taken but not listed: few callers need them. */
  readonly unlisted?: ReadonlyArray<string>
  /** Whether an answer may be long; clients cut those of other tools. */
  readonly long?: boolean
  readonly writes?: boolean
  readonly run: (args: A, settings: Settings, call: Call) => Effect.Effect<Answer<O>, E | RpcError, Needs>
}

/** The most that Claude Code takes of an answer before it puts it into a file; `max_tokens` is the limit. */
const mostCharacters = 500_000

/** A tool whose JSON Schemas and checks come from the same two Schemas. */
export const make = <A, I, O, OI, E>(definition: Definition<A, I, O, OI, E>): Tool => {
  const {
    defaults,
    description,
    input,
    long = false,
    name,
    output,
    run,
    title,
    unlisted = [],
    writes = false
  } = definition
  const inputJson = (settings: Settings) => {
    const { properties = {}, ...json } = brief(toJsonSchema(input, defaults?.(settings))) as Json
    const listed = Object.entries(properties as Json).filter(([argument]) => !unlisted.includes(argument))
    return { ...json, properties: Object.fromEntries(listed) }
  }
  const decode = decoder(input, toJsonSchema(input))
  const encode = Schema.encode(output)
  return {
    name,
    writes,
    listed: (settings) =>
      ({
        name,
        title,
        description: description(settings),
        inputSchema: inputJson(settings),
        // Models read the answer itself, and clients pay for each field in every conversation.
        outputSchema: { type: "object" },
        annotations: {
          readOnlyHint: !writes,
          // Indexing an existing source replaces it; a repetition changes nothing more.
          ...(writes ? { destructiveHint: true, idempotentHint: true } : {}),
          openWorldHint: false
        },
        ...(long ? { _meta: { "anthropic/maxResultSizeChars": mostCharacters } } : {})
      }) as unknown as Listed,
    call: (args, settings, call) =>
      Effect.map(decode(args ?? {}), (decoded) =>
        Effect.gen(function* () {
          const { structured, text } = yield* run(decoded, settings, call)
          return {
            content: text.map((block) => ({ type: "text" as const, text: block })),
            structuredContent: (yield* Effect.orDie(encode(structured))) as Record<string, unknown>
          }
        })
      )
  }
}
