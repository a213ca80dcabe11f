import type { CallToolResult, Tool as Listed } from "@modelcontextprotocol/sdk/types.js"
import * as Effect from "effect/Effect"
import * as JSONSchema from "effect/JSONSchema"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import type { Embedders } from "../Embedders.ts"
import type { FileIndexer } from "../files/FileIndexer.ts"
import type { Graph } from "../Graph.ts"
import type { Indexer } from "../Indexer.ts"
import { isObject } from "../model/kinds.ts"
import type { Tokenizer } from "../packaged/Tokenizer.ts"
import type { Prompt } from "../Prompt.ts"
import type { Search } from "../Search.ts"
import type { Store } from "../Store.ts"
import { didYouMean } from "../terms/nearest.ts"
import { fromIssues } from "../api/errors.ts"
import { withoutNulls } from "./Message.ts"
import type { Overview } from "./overview.ts"
import { invalidParams, refuse, type RpcError } from "./RpcError.ts"

type Json = Readonly<Record<string, unknown>>

/**
 * What no model needs, and every conversation would pay for: titles that only name a check, like `between(1, 100)`, ids,
 * generated names; bounds that nobody meets by chance, and that nothing else is taken, which is told where it matters.
 */
const isNoise = (key: string, value: unknown): boolean =>
  ["$id", "$schema", "pattern", "minLength", "maxLength", "minItems", "additionalProperties"].includes(key) ||
  (key === "required" && Array.isArray(value) && value.length === 0) ||
  (key === "not" && JSON.stringify(value) === '{"enum":[".",".."]}') ||
  (key === "title" && typeof value === "string" && /^(int|finite|unknown|nonEmptyString|\w+\(.*\))$/.test(value)) ||
  (key === "minimum" && (value as number) <= 1) ||
  (key === "maximum" && (value as number) > 1000)

const verbatim = new Set(["examples", "default", "enum", "const", "required"])

/** The JSON Schema of the wire format, as it is listed. References are inlined, since many clients follow none. */
const toJsonSchema = (schema: Schema.Schema.All): Json => {
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
  return writeOut(root) as Json
}

/** Most items of a list among the arguments; they are counted before each of them is checked. */
export const mostItems = 100

/** Decodes arguments, or fails with -32602 and all their faults, in the words of the HTTP interface. */
export const decoder = <A, I>(schema: Schema.Schema<A, I>) => {
  const decode = Schema.decodeUnknown(schema, { errors: "all", onExcessProperty: "error" })
  return (value: unknown): Effect.Effect<A, RpcError> => {
    const given = isObject(value) ? withoutNulls(value) : value
    for (const [name, inner] of Object.entries(given ?? {})) {
      if (Array.isArray(inner) && inner.length > mostItems) {
        return refuse(name, `${name} must be a list of at most ${mostItems} items, got ${inner.length} items`)
      }
    }
    return Effect.mapError(decode(given), (error) => {
      const { errors, message } = fromIssues(ParseResult.ArrayFormatter.formatErrorSync(error), didYouMean)
      return invalidParams(errors, message)
    })
  }
}

/** The context of a tool call. */
export interface Call {
  /** Reports progress to the client, if it asked for that. */
  readonly progress: (done: number, total: number | undefined, message: string) => Effect.Effect<void>
}

/** What the tools use of an open index. */
export type Needs = Embedders | FileIndexer | Graph | Indexer | Prompt | Search | Store | Tokenizer

/** Settings of the configuration, read at first use. */
export interface Configured {
  /** Passages that `search` returns by default. */
  readonly topK: number
  readonly readOnly: boolean
  /** Folders whose files the tools may index and forget. */
  readonly writePaths: ReadonlyArray<string>
}

/** Settings fixed at the server's start. */
export interface Settings extends Configured {
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
  /** JSON, but for fields that are undefined; its `notice` says how to read it, and what to do next. */
  readonly structured: O
  /** Text for the model, one block each. */
  readonly text: ReadonlyArray<string>
}

interface Definition<A, I, E> {
  readonly name: string
  readonly title: string
  readonly description: (settings: Settings) => string
  readonly input: Schema.Schema<A, I>
  readonly defaults?: (settings: Settings) => Readonly<Record<string, unknown>>
  /** Arguments that are taken but not listed: few callers need them. */
  readonly unlisted?: ReadonlyArray<string>
  /** Whether an answer may be long; clients cut those of other tools. */
  readonly long?: boolean
  readonly writes?: boolean
  readonly run: (args: A, settings: Settings, call: Call) => Effect.Effect<Answer<object>, E | RpcError, Needs>
}

/** The most that Claude Code takes of an answer before it puts it into a file; `max_tokens` is the limit. */
const mostCharacters = 500_000

/** A tool whose JSON Schema and checks come from the same Schema. */
export const make = <A, I, E>(definition: Definition<A, I, E>): Tool => {
  const { defaults, description, input, long = false, name, run, title, unlisted = [], writes = false } = definition
  const inputJson = (settings: Settings) => {
    const { properties = {}, ...json } = toJsonSchema(input)
    const usual = defaults?.(settings) ?? {}
    const listed = Object.entries(properties as Readonly<Record<string, Json>>)
      .filter(([argument]) => !unlisted.includes(argument))
      .map(([argument, own]) => [argument, argument in usual ? { ...own, default: usual[argument] } : own])
    return { ...json, properties: Object.fromEntries(listed) }
  }
  const decode = decoder(input)
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
        Effect.map(run(decoded, settings, call), ({ structured, text }) => ({
          content: text.map((block) => ({ type: "text" as const, text: block })),
          structuredContent: { ...structured }
        }))
      )
  }
}
