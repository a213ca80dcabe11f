import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as path from "node:path"
import { type Condition, Filter, type Range } from "../model/Filter.ts"

type Scalar = string | number | boolean

const operators = { ">=": "gte", "<=": "lte", ">": "gt", "<": "lt" } as const
type Operator = keyof typeof operators

const shape = /^([^=<>]+)(>=|<=|=|>|<)(.*)$/s
const decimal = /^[+-]?(\d+(?:\.\d*)?|\.\d+)(e[+-]?\d+)?$/i

/** What a word may stand for: a number or a boolean is looked for as text too, since metadata may hold either. */
const meanings = (word: string): ReadonlyArray<Scalar> =>
  decimal.test(word) ? [Number(word), word] : word === "true" || word === "false" ? [word === "true", word] : [word]

/** A relative path is also looked for below where you stand, since files are stored with absolute ones. */
const sources = (cwd: string, word: string): ReadonlyArray<string> =>
  path.isAbsolute(word) ? [word] : [word, path.resolve(cwd, word)]

const json = Schema.decodeUnknownOption(
  Schema.parseJson(
    Schema.Union(Schema.String, Schema.Array(Schema.Union(Schema.String, Schema.Finite, Schema.Boolean)))
  )
)

const condition = (cwd: string, key: string, text: string): Condition => {
  const quoted = /^["[]/.test(text) ? json(text) : { _tag: "None" as const }
  if (quoted._tag === "Some") return quoted.value
  const words = text.split(",").map((word) => word.trim())
  const any = words.flatMap((word): ReadonlyArray<Scalar> => (key === "source" ? sources(cwd, word) : meanings(word)))
  return any.length === 1 ? (any[0] as Scalar) : any
}

const how = "write KEY=VALUE, KEY=A,B for any of, or KEY>=VALUE (also <= > <)"

/**
 * A filter out of `--filter` values: `key=value`, `key=a,b` for any of, `key>=value` and the like, several bounds of one
 * key together. Quoted as JSON, a value is what it says: `year="2020"`, `tags=["a, b"]`.
 */
export const parseFilter = (texts: ReadonlyArray<string>, cwd: string): Either.Either<Filter, string> => {
  const filter: Record<string, Condition> = {}
  for (const text of texts) {
    const [, rawKey = "", operator = "", rest = ""] = shape.exec(text) ?? []
    const key = rawKey.trim()
    const value = rest.trim()
    if (key === "" || value === "") return Either.left(`--filter ${JSON.stringify(text)}: ${how}`)
    const before = filter[key]
    if (operator === "=") {
      if (before !== undefined) {
        return Either.left(`--filter ${JSON.stringify(text)}: ${key} is filtered already; write ${key}=A,B for any of`)
      }
      filter[key] = condition(cwd, key, value)
      continue
    }
    const bound = operators[operator as Operator]
    const isRange = typeof before === "object" && !Array.isArray(before)
    if (before !== undefined && (!isRange || bound in before)) {
      return Either.left(`--filter ${JSON.stringify(text)}: ${key} is filtered already`)
    }
    filter[key] = { ...(before as Range | undefined), [bound]: decimal.test(value) ? Number(value) : value }
  }
  return Either.mapLeft(Schema.decodeUnknownEither(Filter)(filter), (error) => `--filter: ${error.message}`)
}
