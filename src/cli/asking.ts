import * as Cli from "./command.ts"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as path from "node:path"
import { decimal } from "../model/fields.ts"
import { type Comparison, type Condition, Filter, type Operators, type Scalar } from "../model/Filter.ts"
import { changedNumber, isObject, pathText } from "../model/kinds.ts"
import type { Found } from "../model/SearchResult.ts"
import { asRead, besides, outdated, shortfall, weakOnly } from "../citations/remarks.ts"
import { limits } from "../model/Limits.ts"
import { Fusion, QueryText, type SearchRequest } from "../model/Query.ts"
import * as options from "./flags.ts"
import { Place } from "./engine.ts"
import { exitCode, stop, usage } from "./exit.ts"
import { Terminal } from "./terminal.ts"

const bounds = { ">=": "gte", "<=": "lte", ">": "gt", "<": "lt" } as const

const shape = /^([^=<>!]+)(>=|<=|!=|=|>|<)(.*)$/s

/** The values that a word may mean: a number or a boolean also matches as text, since metadata may hold either. */
const meanings = (word: string): ReadonlyArray<Scalar> =>
  decimal.test(word) && changedNumber(word) === undefined
    ? [Number(word), word]
    : word === "true" || word === "false"
      ? [word === "true", word]
      : [word]

/** A relative path also matches below the working directory, since files are stored with absolute paths. */
const sources = (cwd: string, word: string): ReadonlyArray<string> =>
  path.isAbsolute(word) ? [word] : [word, path.resolve(cwd, word)]

const quotedValue = Schema.decodeUnknownOption(
  Schema.parseJson(
    Schema.Union(Schema.String, Schema.Array(Schema.Union(Schema.String, Schema.Finite, Schema.Boolean)))
  )
)
const json = Schema.decodeUnknownOption(Schema.parseJson())

const values = (cwd: string, key: string, text: string): Comparison => {
  const quoted = /^["[]/.test(text) ? quotedValue(text) : Option.none()
  if (Option.isSome(quoted)) return quoted.value
  const words = text.split(",").map((word) => word.trim())
  const any = words.flatMap((word): ReadonlyArray<Scalar> => (key === "source" ? sources(cwd, word) : meanings(word)))
  return any.length === 1 ? (any[0] as Scalar) : any
}

const how =
  "write KEY=VALUE, KEY=A,B for A or B, KEY!=VALUE, KEY>=VALUE (also <= > <), KEY exists, KEY not exists, " +
  "several of these joined by ' or ', or a filter in JSON"

interface Part {
  readonly key: string
  readonly condition: Condition
}

const partOf = (text: string, cwd: string): Part | undefined => {
  const [, rawKey = "", operator = "", rest = ""] = shape.exec(text) ?? []
  const key = rawKey.trim()
  // Programmers write `==`; a value that begins with = can be quoted.
  const value = (operator === "=" ? rest.replace(/^=/, "") : rest).trim()
  if (operator !== "") {
    if (key === "" || value === "") return undefined
    if (operator === "=") return { key, condition: values(cwd, key, value) }
    if (operator === "!=") return { key, condition: { not: values(cwd, key, value) } }
    const bound = decimal.test(value) ? Number(value) : value
    return { key, condition: { [bounds[operator as keyof typeof bounds]]: bound } }
  }
  const words = text.trim().split(/\s+/)
  if (words.pop() !== "exists") return undefined
  const exists = words.at(-1) !== "not" || words.length === 1
  if (!exists) words.pop()
  return words.length === 0 ? undefined : { key: words.join(" "), condition: { exists } }
}

/** The value as it is written, behind the operator. */
const valueIn = (text: string): string => (shape.exec(text)?.[3] ?? "").replace(/^=/, "").trim()

/** Whether the value is quoted as JSON, whatever words it holds. */
const isQuoted = (text: string): boolean => Option.isSome(quotedValue(valueIn(text)))

/** The alternatives joined by ` or `; a piece that is not a condition, or within a quote, belongs to the value before it. */
const alternatives = (text: string, cwd: string): ReadonlyArray<string> => {
  // Every other piece is what joins its neighbours.
  const [first = "", ...pieces] = text.split(/( (?:or|OR|\|\|) )/)
  const texts = [first]
  for (let i = 0; i + 1 < pieces.length; i += 2) {
    const before = texts.at(-1)!
    const piece = pieces[i + 1]!
    const isOpen = /^["[]/.test(valueIn(before)) && !isQuoted(before)
    if (!isOpen && partOf(piece, cwd) !== undefined) texts.push(piece)
    else texts.push(`${texts.pop()!}${pieces[i]!}${piece}`)
  }
  return texts
}

/** Whether it reads as several conditions that must all hold. */
const isConjunction = (text: string, cwd: string): boolean => {
  const [, ...others] = isQuoted(text) ? [] : text.split(/ (?:and|AND|&&) /)
  return others.some((other) => partOf(other, cwd) !== undefined)
}

/** Metadata may have a key of any name, so the object must have no prototype. */
const filterOf = (entries: Iterable<readonly [string, Filter[string]]>): Filter => Object.fromEntries(entries) as Filter

/**
 * A filter from `--filter` values: `key=value`, `key=a,b` for any of them, `key!=value`, `key>=value` and the like,
 * `key exists`, several bounds of one key together, alternatives joined by ` or `, or a filter as JSON. A value quoted as
 * JSON is taken literally: `year="2020"`, `tags=["a, b"]`.
 */
export const parseFilter = (texts: ReadonlyArray<string>, cwd: string): Either.Either<Filter, string> => {
  const filter = new Map<string, Condition>()
  const whole: Array<unknown> = []
  for (const text of texts) {
    const wrong = (message: string) => Either.left(`--filter ${JSON.stringify(text)}: ${message}`)
    if (text.trim().startsWith("{")) {
      const changed = changedNumber(text)
      if (changed !== undefined) return wrong(`${changed} would change, being beyond 2^53; write it as a string`)
      const parsed = json(text)
      if (Option.isNone(parsed) || !isObject(parsed.value)) return wrong("this is not a JSON object")
      whole.push(parsed.value)
      continue
    }
    const each = alternatives(text, cwd)
    if (each.some((one) => isConjunction(one, cwd))) {
      return wrong("for conditions that must all hold, repeat --filter")
    }
    const parts = each.flatMap((one) => partOf(one, cwd) ?? [])
    if (parts.length < each.length) return wrong(how)
    const [part] = parts
    if (parts.length > 1) {
      whole.push({ or: parts.map(({ condition, key }) => filterOf([[key, condition]])) })
      continue
    }
    const { condition, key } = part!
    const before = filter.get(key)
    if (before === undefined) {
      filter.set(key, condition)
      continue
    }
    if (!isObject(condition)) return wrong(`${key} is already filtered; write ${key}=A,B for A or B`)
    if (!isObject(before) || Object.keys(condition).some((name) => name in before)) {
      return wrong(`${key} is already filtered`)
    }
    filter.set(key, { ...before, ...condition } as Operators)
  }
  const only = whole.length === 1 && filter.size === 0 ? whole[0] : undefined
  const all = only ?? filterOf([...filter, ...(whole.length === 0 ? [] : [["and", whole as never] as const])])
  return Either.mapLeft(Schema.decodeUnknownEither(Filter)(all), (error) => {
    const { message, path } = ParseResult.ArrayFormatter.formatErrorSync(error)[0]!
    return `--filter${path.length === 0 ? "" : ` ${pathText(path)}`}: ${message}`
  })
}

/** What people are told of a search beside its results, a sentence each. */
const remarksOn = (found: Found & Parameters<typeof outdated>[0]): ReadonlyArray<string> => {
  const old = outdated(found)
  return [
    shortfall(found),
    besides(found),
    asRead(found),
    old === undefined ? undefined : `${old}; clew update --prune brings the index up to date`,
    found.weak === true ? weakOnly : undefined
  ].filter((said) => said !== undefined)
}

/** What `query`, `ask` and `prompt` share: a text, and where and how to search for it. */
export const positional = {
  name: "TEXT",
  summary: "What to search for; several words need no quotes",
  min: 1,
  max: Infinity
} as const

/** Every field of a search, as a test has it. */
export const flags = {
  topK: Cli.integer("top-k", {
    alias: "k",
    value: "N",
    summary: "Passages to show (default: search.top_k, which is 5)",
    ...limits.topK
  }),
  hybrid: Cli.either("hybrid", {
    summary: "Fuse search by words and by meaning (default)",
    negation: "no-hybrid",
    negated: "Search by meaning only"
  }),
  alpha: Cli.number("alpha", {
    value: "WEIGHT",
    summary: "Weight of meaning against words: 0 is only words, 1 only meaning",
    ...limits.alpha
  }),
  fusion: Cli.choice("fusion", {
    choices: Fusion.literals,
    summary: "Fuse the ranks of both searches (rrf) or their scores (score)"
  }),
  graph: Cli.choice("graph", {
    choices: ["true", "false", "auto"],
    summary:
      "Fill ranks from the sixth on with passages that the knowledge graph joins to the best (default: search.graph, which is auto)"
  }),
  minRelevance: Cli.number("min-relevance", {
    value: "SHARE",
    summary: "Leave out passages less likely than this to answer, 0 to 1",
    ...limits.minRelevance
  }),
  queries: Cli.repeated("also", {
    value: "TEXT",
    summary: `Search for this too, such as other words or a part of the question; up to ${limits.queries} times`
  }),
  filter: options.filter,
  since: options.since,
  collection: options.searchedCollection
}

type Given = Partial<Cli.Values<typeof flags>>

/** The search request of a command line, or what is wrong with it. */
export const requestOf = Effect.fnUntraced(function* (given: Given, words: ReadonlyArray<string>) {
  const { cwd } = yield* Place
  const query = words.join(" ")
  const { alpha, filter: filters = [], fusion, graph: use, hybrid, queries = [] } = given
  if (hybrid === false && (alpha !== undefined || fusion !== undefined)) {
    return yield* usage("--alpha and --fusion apply to hybrid search: leave them out, or --no-hybrid")
  }
  for (const [text, name] of [[query, "TEXT"] as const, ...queries.map((text) => [text, "--also"] as const)]) {
    yield* Effect.mapError(Schema.decode(QueryText)(text), () =>
      usage(
        text.trim() === ""
          ? `${name} must not be empty`
          : `${name} must be at most ${limits.queryCharacters} characters`
      )
    )
  }
  if (queries.length > limits.queries) {
    return yield* usage(`--also may be given at most ${limits.queries} times, got ${queries.length}`)
  }
  const filter = yield* Either.mapLeft(parseFilter(filters, cwd), usage)
  const graph = use === undefined || use === "auto" ? use : use === "true"
  return { ...given, query, filter, graph } satisfies SearchRequest
})

/** Says that nothing was found, and why that may be; ends with 3. */
export const nothingFound = Effect.fnUntraced(function* (hint: string | undefined, what = "nothing found") {
  const { globals } = yield* Place
  const { note } = yield* Terminal
  if (!globals.json) yield* note(`clew: ${what}${hint === undefined ? "" : `: ${hint}`}`)
  return yield* stop(exitCode.nothingFound)
})

/** Tells people what is to be said of a search beside its results. */
export const noteRemarks = Effect.fnUntraced(function* (found: Parameters<typeof remarksOn>[0]) {
  const { globals } = yield* Place
  const { note } = yield* Terminal
  if (!globals.json) for (const remark of remarksOn(found)) yield* note(`clew: ${remark}`)
})
