import type * as Schema from "effect/Schema"
import { checked, type Fault } from "./checked.ts"
import { isObject, codePoints, isLongerThan, isWellFormed, kindOf, notWellFormed, valueText } from "./kinds.ts"
import { limits } from "./Limits.ts"

const { characters, depth: deepest, keys: mostKeys, values: mostValues } = limits.filter

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
 * one character); `indexed_at` is in milliseconds since 1970, or a time in ISO 8601. A document without the key matches only `not` and `exists: false`; a list in the metadata matches by
 * any of its elements. `or` and `and` take a list of filters, any or all of which must match, and no empty list.
 */
export interface Filter {
  readonly [key: string]: Condition | ReadonlyArray<Filter>
}

const scalars = [{ type: "string", maxLength: characters }, { type: "number" }, { type: "boolean" }]
const list = { type: "array", items: { anyOf: scalars }, maxItems: mostValues }
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

const description = `Restricts the search to documents whose metadata match every key: a value to equal, a list of which any may equal, or operators (gte, lte, gt, lt, not, exists). The keys or and and take a list of filters, at least one. At most ${mostKeys} keys in all, ${mostValues} values in a list, ${characters} characters in a string, ${deepest} levels of or and and`

export const Filter: Schema.Schema<Filter> = checked<Filter>((input) => filterFaults(input), {
  identifier: "Filter",
  description,
  jsonSchema: {
    type: "object",
    description,
    properties: { or: filters("Filters; at least one must match"), and: filters("Filters; all must match") },
    additionalProperties: { anyOf: [...scalars, list, operators] },
    maxProperties: mostKeys,
    examples: [{ source: "*/docs/*" }, { lang: ["en", "de"], year: { gte: 2020 } }]
  }
})

/** Keys that every document has, whatever its metadata. */
export const columnKeys: ReadonlySet<string> = new Set(["source", "title", "doc_id", "indexed_at"])

export const emptyFilter: Filter = {}

/** The filters under `or` or `and`; undefined if the key is a metadata key. */
export const filtersUnder = (key: string, condition: Filter[string]): ReadonlyArray<Filter> | undefined =>
  (key === "or" || key === "and") && Array.isArray(condition) && condition.length > 0 && condition.every(isObject)
    ? (condition as ReadonlyArray<Filter>)
    : undefined

/** Whether a filter has no condition that could leave out a document. */
export const isEmptyFilter = (filter: Filter): boolean =>
  Object.entries(filter).every(([key, condition]) => {
    const inner = filtersUnder(key, condition)
    if (inner !== undefined) return key === "and" ? inner.every(isEmptyFilter) : inner.some(isEmptyFilter)
    return isObject(condition) && Object.keys(condition).join() === "not" && [condition.not].flat().length === 0
  })

/** All keys that a filter names, at any level. */
export const keysOf = (filter: Filter): ReadonlySet<string> =>
  new Set(
    Object.entries(filter).flatMap(([key, condition]) => {
      const inner = filtersUnder(key, condition)
      return inner === undefined ? [key] : inner.flatMap((each) => [...keysOf(each)])
    })
  )

type Json = Readonly<Record<string, unknown>>

export const rangeOperators = ["gte", "lte", "gt", "lt"] as const
const allOperators = [...rangeOperators, "not", "exists"]

export const isScalar = (value: unknown): value is Scalar =>
  typeof value === "string" || typeof value === "boolean" || Number.isFinite(value)

const tooLong = (value: unknown): string | undefined =>
  typeof value !== "string"
    ? undefined
    : isLongerThan(value, characters)
      ? `a string in a filter must be at most ${characters} characters, got ${codePoints(value)}`
      : isWellFormed(value)
        ? undefined
        : notWellFormed("a string in a filter")

const listFault = (list: ReadonlyArray<unknown>): string | undefined =>
  list.length > mostValues
    ? `a list in a filter must have at most ${mostValues} values, got ${list.length}`
    : (list.map(tooLong).find((fault) => fault !== undefined) ??
      (list.every(isScalar) ? undefined : "a list in a filter must hold strings, finite numbers and booleans only"))

const what = "a string, a finite number, a boolean, a list of these"

const comparisonFault = (value: unknown, also: string): string | undefined =>
  Array.isArray(value)
    ? listFault(value)
    : isScalar(value)
      ? tooLong(value)
      : `a condition must be ${what}, or ${also}, got ${kindOf(value)}`

/** Other common names of operators. */
const meant: Readonly<Record<string, string>> = {
  ne: "not",
  neq: "not",
  nin: "not",
  "!=": "not",
  min: "gte",
  max: "lte"
}

const unknownOperator = (name: string, known: ReadonlyArray<string>): string => {
  const plain = name.replace(/^\$/, "")
  const other = known.includes(plain) ? plain : Object.hasOwn(meant, plain) ? meant[plain] : undefined
  const hint =
    other !== undefined
      ? ` (did you mean ${other}?)`
      : plain === "in" || plain === "eq"
        ? " (for equal to, or any of, write the value or the list itself)"
        : ""
  return `the operators of a condition are ${known.join(", ")}; got ${name.slice(0, 60)}${hint}`
}

const operatorsFault = (condition: Json, known: ReadonlyArray<string>): string | undefined => {
  const given = Object.entries(condition)
  if (given.length === 0) return `a condition needs at least one of ${known.join(", ")}`
  for (const [name, value] of given) {
    if (!known.includes(name)) return unknownOperator(name, known)
    const fault =
      name === "exists"
        ? typeof value === "boolean"
          ? undefined
          : `exists must be true or false, got ${kindOf(value)}`
        : name === "not"
          ? isObject(value)
            ? operatorsFault(value, rangeOperators)
            : comparisonFault(value, "a range")
          : typeof value === "string" || Number.isFinite(value)
            ? tooLong(value)
            : `${name} must be a string or a finite number, got ${kindOf(value)}`
    if (fault !== undefined) return fault
  }
  return undefined
}

/** A text that is compared with times and is none. */
const notTime = (condition: unknown): string | undefined => {
  const values = isObject(condition) ? Object.values(condition) : [condition].flat()
  const wrong = values.find((value) => typeof value === "string" && Number.isNaN(Date.parse(value)))
  return wrong === undefined
    ? undefined
    : `indexed_at must be compared with milliseconds since 1970 or a time like 2026-01-31T18:00:00Z, got ${valueText(wrong)}`
}

/** The faults of a filter: at most one per condition, and no more than the limit. */
const filterFaults = (input: unknown): ReadonlyArray<Fault> => {
  const faults: Array<Fault> = []
  let keys = 0
  const check = (filter: unknown, path: ReadonlyArray<PropertyKey>, left: number): void => {
    const add = (message: string, ...more: ReadonlyArray<PropertyKey>) =>
      faults.push({ path: [...path, ...more], message })
    if (!isObject(filter)) {
      add(`${path.length === 0 ? "filter" : "a filter"} must be a JSON object, not ${kindOf(filter)}`)
      return
    }
    const names = Object.keys(filter)
    keys += Math.max(1, names.length)
    // Reported once for the whole filter.
    if (keys > mostKeys) return
    const long = names.find((name) => isLongerThan(name, characters))
    if (long !== undefined) add(`a key in a filter must be at most ${characters} characters, got ${codePoints(long)}`)
    for (const [key, condition] of Object.entries(filter)) {
      if (key === "__proto__") add('filter has a key "__proto__", which cannot be filtered by')
      else if ((key === "or" || key === "and") && Array.isArray(condition) && condition.length === 0)
        add(`${key} needs at least one filter`, key)
      else if ((key === "or" || key === "and") && Array.isArray(condition) && condition.some(isObject)) {
        if (left === 0) add(`or and and must not nest deeper than ${deepest} levels`, key)
        else
          for (const [index, inner] of condition.slice(0, mostKeys + 1).entries())
            check(inner, [...path, key, index], left - 1)
      } else {
        const fault =
          (isObject(condition)
            ? operatorsFault(condition, allOperators)
            : comparisonFault(condition, "operators (gte, lte, gt, lt, not, exists)")) ??
          (key === "indexed_at" ? notTime(condition) : undefined)
        if (fault !== undefined) add(fault, key)
      }
    }
  }
  check(input, [], deepest)
  if (keys <= mostKeys) return faults
  const count = isObject(input) && Object.keys(input).length > mostKeys ? Object.keys(input).length : keys
  return [{ path: [], message: `filter must have at most ${mostKeys} keys, got ${count}` }]
}
