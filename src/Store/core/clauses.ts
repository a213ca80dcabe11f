import {
  type Comparison,
  type Condition,
  isScalar,
  type Range,
  rangeOperators,
  type Scalar
} from "../../model/Filter.ts"

/** The kinds of metadata values, each compared with its like alone. */
export type Kind = "s" | "n" | "b"

export const kindOf = (value: Scalar): Kind => (typeof value === "string" ? "s" : typeof value === "number" ? "n" : "b")

/** A time as it is stored; a text that is none is before all times, which nothing equals. */
export const timeOf = (value: string | number): number => (typeof value === "number" ? value : Date.parse(value) || 0)

/** The bounds that a range has. */
export const boundsOf = (range: Range) =>
  rangeOperators.flatMap((operator) => {
    const bound = range[operator]
    return bound === undefined ? [] : [{ operator, bound }]
  })

/** A condition as what must or must not hold of a key's values; `present` only asks whether the key exists. */
export type Clause = { readonly negated: boolean } & (
  | { readonly present: true }
  | { readonly present: false; readonly comparison: Comparison }
)

/** The clauses, which must all hold. */
export const clausesOf = (condition: Condition): ReadonlyArray<Clause> => {
  if (isScalar(condition) || Array.isArray(condition)) {
    return [{ negated: false, present: false, comparison: condition as Comparison }]
  }
  const { exists, not, ...range } = condition as Exclude<Condition, Scalar | ReadonlyArray<Scalar>>
  const clauses: Array<Clause> = []
  if (boundsOf(range).length > 0) clauses.push({ negated: false, present: false, comparison: range })
  if (not !== undefined) clauses.push({ negated: true, present: false, comparison: not })
  if (exists !== undefined) clauses.push({ negated: !exists, present: true })
  return clauses
}
