import { codePoints, isLongerThan, isObject, isWellFormed, kindOf, notWellFormed } from "./kinds.ts"
import { limits } from "./Limits.ts"

const { characters, depth: deepest, keys: mostKeys, values: mostValues } = limits.filter

export interface Fault {
  readonly path: ReadonlyArray<PropertyKey>
  readonly message: string
}

type Json = Readonly<Record<string, unknown>>

const bounds = new Set(["gte", "lte", "gt", "lt"])
const operators = [...bounds, "not", "exists"]

const isScalar = (value: unknown): boolean =>
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
            ? operatorsFault(value, [...bounds])
            : comparisonFault(value, "a range")
          : typeof value === "string" || Number.isFinite(value)
            ? tooLong(value)
            : `${name} must be a string or a finite number, got ${kindOf(value)}`
    if (fault !== undefined) return fault
  }
  return undefined
}

/** The faults of a filter: at most one per condition, and no more than the limit. */
export const filterFaults = (input: unknown): ReadonlyArray<Fault> => {
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
        const fault = isObject(condition)
          ? operatorsFault(condition, operators)
          : comparisonFault(condition, "operators (gte, lte, gt, lt, not, exists)")
        if (fault !== undefined) add(fault, key)
      }
    }
  }
  check(input, [], deepest)
  if (keys <= mostKeys) return faults
  const count = isObject(input) && Object.keys(input).length > mostKeys ? Object.keys(input).length : keys
  return [{ path: [], message: `filter must have at most ${mostKeys} keys, got ${count}` }]
}
