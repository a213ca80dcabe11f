import * as Effect from "effect/Effect"
import * as ParseResult from "effect/ParseResult"
import type { ConfigProblem } from "./ConfigError.ts"
import { variables } from "./Env.ts"
import { findKey, keys, sections } from "./Keys.ts"
import { nearestKeys, nearestSections, nearestVariables } from "./nearestKeys.ts"
import type { KeyPath } from "./Settings.ts"
import { describeOrigin, isTable, type Tree } from "./Tree.ts"

/** A value as it would be written in TOML, shortened, without a password it may contain. */
const show = (value: unknown): string => {
  if (value instanceof Date) return value.toISOString()
  if (isTable(value)) {
    const inner = Object.entries(value).map(([key, each]) => `${key} = ${show(each)}`)
    return inner.length === 0 ? "a table" : `{ ${inner.join(", ")} }`
  }
  const text =
    typeof value === "number" || typeof value === "bigint" ? String(value) : JSON.stringify(value, showBigint)
  const masked = text.replace(/\/\/[^/@\s]*@/g, "//…@")
  return masked.length > 80 ? `${masked.slice(0, 79)}…` : masked
}

const showBigint = (_: string, value: unknown): unknown => (typeof value === "bigint" ? String(value) : value)

const either = (names: ReadonlyArray<string>): string => names.join(" or ")

const originOf = (tree: Tree, path: string): string => {
  const section = path.split(".")[0] ?? path
  // A default can only be wrong in combination with a key that was set, so point at that key.
  const origin =
    tree.origins.get(path) ??
    [...tree.origins].find(([other, { kind }]) => other.startsWith(`${section}.`) && kind !== "default")?.[1]
  return origin === undefined ? "defaults" : describeOrigin(origin)
}

/** The variable for a secret that somebody put into a file. */
const secretVariable = (path: ReadonlyArray<string>): string | undefined => {
  if (!/^(.*_)?(api_?key|secret|password)$|^token$/i.test(path.at(-1) ?? "")) return undefined
  return path[0] === "embedding"
    ? variables.embeddingApiKey
    : path[0] === "llm"
      ? variables.llmApiKey
      : path[0] === "rerank"
        ? variables.rerankApiKey
        : variables.serviceApiKey
}

const unknownKey = (where: string, path: ReadonlyArray<string>, isSection: boolean): Effect.Effect<ConfigProblem> =>
  Effect.sync(() => {
    const key = path.join(".")
    const [first = "", second] = path
    const secret = secretVariable(path)
    if (secret !== undefined) {
      return { where, key, detail: `${key}: keys are not read from a file; set the environment variable ${secret}` }
    }
    if (isSection) {
      const nearest = nearestSections(first)
      const allowed = sections.join(", ")
      const hint = nearest.length > 0 ? `did you mean [${nearest.join("] or [")}]?` : `the sections are ${allowed}`
      return { where, key, allowed, nearest, detail: `unknown section [${key}]; ${hint}` }
    }
    const nearest = second === undefined ? nearestKeys(undefined, first) : nearestKeys(first, second)
    const siblings = keys.filter((known) => known.section === (second === undefined ? undefined : first))
    const allowed = siblings.map((known) => known.name).join(", ")
    const place = second === undefined ? "the keys outside a section are" : `[${first}] has`
    const hint = nearest.length > 0 ? `did you mean ${either(nearest)}?` : `${place} ${allowed}`
    return { where, key, allowed, nearest, detail: `unknown key ${key}; ${hint}` }
  })

export const unknownVariable = (variable: string): Effect.Effect<ConfigProblem> =>
  Effect.sync(() => {
    const nearest = nearestVariables(variable)
    return {
      where: `environment variable ${variable}`,
      nearest,
      detail:
        nearest.length > 0
          ? `unknown; did you mean ${either(nearest)}?`
          : "unknown; a key is set by CLEW_<SECTION>_<KEY>, like CLEW_PIPELINE_CHUNK_SIZE"
    }
  })

/** Keys that say where documents are sent. */
export const addressKeys: ReadonlyArray<KeyPath> = [
  "embedding.url",
  "embedding.headers",
  "llm.url",
  "llm.headers",
  "rerank.url",
  "rerank.headers",
  "telemetry.otlp_endpoint"
]

/** Someone else's folder must not redirect documents. */
export const untrustedAddress = (file: string, key: KeyPath): ConfigProblem => ({
  where: file,
  key,
  detail:
    `${key} is ${key.endsWith(".headers") ? "sent to other servers" : "an address"}; a file that was only found in the working directory may not set it; ` +
    `if you trust it, name it: --config ${file}`
})

const fromIssue = (tree: Tree, issue: ParseResult.ArrayFormatterIssue): Effect.Effect<ConfigProblem> => {
  const path = issue.path.slice(0, 2).map(String)
  const [first = "", second] = path
  const section = tree.data[first]
  const value = second === undefined ? section : isTable(section) ? section[second] : undefined
  const key = path.join(".")
  const where = originOf(tree, key)
  if (issue._tag === "Unexpected" && findKey(key) === undefined)
    return unknownKey(where, path, second === undefined && isTable(value))
  if (issue._tag === "Missing") {
    const detail = "no path for the database: HOME and XDG_DATA_HOME are not set; name a file: --db FILE"
    return Effect.succeed({ where: "environment", key, detail })
  }
  const found = show(value ?? "unset")
  const known = findKey(key)
  const allowed =
    known === undefined ? `a section, written [${key}]` : known.kind === "table" ? known.allowed : issue.message
  const detail = value === undefined ? `${key} must be ${allowed}` : `${key} is ${found}, but must be ${allowed}`
  return Effect.succeed({ where, key, found, allowed, detail })
}

/** Every problem that decoding found, one per key, in the order of the file. */
export const fromParseError = (
  tree: Tree,
  error: ParseResult.ParseError
): Effect.Effect<ReadonlyArray<ConfigProblem>> => {
  const issues = new Map<string, ParseResult.ArrayFormatterIssue>()
  for (const issue of ParseResult.ArrayFormatter.formatErrorSync(error)) {
    const key = issue.path.slice(0, 2).join(".")
    if (!issues.has(key)) issues.set(key, issue)
  }
  return Effect.forEach(issues.values(), (issue) => fromIssue(tree, issue))
}
