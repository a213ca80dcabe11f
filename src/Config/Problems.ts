import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { nearest as nearestOf } from "../terms/nearest.ts"
import { type Key, keys, sections, findKey, type KeyPath } from "./Settings.ts"
import { keyVariables, settable } from "./Env.ts"
import { describeOrigin, isTable, type Tree } from "./Tree.ts"

/** One mistake: where it is, and how to fix it. */
export const ConfigProblem = Schema.Struct({
  /** A file, an environment variable or a flag. */
  where: Schema.String,
  /** The key as in TOML, with its section. */
  key: Schema.optional(Schema.String),
  /** What is wrong, and how to fix it, in one sentence. */
  detail: Schema.String
})
export type ConfigProblem = typeof ConfigProblem.Type

/** The configuration cannot be used; every problem is listed, not only the first. */
export class ConfigError extends Schema.TaggedError<ConfigError>()("ConfigError", {
  problems: Schema.NonEmptyArray(ConfigProblem)
}) {
  override get message() {
    return this.problems.map(({ detail, where }) => `${where}: ${detail}`).join("\n")
  }
}

/** What an unknown key of a section, or without one, most likely means: in its own section first, then anywhere. */
const nearestKeys = (section: string | undefined, name: string): ReadonlyArray<string> => {
  const among = (some: ReadonlyArray<Key>) =>
    nearestOf(name, [...new Set(some.map((key) => key.name))]).flatMap((near) =>
      some.flatMap((key) => (key.name === near ? [key.path] : []))
    )
  const here = among(keys.filter((key) => key.section === section))
  return here.length > 0 ? here : among(keys).slice(0, 3)
}

const nearestVariables = (variable: string): ReadonlyArray<string> => {
  const short = (variable: string) => variable.replace(/^CLEW_/, "")
  const byShort = new Map(settable.map((variable) => [short(variable), variable]))
  return nearestOf(short(variable), [...byShort.keys()]).map((name) => byShort.get(name) ?? name)
}

/** A value as it would be written in TOML, shortened, without what may be a password or a token in an address. */
const show = (value: unknown): string => {
  if (value instanceof Date) return value.toISOString()
  if (isTable(value)) {
    const inner = Object.entries(value).map(([key, each]) => `${key} = ${show(each)}`)
    return inner.length === 0 ? "a table" : `{ ${inner.join(", ")} }`
  }
  const text =
    typeof value === "number" || typeof value === "bigint" ? String(value) : JSON.stringify(value, showBigint)
  const masked = text.replace(/\/\/[^"\s]*/g, (address) => {
    const [place = "", sign = ""] = address.split(/([?#])/, 2)
    const host = place.slice(place.lastIndexOf("@") + 1)
    // Not of a query in a password or a password in a query.
    if (address.lastIndexOf("@") >= place.length) return "//…"
    return `${host === place ? "" : "//…@"}${host}${sign && `${sign}…`}`
  })
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
  const [section = ""] = path
  return Object.hasOwn(keyVariables, section)
    ? keyVariables[section as keyof typeof keyVariables]
    : keyVariables.service
}

const unknownKey = (where: string, path: ReadonlyArray<string>, isSection: boolean): ConfigProblem => {
  const key = path.join(".")
  const [first = "", second] = path
  const secret = secretVariable(path)
  if (secret !== undefined) {
    return { where, key, detail: `${key}: keys are not read from a file; set the environment variable ${secret}` }
  }
  if (isSection) {
    const nearest = nearestOf(first, sections)
    const hint =
      nearest.length > 0 ? `did you mean [${nearest.join("] or [")}]?` : `the sections are ${sections.join(", ")}`
    return { where, key, detail: `unknown section [${key}]; ${hint}` }
  }
  const section = second === undefined ? undefined : first
  const nearest = nearestKeys(section, second ?? first)
  const allowed = keys.flatMap((known) => (known.section === section ? [known.name] : [])).join(", ")
  const place = section === undefined ? "the keys outside a section are" : `[${section}] has`
  const hint = nearest.length > 0 ? `did you mean ${either(nearest)}?` : `${place} ${allowed}`
  return { where, key, detail: `unknown key ${key}; ${hint}` }
}

export const unknownVariable = (variable: string): ConfigProblem => {
  const nearest = nearestVariables(variable)
  const hint =
    nearest.length > 0
      ? `did you mean ${either(nearest)}?`
      : "a key is set by CLEW_<SECTION>_<KEY>, like CLEW_PIPELINE_CHUNK_SIZE"
  return { where: `environment variable ${variable}`, detail: `unknown; ${hint}` }
}

/** Keys that say where documents are sent, and who may read them. */
export const entrustedKeys: ReadonlyArray<KeyPath> = [
  "embedding.url",
  "embedding.headers",
  "llm.url",
  "llm.headers",
  "rerank.url",
  "rerank.headers",
  "telemetry.otlp_endpoint",
  "store.url",
  "store.urls",
  "store.ca",
  "server.keys",
  "server.oauth_issuer",
  "server.oauth_audience"
]

/**
 * Keys with places whose files are indexed, by Clew or by agents, so that whoever asks may read them; and of files that Clew
 * writes, with the ending that they may have elsewhere.
 */
export const ownPlaces: ReadonlyArray<readonly [key: KeyPath, ending?: string]> = [
  ["watch.paths"],
  ["server.write_paths"],
  ["store.path", ".db"],
  ["store.judgements", ".jsonl"]
]

/** The rest of a sentence about what a file may not set, and the way out. */
const onlyFound = (file: string, what: string): string =>
  `a file that was only found in the working directory may not ${what}; if you trust it, name it: --config ${file}`

/** Someone else's folder must not have files from elsewhere indexed, or written. */
export const untrustedPlace = (file: string, key: KeyPath, place: string, ending?: string): ConfigProblem => ({
  where: file,
  key,
  detail:
    `${key} has ${show(place)}; ` +
    onlyFound(
      file,
      `name a place outside of its folder there${ending === undefined ? "" : ` that does not end in ${ending}`}`
    )
})

/** Someone else's folder must not redirect documents, or let anybody in. */
export const untrustedAddress = (file: string, key: KeyPath): ConfigProblem => ({
  where: file,
  key,
  detail:
    `${key} ${key.startsWith("server.") ? "lets others in" : key.endsWith(".headers") ? "is sent to other servers" : "is an address"}; ` +
    onlyFound(file, "set it")
})

const fromIssue = (tree: Tree, issue: ParseResult.ArrayFormatterIssue): ConfigProblem => {
  const path = issue.path.slice(0, 2).map(String)
  const [first = "", second] = path
  const section = tree.data[first]
  const value = second === undefined ? section : isTable(section) ? section[second] : undefined
  const key = path.join(".")
  const where = originOf(tree, key)
  const known = findKey(key)
  if (issue._tag === "Unexpected" && known === undefined) {
    return unknownKey(where, path, second === undefined && isTable(value))
  }
  if (issue._tag === "Missing") {
    const detail = "no path for the database: HOME and XDG_DATA_HOME are not set; name a file: --db FILE"
    return { where: "environment", key, detail }
  }
  const found = /^(store\.url|server\.keys|.*\.headers)$/.test(key) ? "not shown" : show(value ?? "unset")
  const allowed =
    known === undefined ? `a section, written [${key}]` : known.kind === "table" ? known.allowed : issue.message
  const detail = value === undefined ? `${key} must be ${allowed}` : `${key} is ${found}, but must be ${allowed}`
  return { where, key, detail }
}

/** Every problem that decoding found, one per key, in the order of the file. */
export const fromParseError = (tree: Tree, error: ParseResult.ParseError): ReadonlyArray<ConfigProblem> => {
  const issues = new Map<string, ParseResult.ArrayFormatterIssue>()
  for (const issue of ParseResult.ArrayFormatter.formatErrorSync(error)) {
    const key = issue.path.slice(0, 2).join(".")
    if (!issues.has(key)) issues.set(key, issue)
  }
  return Array.from(issues.values(), (issue) => fromIssue(tree, issue))
}
