import type { Condition, Filter, Range } from "../../model/Filter.ts"
import { isEmptyFilter } from "../../model/Filter.ts"

/** A SELECT of ids, and its parameters. */
export interface Mask {
  readonly sql: string
  readonly params: ReadonlyArray<string | number>
}

type Scalar = string | number | boolean
type Kind = "s" | "n" | "b"

const kindOf = (value: Scalar): Kind => (typeof value === "string" ? "s" : typeof value === "number" ? "n" : "b")

const stored = (value: Scalar): string | number => (typeof value === "boolean" ? Number(value) : value)

const operators = { gte: ">=", lte: "<=", gt: ">", lt: "<" } as const

const isScalar = (value: unknown): value is Scalar =>
  typeof value === "string" || typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value))

/** The rows that make a document findable by its metadata: a scalar gives one, a list one for each scalar in it. */
export const metadataRows = (
  metadata: Readonly<Record<string, unknown>>
): ReadonlyArray<readonly [key: string, kind: Kind, value: string | number]> => {
  const seen = new Set<string>()
  const rows: Array<readonly [string, Kind, string | number]> = []
  for (const [key, value] of Object.entries(metadata)) {
    for (const scalar of Array.isArray(value) ? value : [value]) {
      if (!isScalar(scalar)) continue
      const row = [key, kindOf(scalar), stored(scalar)] as const
      const identity = JSON.stringify(row)
      if (!seen.has(identity)) rows.push(row)
      seen.add(identity)
    }
  }
  return rows
}

const isGlob = (pattern: string) => /[*?]/.test(pattern)

/** Only `*` and `?` are special; SQLite's bracket classes are quoted away. */
const toGlob = (pattern: string) => pattern.replaceAll("[", "[[]")

const any = (masks: ReadonlyArray<Mask>): Mask =>
  masks.length === 0
    ? { sql: "0", params: [] }
    : { sql: `(${masks.map((mask) => mask.sql).join(" OR ")})`, params: masks.flatMap((mask) => mask.params) }

const all = (masks: ReadonlyArray<Mask>): Mask => ({
  sql: masks.map((mask) => mask.sql).join(" AND "),
  params: masks.flatMap((mask) => mask.params)
})

const bounds = (range: Range) =>
  Object.entries(range).flatMap(([name, bound]) =>
    bound === undefined ? [] : [{ operator: operators[name as keyof Range], bound }]
  )

/** A condition on a column of text. */
const onColumn = (column: string, condition: Condition, glob: boolean): Mask => {
  const equals = (value: Scalar): Mask =>
    typeof value !== "string"
      ? any([])
      : glob && isGlob(value)
        ? any([
            { sql: `${column} = ?`, params: [value] },
            { sql: `${column} GLOB ?`, params: [toGlob(value)] }
          ])
        : { sql: `${column} = ?`, params: [value] }
  if (isScalar(condition)) return equals(condition)
  if (Array.isArray(condition)) return any(condition.map(equals))
  return all(
    bounds(condition as Range).map(({ bound, operator }) =>
      typeof bound === "string" ? { sql: `${column} ${operator} ?`, params: [bound] } : any([])
    )
  )
}

/** A condition on a key of the metadata; the bounds of a range hold for one and the same element of a list. */
const onMetadata = (key: string, condition: Condition): Mask => {
  const some = (test: Mask): Mask => ({
    sql: `d.id IN (SELECT document_id FROM metadata_values WHERE key = ? AND ${test.sql})`,
    params: [key, ...test.params]
  })
  const equals = (value: Scalar): Mask => ({
    sql: "(kind = ? AND value = ?)",
    params: [kindOf(value), stored(value)]
  })
  if (isScalar(condition)) return some(equals(condition))
  if (Array.isArray(condition)) return some(any(condition.map(equals)))
  return some(
    all(
      bounds(condition as Range).map(({ bound, operator }) => ({
        sql: `(kind = ? AND value ${operator} ?)`,
        params: [kindOf(bound), bound]
      }))
    )
  )
}

const source = "coalesce(d.source, d.doc_id)"

/** The WHERE of a filter over `documents AS d`. */
export const documentsWhere = (collection: number, filter: Filter): Mask =>
  all([
    { sql: "d.collection_id = ?", params: [collection] },
    ...Object.entries(filter).map(([key, condition]) =>
      key === "source"
        ? onColumn(source, condition, true)
        : key === "doc_id"
          ? onColumn("d.doc_id", condition, false)
          : key === "title"
            ? onColumn("d.title", condition, false)
            : onMetadata(key, condition)
    )
  ])

/** The ids of the passages that a filter leaves to be searched; undefined: all of them. */
export const passagesMask = (collection: number, filter: Filter): Mask | undefined => {
  if (isEmptyFilter(filter)) return undefined
  const where = documentsWhere(collection, filter)
  return {
    sql: `SELECT p.id FROM documents AS d JOIN passages AS p ON p.document_id = d.id WHERE ${where.sql}`,
    params: where.params
  }
}
