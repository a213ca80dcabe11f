import * as Option from "effect/Option"
import * as Record from "effect/Record"
import * as Redacted from "effect/Redacted"
import { type Key, keys } from "./Settings.ts"
import { attempt } from "../model/attempt.ts"
import { decimal } from "../model/fields.ts"

export type Env = Readonly<Record<string, string | undefined>>

/** Secrets that are never in a file: the key that HTTP clients must send, and what other people's servers ask for. */
export const keyVariables = {
  service: "SERVICE_API_KEY",
  embedding: "CLEW_EMBEDDING_API_KEY",
  llm: "CLEW_LLM_API_KEY",
  rerank: "CLEW_RERANK_API_KEY",
  store: "CLEW_STORE_PASSWORD"
} as const

/** Further variables that are read, except those that set a key of the configuration (`Key.variable`). */
export const variables = {
  /** Names the configuration file. */
  config: "CLEW_CONFIG",
  configHome: "XDG_CONFIG_HOME",
  dataHome: "XDG_DATA_HOME",
  home: "HOME",
  /** `HOME` on Windows. */
  userProfile: "USERPROFILE"
} as const

const prefix = "CLEW_"
const byVariable = new Map(keys.map((key) => [key.variable, key]))
const others = new Set<string>([...Object.values(variables), ...Object.values(keyVariables)])

/** Every variable that a misspelt one may have meant. */
export const settable: ReadonlyArray<string> = [...byVariable.keys(), variables.config, ...Object.values(keyVariables)]

/** The value of a variable; an empty one counts as unset. */
export const present = (env: Env, variable: string): string | undefined => env[variable] || undefined

export const home = (env: Env): string | undefined =>
  present(env, variables.home) ?? present(env, variables.userProfile)

interface EnvValue {
  readonly key: Key
  readonly value: unknown
}

/** The keys that the environment sets, and the unknown `CLEW_` variables. */
export const read = (
  env: Env
): { readonly values: ReadonlyArray<EnvValue>; readonly unknown: ReadonlyArray<string> } => {
  const values: Array<EnvValue> = []
  const unknown: Array<string> = []
  for (const [variable, value] of Object.entries(env)) {
    if (value === undefined || !variable.startsWith(prefix) || others.has(variable)) continue
    const key = byVariable.get(variable)
    if (key === undefined) unknown.push(variable)
    else values.push({ key, value: fromText(key, value) })
  }
  return { values, unknown: unknown.toSorted() }
}

const booleans: Readonly<Record<string, boolean>> = { true: true, "1": true, false: false, "0": false }

const pair = /^([\w-]{1,40}) ?= ?(?:"([^"]*)"|([^"=]+))$/

/** `name = value` with commas between; braces, and quotes around texts, may be left out. */
const tableFrom = (value: string): unknown => {
  const inner = value.replace(/[\t ]+/g, " ").trim()
  const pairs = (inner.startsWith("{") && inner.endsWith("}") ? inner.slice(1, -1) : inner)
    .split(",")
    .map((part) => pair.exec(part.trim()))
  return pairs.some((found) => found === null)
    ? value
    : Object.fromEntries(
        pairs.map((found) => {
          const [, name = "", quoted, bare = ""] = found!
          return [name, quoted ?? (decimal.test(bare.trim()) ? Number(bare) : bare.trim())]
        })
      )
}

/** Text converted to the key's kind of value; other text stays as it is, so that decoding reports it. */
const fromText = ({ kind }: Key, value: string): unknown => {
  switch (kind) {
    case "boolean":
      return booleans[value.trim().toLowerCase()] ?? value
    case "number":
      return decimal.test(value.trim()) ? Number(value) : value
    case "list":
      return value
        .split(",")
        .map((item) => item.trim())
        .filter((item) => item !== "")
    case "table":
      return tableFrom(value)
    case "tables":
      return attempt(() => JSON.parse(value) as unknown) ?? value
    case "text":
      return value
  }
}

export type ApiKeys = { readonly [K in keyof typeof keyVariables]: Option.Option<Redacted.Redacted> }

const keysFrom = (valueOf: (variable: string) => string | undefined): ApiKeys =>
  Record.map(keyVariables, (variable) => Option.map(Option.fromNullable(valueOf(variable)), Redacted.make))

/** The server's key as it is set, even if empty: only the server may refuse that. */
export const apiKeys = (env: Env): ApiKeys => ({
  ...keysFrom((variable) => present(env, variable)),
  service: keysFrom((variable) => env[variable]).service
})

export const noApiKeys = keysFrom(() => undefined)
