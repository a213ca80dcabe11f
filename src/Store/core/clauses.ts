import {
  type Comparison,
  type Condition,
  type Filter,
  filtersUnder,
  isScalar,
  type Range,
  rangeOperators,
  type Scalar
} from "../../model/Filter.ts"

/** The kinds of metadata values, each compared with its like alone. */
export type Kind = "s" | "n" | "b"

export const kindOf = (value: Scalar): Kind => (typeof value === "string" ? "s" : typeof value === "number" ? "n" : "b")

/** Whether a text of a filter on sources has a `*` or a `?`. */
export const isGlob = (text: string): boolean => /[*?]/.test(text)

/** A time as it is stored; a text that is none is before all times, which nothing equals. */
const timeOf = (value: string | number): number => (typeof value === "number" ? value : Date.parse(value) || 0)

/** Times as they are stored, in whole milliseconds; what lies between them equals none. */
export const timesOf = (comparison: Scalar | ReadonlyArray<Scalar>): ReadonlyArray<number> =>
  [comparison]
    .flat()
    .filter((value) => typeof value !== "boolean")
    .map(timeOf)
    .filter(Number.isSafeInteger)

/** A bound in whole milliseconds that the same stored times are within; none of those is as far off as its limits. */
export const timeBound = (operator: keyof Range, bound: string | number): number => {
  const time = timeOf(bound)
  const whole = operator === "gte" || operator === "lt" ? Math.ceil(time) : Math.floor(time)
  return Math.min(Math.max(whole, Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER)
}

/** The bounds that a range has. */
export const boundsOf = (range: Range) =>
  rangeOperators.flatMap((operator) => {
    const bound = range[operator]
    return bound === undefined ? [] : [{ operator, bound }]
  })

/** A condition as what must or must not hold of a key's values. */
export interface Clause {
  readonly negated: boolean
  /** Undefined: what matters is whether the key exists. */
  readonly comparison: Comparison | undefined
}

/** The clauses, which must all hold. */
const clausesOf = (condition: Condition): ReadonlyArray<Clause> => {
  if (isScalar(condition) || Array.isArray(condition)) {
    return [{ negated: false, comparison: condition as Comparison }]
  }
  const { exists, not, ...range } = condition as Exclude<Condition, Scalar | ReadonlyArray<Scalar>>
  const clauses: Array<Clause> = []
  if (boundsOf(range).length > 0) clauses.push({ negated: false, comparison: range })
  if (not !== undefined) clauses.push({ negated: true, comparison: not })
  if (exists !== undefined) clauses.push({ negated: !exists, comparison: undefined })
  return clauses
}

/** What a filter is made into. */
interface Algebra<Query> {
  readonly all: (parts: ReadonlyArray<Query>) => Query
  readonly any: (parts: ReadonlyArray<Query>) => Query
  readonly not: (part: Query) => Query
  /** What a clause says, whether it is negated or not. */
  readonly clause: (key: string, clause: Clause) => Query
}

/** What a filter means. */
export const compiled = <Query>(filter: Filter, algebra: Algebra<Query>): Query =>
  algebra.all(
    Object.entries(filter).map(([key, condition]) => {
      const filters = filtersUnder(key, condition)
      if (filters !== undefined) {
        return (key === "or" ? algebra.any : algebra.all)(filters.map((inner) => compiled(inner, algebra)))
      }
      return algebra.all(
        clausesOf(condition as Condition).map((clause) => {
          const query = algebra.clause(key, clause)
          return clause.negated ? algebra.not(query) : query
        })
      )
    })
  )

const bytes = new DataView(new ArrayBuffer(8))

/** A number as 16 hexadecimal digits that sort as the number does. */
export const sortable = (value: number): string => {
  // Adding 0 makes -0 equal to 0.
  bytes.setFloat64(0, value + 0)
  const bits = bytes.getBigUint64(0)
  const rising = bits >> 63n === 0n ? bits | (1n << 63n) : ~bits & 0xffff_ffff_ffff_ffffn
  return rising.toString(16).padStart(16, "0")
}

/** The number of which `sortable` made the digits. */
export const unsortable = (digits: string): number => {
  const bits = BigInt(`0x${digits}`)
  bytes.setBigUint64(0, bits >> 63n === 1n ? bits & 0x7fff_ffff_ffff_ffffn : ~bits & 0xffff_ffff_ffff_ffffn)
  return bytes.getFloat64(0)
}
