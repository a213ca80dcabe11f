import * as Option from "effect/Option"
import * as Record from "effect/Record"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import { faultOfKeys, ServerKey } from "../model/Key.ts"

/** How a value is written where everything is text, such as in the environment. */
export type Kind = "boolean" | "number" | "text" | "list" | "table" | "tables"

interface About {
  readonly kind: Kind
  readonly allowed: string
}

const AboutId = Symbol.for("clew/Config/About")

/** Gives a schema the words that every error about it uses: what is allowed there. */
const value =
  (kind: Kind, allowed: string) =>
  <S extends Schema.Annotable.All>(schema: S): Schema.Annotable.Self<S> =>
    Schema.annotations({
      message: () => ({ message: allowed, override: true }),
      [AboutId]: { kind, allowed } satisfies About
    })(schema)

/** The words and the kind that `value` gave to a schema. */
export const about = (ast: SchemaAST.Annotated): About =>
  Option.getOrThrow(SchemaAST.getAnnotation<About>(AboutId)(ast))

export const flag = Schema.Boolean.pipe(value("boolean", "true or false"))

export const oneOf = <const L extends ReadonlyArray<string>>(...literals: L) =>
  Schema.Literal(...literals).pipe(value("text", `one of ${literals.join(", ")}`))

export const integer = (min: number, max: number) =>
  Schema.Int.pipe(Schema.between(min, max), value("number", `a whole number from ${min} to ${max}`))

export const autoOrInteger = (min: number, max: number) =>
  Schema.Union(Schema.Literal("auto"), Schema.Int.pipe(Schema.between(min, max))).pipe(
    value("number", `"auto" or a whole number from ${min} to ${max}`)
  )

export const autoOrFlag = Schema.Union(Schema.Literal("auto"), Schema.Boolean).pipe(
  value("boolean", 'true, false or "auto"')
)

export const finite = (min: number, max: number) =>
  Schema.Finite.pipe(Schema.between(min, max), value("number", `a number from ${min} to ${max}`))

export const text = Schema.String.pipe(value("text", "text"))

export const name = Schema.String.pipe(
  Schema.filter((name) => name.trim() !== "" && name === name.trim()),
  value("text", "text that is not empty and has no blanks around it")
)

/** As RFC 6749 has it (scope-token), since it stands in headers. */
export const scope = Schema.String.pipe(
  Schema.pattern(/^[\x21\x23-\x5b\x5d-\x7e]+$/),
  value("text", "one scope: ASCII without blanks, quotes and backslashes")
)

/** Paths are absolute by now; a relative one could not be resolved. */
export const path = Schema.String.pipe(
  Schema.filter((path) => path !== "" && !path.includes("\0") && !path.startsWith("~")),
  value("text", "a path (~/ is your home folder)")
)

export const paths = Schema.Array(path).pipe(value("list", 'a list of paths like ["docs", "~/notes"]'))

const isAddress = (text: string): boolean => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url !== undefined && /^https?:\/\//i.test(text) && url.username + url.password + url.search + url.hash === ""
}

export const address = Schema.String.pipe(
  Schema.filter(isAddress),
  value("text", "an address like http://127.0.0.1:11434, without user, password, ? or #")
)

const isBase = (text: string): boolean => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url !== undefined && isAddress(url.origin + url.pathname) && url.username + url.password + url.hash === ""
}

/** A server's base address; it may have a query string, which some servers need after each path. */
export const base = Schema.String.pipe(
  Schema.filter(isBase),
  value("text", "an address like http://127.0.0.1:11434, without user, password or #")
)

/** With a user, a URL needs a host; PostgreSQL's, of a socket, may have none. */
export const withHost = (url: string): string => url.replace(/^(\w+:\/\/(?:[^@/]*@)?)(?=\/)/, "$1localhost")

/** Those that the driver knows, and two of libpq's that count as `verify-full`; it takes any other for that, too. */
const sslmodes: ReadonlySet<string> = new Set([
  "disable",
  "no-verify",
  "allow",
  "prefer",
  "require",
  "verify-ca",
  "verify-full"
])

const isDatabase = (url: string): boolean => {
  if (!/^postgres(?:ql)?:\/\/\S+$/.test(url) || !URL.canParse(withHost(url))) return false
  const { host, searchParams } = new URL(withHost(url))
  // The driver would take libpq's list of hosts for the name of one.
  const isOne = ![host, ...searchParams.getAll("host")].some((given) => given.includes(","))
  return isOne && searchParams.getAll("sslmode").every((mode) => sslmodes.has(mode))
}

/** PostgreSQL's address. It may have a password, so that nothing shows it. */
export const database = Schema.Redacted(Schema.String.pipe(Schema.filter(isDatabase))).pipe(
  value(
    "text",
    "an address of one host like postgres://user:password@host:5432/database?sslmode=verify-full; in the password write %2F for /, %40 for @; sslmode is disable, no-verify, require, verify-ca or verify-full"
  )
)

export const addresses = Schema.Array(Schema.String.pipe(Schema.filter(isAddress))).pipe(
  Schema.minItems(1),
  value("list", 'a list of addresses like ["https://node1:9200", "https://node2:9200"], without user and password')
)

/** How names of OpenSearch's indexes can begin. */
export const indexPrefix = Schema.String.pipe(
  Schema.filter((name) => /^[a-z0-9][a-z0-9_-]{0,62}$/.test(name)),
  value("text", "a name of a to z, 0 to 9, - and _, at most 63 of them, that begins with a letter or digit")
)

/** A name that PostgreSQL takes without quotes. */
export const identifier = Schema.String.pipe(
  Schema.filter((name) => /^[a-z_][a-z0-9_]{0,62}$/.test(name) && !name.startsWith("pg_")),
  value("text", "a name of a to z, 0 to 9 and _, at most 63 of them, that does not begin with a digit or pg_")
)

const header = /^([!#$%&'*+.^_`|~\w-]+):([\t\x20-\x7e]*)$/
/** Headers that Clew sets itself to send a request. */
const ownHeaders = new Set(["host", "connection", "content-length", "content-type", "transfer-encoding"])

const isHeader = (line: string): boolean => {
  const name = header.exec(line)?.[1]
  return name !== undefined && !ownHeaders.has(name.toLowerCase())
}

/** Header lines, decoded to a record by name. */
export const headers = Schema.transform(
  Schema.Array(Schema.String.pipe(Schema.filter(isHeader))),
  Schema.Record({ key: Schema.String, value: Schema.String }),
  {
    strict: true,
    decode: (lines) =>
      Object.fromEntries(lines.map((line) => header.exec(line)!).map(([, name, text]) => [name!, text!.trim()])),
    encode: (record) => Object.entries(record).map(([name, text]) => `${name}: ${text}`)
  }
).pipe(
  value("list", 'a list of headers like "api-key: secret", but not host, content-type and others of the request itself')
)

export const texts = Schema.Array(Schema.String.pipe(Schema.filter((text) => text !== ""))).pipe(
  value("list", 'a list of texts like ["END"]')
)

/** A duration in Ollama's notation. */
export const duration = Schema.String.pipe(
  Schema.filter((text) => /^-?\d{1,9}(?:\.\d{1,9})?(?:ms|s|m|h)?$/.test(text)),
  value("text", 'a time like "5m", "-1" for always, or "0" for not at all')
)

export const flagOrLevel = Schema.Union(Schema.Boolean, Schema.Literal("low", "medium", "high")).pipe(
  value("boolean", 'true, false, "low", "medium" or "high"')
)

/** Fades the scores of documents with their age, which a key of their metadata tells. */
export const recency = Schema.Struct({
  key: Schema.String.pipe(Schema.filter((key) => key.trim() !== "")),
  halfLifeDays: Schema.Finite.pipe(
    Schema.between(0.01, 100_000),
    Schema.propertySignature,
    Schema.fromKey("half_life_days")
  )
}).pipe(value("table", 'a table like { key = "date", half_life_days = 90 }, of 0.01 to 100000 days'))

const keysAllowed =
  "tables [[server.keys]] with name, hash, rights and perhaps collections, as `clew keys new` prints them"

/** The keys of the server; what is wrong with one is said of it. */
export const serverKeys = Schema.Array(ServerKey).pipe(
  Schema.filter((keys) => faultOfKeys(keys) === undefined),
  value("tables", keysAllowed),
  Schema.annotations({
    message: ({ actual }) => ({
      message: Array.isArray(actual) ? `${keysAllowed}; ${faultOfKeys(actual) ?? "these are not"}` : keysAllowed,
      override: true
    })
  })
)

const isOrigin = (text: string): boolean =>
  text === "*" || (isAddress(text) && new URL(text).origin.toLowerCase() === text.toLowerCase())

export const origins = Schema.Array(Schema.String.pipe(Schema.filter(isOrigin))).pipe(
  value("list", 'a list of origins like "https://example.org" (scheme, host, port; no path), or ["*"] for any')
)

/** A key with its description and default. */
export const key = <A, I>(schema: Schema.Schema<A, I>, fallback: NoInfer<A>, description: string) =>
  Schema.optionalWith(schema.annotations({ description }), { exact: true, default: () => fallback })

/** A key without a default; the description says what happens while it is unset. */
export const optionalKey = <A, I>(schema: Schema.Schema<A, I>, description: string) =>
  Schema.optionalWith(schema.annotations({ description }), { exact: true })

/** A key that is always given, because its default depends on the machine. */
export const givenKey = <A, I>(schema: Schema.Schema<A, I>, description: string) =>
  Schema.propertySignature(schema.annotations({ description }))

/** A name as TOML has it. */
type Snake<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Snake<Rest>}`
  : ""

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

type Keyed<Fields> = {
  [Name in keyof Fields & string]: Fields[Name] extends Schema.PropertySignature<
    infer Token,
    infer A,
    PropertyKey,
    infer EncodedToken,
    infer I,
    infer HasDefault,
    infer R
  >
    ? Schema.PropertySignature<Token, A, Snake<Name>, EncodedToken, I, HasDefault, R>
    : never
}

/** A table of keys, whose names in TOML are theirs in snake case. */
export const table = <Fields extends Record<string, Schema.PropertySignature.All>>(
  fields: Fields
): Schema.Struct<Keyed<Fields>> =>
  Schema.Struct(Record.map(fields, (field, name) => Schema.fromKey(field as never, snake(name)))) as never
