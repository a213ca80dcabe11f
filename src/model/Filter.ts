import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { filterFaults } from "./filterFaults.ts"
import { isObject } from "./kinds.ts"
import { limits } from "./Limits.ts"

const { characters, keys, values } = limits.filter

export type Scalar = string | number | boolean

/** Both ends of a range compare like with like: numbers with numbers, strings by code point. */
export interface Range {
  readonly gte?: string | number | undefined
  readonly lte?: string | number | undefined
  readonly gt?: string | number | undefined
  readonly lt?: string | number | undefined
}

/** What a value may be compared with by `not`, and without it. */
export type Comparison = Scalar | ReadonlyArray<Scalar> | Range

/** All given operators must hold. */
export interface Operators extends Range {
  /** Excludes these values; also matches documents without the key. */
  readonly not?: Comparison | undefined
  /** Whether the document has the key, whatever its value: also null, an object, or an empty list. */
  readonly exists?: boolean | undefined
}

/** A value to equal, a list of which any may equal, or operators. */
export type Condition = Scalar | ReadonlyArray<Scalar> | Operators

/**
 * Restricts what is searched; every key must match. `source` matches when equal or as a glob (`*` crosses `/`, `?` is
 * one character). A document without the key matches only `not` and `exists: false`; a list in the metadata matches by
 * any of its elements. `or` and `and` take a list of filters, any or all of which must match, and no empty list.
 */
export interface Filter {
  readonly [key: string]: Condition | ReadonlyArray<Filter>
}

const scalars = [{ type: "string", maxLength: characters }, { type: "number" }, { type: "boolean" }]
const list = { type: "array", items: { anyOf: scalars }, maxItems: values }
const bound = (description: string) => ({
  anyOf: [{ type: "string", maxLength: characters }, { type: "number" }],
  description
})
const bounds = { gte: bound("At least"), lte: bound("At most"), gt: bound("More than"), lt: bound("Less than") }
const range = { type: "object", properties: bounds, minProperties: 1, additionalProperties: false }
const operators = {
  type: "object",
  properties: {
    ...bounds,
    not: {
      anyOf: [...scalars, list, range],
      description: "Excludes these values; also matches documents without the key"
    },
    exists: { type: "boolean", description: "Whether the document has the key, whatever its value" }
  },
  minProperties: 1,
  additionalProperties: false
}
/** A list of filters; any other value refers to a metadata key of that name. */
const filters = (description: string) => ({
  anyOf: [
    { type: "array", items: { $ref: "#/components/schemas/Filter" }, minItems: 1 },
    ...scalars,
    { ...list, minItems: 1 },
    operators
  ],
  description
})

const fromUnknown = (ast: ParseResult.Type["ast"]) => (input: unknown) => {
  const faults = filterFaults(input)
  if (faults.length === 0) return Either.right(input as Filter)
  const issues = faults.map(({ message, path }) => {
    const issue = new ParseResult.Type(ast, input, message)
    const [first, ...rest] = path
    return first === undefined ? issue : new ParseResult.Pointer([first, ...rest], input, issue)
  })
  return Either.left(issues.length === 1 ? issues[0]! : new ParseResult.Composite(ast, input, issues as never))
}

const description = `Restricts the search to documents whose metadata match every key: a value to equal, a list of which any may equal, or operators (gte, lte, gt, lt, not, exists). The keys or and and take a list of filters, at least one. At most ${keys} keys in all, ${values} values in a list, ${characters} characters in a string, ${limits.filter.depth} levels of or and and`

export const Filter: Schema.Schema<Filter> = Schema.declare(
  [],
  {
    decode: () => (input, _, ast) => fromUnknown(ast)(input),
    encode: () => (input, _, ast) => fromUnknown(ast)(input)
  },
  {
    identifier: "Filter",
    description,
    jsonSchema: {
      type: "object",
      description,
      properties: { or: filters("Filters; at least one must match"), and: filters("Filters; all must match") },
      additionalProperties: { anyOf: [...scalars, list, operators] },
      maxProperties: keys,
      examples: [{ source: "*/docs/*" }, { lang: ["en", "de"], year: { gte: 2020 } }]
    }
  }
)

/** Keys that every document has, whatever its metadata. */
export const columnKeys: ReadonlySet<string> = new Set(["source", "title", "doc_id"])

export const emptyFilter: Filter = {}
export const isEmptyFilter = (filter: Filter): boolean => Object.keys(filter).length === 0

/** The filters under `or` or `and`; undefined if the key is a metadata key. */
export const filtersUnder = (key: string, condition: Filter[string]): ReadonlyArray<Filter> | undefined =>
  (key === "or" || key === "and") && Array.isArray(condition) && condition.length > 0 && condition.every(isObject)
    ? (condition as ReadonlyArray<Filter>)
    : undefined

/** All keys that a filter names, at any level. */
export const keysOf = (filter: Filter): ReadonlySet<string> =>
  new Set(
    Object.entries(filter).flatMap(([key, condition]) => {
      const inner = filtersUnder(key, condition)
      return inner === undefined ? [key] : inner.flatMap((each) => [...keysOf(each)])
    })
  )
