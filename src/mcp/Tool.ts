import type { CallToolResult, Tool as Listed } from "@modelcontextprotocol/sdk/types.js"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { decoder } from "./decode.ts"
import type { OpenIndex } from "../OpenIndex.ts"
import { type Json, outline, toJsonSchema } from "./jsonSchema.ts"
import type { Overview } from "./overview.ts"
import type { RpcError } from "./RpcError.ts"

/** The context of a tool call. */
export interface Call {
  /** Reports progress to the client, if it asked for that. */
  readonly progress: (done: number, total: number, message: string) => Effect.Effect<void>
}

/** Settings fixed at the server's start. */
export interface Settings {
  readonly version: string
  readonly readOnly: boolean
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
  ) => Effect.Effect<Effect.Effect<CallToolResult, unknown, OpenIndex>, RpcError>
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
  readonly writes?: boolean
  readonly run: (args: A, settings: Settings, call: Call) => Effect.Effect<Answer<O>, E | RpcError, OpenIndex>
}

/** A tool whose JSON Schemas and checks come from the same two Schemas. */
export const make = <A, I, O, OI, E>(definition: Definition<A, I, O, OI, E>): Tool => {
  const { defaults, description, input, name, output, run, title, writes = false } = definition
  const inputJson = (settings: Settings): Json => toJsonSchema(input, defaults?.(settings))
  const decode = decoder(input, toJsonSchema(input))
  const encode = Schema.encode(output)
  const outlined = outline(toJsonSchema(output))
  return {
    name,
    writes,
    listed: (settings) =>
      ({
        name,
        title,
        description: description(settings),
        inputSchema: inputJson(settings),
        outputSchema: outlined,
        annotations: {
          readOnlyHint: !writes,
          // Indexing an existing source replaces it; a repetition changes nothing more.
          ...(writes ? { destructiveHint: true, idempotentHint: true } : {}),
          openWorldHint: false
        }
      }) as Listed,
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
