import * as Schema from "effect/Schema"
import type { MessageAnnotation } from "effect/SchemaAST"
import { isObject, kindOf, mustBeObject } from "./kinds.ts"
import { limits } from "./Limits.ts"

const { characters, keys, values } = limits.filter

const isTooLong = (value: unknown): value is string => typeof value === "string" && value.length > characters

const Text = Schema.String.pipe(Schema.maxLength(characters))

const Scalar = Schema.Union(Text, Schema.Finite, Schema.Boolean)

const Bound = Schema.Union(Text, Schema.Finite)

const bounds = {
  gte: Schema.optional(Bound.annotations({ description: "At least" })),
  lte: Schema.optional(Bound.annotations({ description: "At most" })),
  gt: Schema.optional(Bound.annotations({ description: "More than" })),
  lt: Schema.optional(Bound.annotations({ description: "Less than" }))
}

/** Both ends of a range compare like with like: numbers with numbers, strings by code point. */
export const Range = Schema.Struct(bounds).pipe(
  Schema.filter((range) => Object.keys(range).length > 0 || "a range needs at least one of gte, lte, gt, lt"),
  Schema.annotations({ identifier: "Range", parseOptions: { onExcessProperty: "error" } })
)
export type Range = typeof Range.Type

const rangeFault = (range: Readonly<Record<string, unknown>>): string => {
  const unknown = Object.keys(range).find((key) => !(key in bounds))
  if (unknown !== undefined) return `a range knows only gte, lte, gt, lt; got ${unknown.slice(0, 60)}`
  const wrong = Object.entries(range).find(([, bound]) => typeof bound !== "string" && !Number.isFinite(bound))
  if (wrong !== undefined) return `Expected a string or a finite number for ${wrong[0]}, got ${kindOf(wrong[1])}`
  return "a range needs at least one of gte, lte, gt, lt"
}

/** One message for all that a condition might have been. */
const conditionFault: MessageAnnotation = ({ actual }) => {
  const inner = Array.isArray(actual) ? actual : isObject(actual) ? Object.values(actual) : [actual]
  const long = inner.find(isTooLong)
  const message =
    long !== undefined
      ? `a string in a filter must be at most ${characters} characters, got ${long.length}`
      : Array.isArray(actual)
        ? actual.length > values
          ? `a list in a filter must have at most ${values} values, got ${actual.length}`
          : "a list in a filter must hold strings, finite numbers and booleans only"
        : isObject(actual)
          ? rangeFault(actual)
          : `Expected a string, a finite number, a boolean, a list of these, or a range, got ${kindOf(actual)}`
  return { message, override: true }
}

export const Condition = Schema.Union(Scalar, Schema.Array(Scalar).pipe(Schema.maxItems(values)), Range).annotations({
  identifier: "Condition",
  description: "A value to equal, a list of which any may equal, or a range",
  message: conditionFault
})
export type Condition = typeof Condition.Type

const filterFault = (filter: Readonly<Record<string, unknown>>): string | undefined => {
  const names = Object.keys(filter)
  if (names.length > keys) return `filter must have at most ${keys} keys, got ${names.length}`
  const long = names.find(isTooLong)
  return long && `a key in a filter must be at most ${characters} characters, got ${long.length}`
}

/**
 * Restricts what is searched; every key must match. `source` matches when equal or as a glob (`*` crosses `/`, `?` is
 * one character). A document without the key never matches; a list in the metadata matches by any of its elements.
 */
export const Filter = Schema.Record({ key: Schema.String, value: Condition })
  .annotations({ message: mustBeObject("filter") })
  .pipe(
    Schema.filter((filter) => filterFault(filter) ?? true, { jsonSchema: { maxProperties: keys } }),
    Schema.annotations({
      identifier: "Filter",
      description: `Restricts the search to documents whose metadata match every key; at most ${keys} keys, ${values} values in a list, ${characters} characters in a string`,
      examples: [{ source: "*/docs/*" }, { lang: ["en", "de"], year: { gte: 2020 } }]
    })
  )
export type Filter = typeof Filter.Type

export const emptyFilter: Filter = {}
export const isEmptyFilter = (filter: Filter): boolean => Object.keys(filter).length === 0
