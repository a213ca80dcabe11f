import * as Effect from "effect/Effect"
import type { ConfigProblem } from "./ConfigError.ts"
import type { Table } from "./Tree.ts"

interface SyntaxError {
  readonly line: number
  readonly column: number
  readonly codeblock: string
  readonly message: string
}

const isSyntaxError = (error: unknown): error is SyntaxError =>
  error instanceof Error && "line" in error && "column" in error && "codeblock" in error

/** The tables of a TOML file; a syntax error names file, line and column. Integers beyond 2^53 come as bigint. */
export const parse = (file: string, bytes: Uint8Array): Effect.Effect<Table, ConfigProblem> =>
  Effect.gen(function* () {
    const text = yield* Effect.try({
      try: () => new TextDecoder("utf-8", { fatal: true }).decode(bytes),
      catch: (): ConfigProblem => ({ where: file, detail: "not valid UTF-8, which TOML requires" })
    })
    // Loaded lazily, since most runs have no file.
    const toml = yield* Effect.promise(() => import("smol-toml"))
    return yield* Effect.try({
      try: (): Table => toml.parse(text, { integersAsBigInt: "asNeeded" }),
      catch: (error): ConfigProblem => {
        if (!isSyntaxError(error)) throw error
        const what = error.message.split("\n")[0]?.replace(/^Invalid TOML document: /, "") ?? "invalid TOML"
        return { where: `${file}:${error.line}:${error.column}`, detail: `${what}\n${error.codeblock.trimEnd()}` }
      }
    })
  })
