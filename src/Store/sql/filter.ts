import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { boundsOf, type Clause, compiled, isGlob, type Kind, kindOf, timeBound, timesOf } from "../core/clauses.ts"
import { Cancelled } from "./Cancelled.ts"
import { type Dialect, dialectOf } from "./dialect.ts"
import { type Sql, forEachNumber, inList, list } from "./rows.ts"
import { type Comparison, type Filter, isScalar, type Range, type Scalar } from "../../model/Filter.ts"
import { Globs } from "../../model/globs.ts"

/** An SQL condition, or a SELECT, and its parameters. */
export interface Where {
  readonly sql: string
  readonly params: ReadonlyArray<string | number>
}

const kinds: ReadonlyArray<Kind> = ["s", "n", "b"]

const operators = { gte: ">=", lte: "<=", gt: ">", lt: "<" } as const

/**
 * The rows that make a document findable by its metadata: one per scalar, one per scalar in a list, and one that only
 * tells of the key if it has neither.
 */
export const metadataRows = (
  { scalar: columnsOf }: Dialect,
  metadata: Readonly<Record<string, unknown>>
): ReadonlyArray<{ readonly key: string; readonly kind: Kind | "o" }> => {
  const seen = new Set<string>()
  const rows: Array<{ readonly key: string; readonly kind: Kind | "o" }> = []
  for (const [key, value] of Object.entries(metadata)) {
    const scalars = (Array.isArray(value) ? value : [value]).filter(isScalar)
    if (scalars.length === 0) rows.push({ key, kind: "o", ...columnsOf("") })
    for (const scalar of scalars) {
      const row = { key, kind: kindOf(scalar), ...columnsOf(scalar) }
      const identity = JSON.stringify(row)
      if (!seen.has(identity)) rows.push(row)
      seen.add(identity)
    }
  }
  return rows
}

const any = (wheres: ReadonlyArray<Where>): Where =>
  wheres.length === 0
    ? { sql: "FALSE", params: [] }
    : { sql: `(${wheres.map((where) => where.sql).join(" OR ")})`, params: wheres.flatMap((where) => where.params) }

const all = (wheres: ReadonlyArray<Where>): Where => ({
  sql: wheres.length === 0 ? "TRUE" : wheres.map((where) => where.sql).join(" AND "),
  params: wheres.flatMap((where) => where.params)
})

/** One of many values: one parameter for all, since SQLite limits the depth of an expression. */
const among = (column: string, values: ReadonlyArray<string | number>): Where =>
  values.length === 1
    ? { sql: `${column} = ?`, params: [values[0]!] }
    : { sql: `${column} ${inList}`, params: [list(values)] }

/** SQLite compares each source with at most this many globs, one by one; more are matched together beforehand. */
const fewGlobs = 4

/** The values of a condition on `source` that contain more globs than SQLite should compare. */
export const manyGlobs = (comparison: Comparison | undefined): ReadonlyArray<string> | undefined => {
  if (!Array.isArray(comparison)) return undefined
  const texts = (comparison as ReadonlyArray<Scalar>).filter((value) => typeof value === "string")
  return texts.filter(isGlob).length > fewGlobs ? texts : undefined
}

/** A condition on a column of times. */
const onTime = (column: string, condition: Comparison): Where => {
  if (!isScalar(condition) && !Array.isArray(condition)) {
    return all(
      boundsOf(condition as Range).map(({ bound, operator }) => ({
        sql: `${column} ${operators[operator]} ?`,
        params: [timeBound(operator, bound)]
      }))
    )
  }
  const times = timesOf(condition)
  return times.length === 0 ? any([]) : among(column, times)
}

/** A condition on a column: of texts, unless it has times. */
const onColumn = (dialect: Dialect, column: string, condition: Comparison, glob: boolean): Where => {
  if (column === indexedAt) return onTime(column, condition)
  if (isScalar(condition) || Array.isArray(condition)) {
    const texts = [condition].flat().filter((value) => typeof value === "string")
    const globs = glob ? texts.filter(isGlob).map(dialect.pattern) : []
    const stored = texts.map((text) => Object.values(dialect.scalar(text)))
    const equal = dialect.indexed(column).map((one, at) =>
      among(
        one,
        stored.map((values) => values[at] ?? values.at(-1)!)
      )
    )
    return any([
      ...(texts.length === 0 ? [] : [all(equal)]),
      ...(globs.length === 0
        ? []
        : globs.length === 1
          ? [{ sql: dialect.like(column, "?"), params: globs }]
          : [
              {
                sql: `EXISTS (SELECT 1 FROM ${dialect.texts("g")} WHERE ${dialect.like(column, "g.value")})`,
                params: [list(globs)]
              }
            ])
    ])
  }
  return all(
    boundsOf(condition as Range).map(({ bound, operator }) =>
      typeof bound === "string" ? { sql: `${column} ${operators[operator]} ?`, params: [bound] } : any([])
    )
  )
}

const metadataEquals = ({ scalar }: Dialect, kind: Kind, values: ReadonlyArray<Scalar>): Where => {
  const stored = values.map(scalar)
  const { params, sql } = all(
    Object.keys(stored[0]!).map((column) =>
      among(
        column,
        stored.map((columns) => columns[column]!)
      )
    )
  )
  return { sql: `(kind = ? AND ${sql})`, params: [kind, ...params] }
}

/** A comparison of the value with a bound; the columns before it only help to find the value. */
const metadataBound = ({ scalar }: Dialect, operator: string, bound: Scalar): Where => {
  const columns = Object.entries(scalar(bound))
  const tests = columns.map(([column], at) => `${column} ${at < columns.length - 1 ? `${operator[0]}=` : operator} ?`)
  return {
    sql: `(kind = ? AND ${tests.join(" AND ")})`,
    params: [kindOf(bound), ...columns.map(([, value]) => value)]
  }
}

/**
 * Tests of a metadata value, any of which may hold: one per kind of value that it may equal. The bounds of a range must
 * hold for the same element of a list.
 */
const metadataTests = (dialect: Dialect, condition: Comparison | undefined): ReadonlyArray<Where> => {
  if (condition === undefined) return [all([])]
  if (isScalar(condition) || Array.isArray(condition)) {
    return kinds.flatMap((kind) => {
      const own = [condition].flat().filter((value) => kindOf(value) === kind)
      return own.length === 0 ? [] : [metadataEquals(dialect, kind, own)]
    })
  }
  const bounds = boundsOf(condition as Range)
  return [all(bounds.map(({ bound, operator }) => metadataBound(dialect, operators[operator], bound)))]
}

const metadataRowsWhere = (key: string, test: Where): Where => ({
  sql: `SELECT document_id FROM metadata_values WHERE key = ? AND ${test.sql}`,
  params: [key, ...test.params]
})

/** The value of the key `source`: a document without a source is compared by its doc_id. */
const source = "d.name"

const indexedAt = "d.indexed_at"

/** The columns that a filter can use as keys. */
const columns: ReadonlyMap<string, { readonly compared: string; readonly stored: string; readonly glob: boolean }> =
  new Map([
    ["source", { compared: source, stored: "d.source", glob: true }],
    ["doc_id", { compared: "d.doc_id", stored: "d.doc_id", glob: false }],
    ["title", { compared: "d.title", stored: "d.title", glob: false }],
    ["indexed_at", { compared: indexedAt, stored: indexedAt, glob: false }]
  ])

const clauseWhere = (dialect: Dialect, key: string, { comparison }: Clause): Where => {
  const column = columns.get(key)
  if (column !== undefined) {
    return comparison === undefined
      ? { sql: `${column.stored} IS NOT NULL`, params: [] }
      : onColumn(dialect, column.compared, comparison, column.glob)
  }
  const { params, sql } = metadataRowsWhere(key, any(metadataTests(dialect, comparison)))
  return { sql: `d.id IN (${sql})`, params }
}

/** The WHERE of a filter over `documents AS d`; what matches a list of many globs is found in a pass over the sources. */
export const documentsWhere = (sql: Sql, collection: number, filter: Filter): Effect.Effect<Where, SqlError> => {
  const compiling = compiled<Effect.Effect<Where, SqlError>>(filter, {
    all: (parts) => Effect.map(Effect.all(parts), all),
    any: (parts) => Effect.map(Effect.all(parts), any),
    // A missing title equals nothing, so no exclusion matches it.
    not: Effect.map((where) => ({ ...where, sql: `(${where.sql}) IS NOT TRUE` })),
    clause: (key, clause) => {
      const globs = key === "source" ? manyGlobs(clause.comparison) : undefined
      return globs === undefined
        ? Effect.succeed(clauseWhere(dialectOf(sql), key, clause))
        : Effect.map(matching(sql, collection, globs), (ids) => ({ sql: `d.id ${inList}`, params: [list(ids)] }))
    }
  })
  return Effect.map(compiling, (where) => all([{ sql: "d.collection_id = ?", params: [collection] }, where]))
}

/**
 * SELECTs whose rows together name the documents that a clause holds for, ignoring its negation. They may name
 * documents of other collections, and a document twice. Each reads only an index.
 */
export const documentsOf = (
  dialect: Dialect,
  collection: number,
  key: string,
  { comparison }: Clause
): ReadonlyArray<Where> => {
  const select = (from: string, where: Where): Where => ({
    sql: `SELECT d.id FROM ${from} AND ${where.sql}`,
    params: [collection, ...where.params]
  })
  const column = columns.get(key)
  if (column === undefined) return metadataTests(dialect, comparison).map((test) => metadataRowsWhere(key, test))
  const own = "documents AS d WHERE d.collection_id = ?"
  if (comparison === undefined) return [select(own, { sql: `${column.stored} IS NOT NULL`, params: [] })]
  if (key !== "source") return [select(own, onColumn(dialect, column.compared, comparison, column.glob))]
  return [
    select(
      "documents AS d WHERE d.source IS NOT NULL AND d.collection_id = ?",
      onColumn(dialect, "d.source", comparison, true)
    ),
    select(
      "documents AS d WHERE d.source IS NULL AND d.collection_id = ?",
      onColumn(dialect, "d.doc_id", comparison, true)
    )
  ]
}

/** Calls `use` with the id of each document that a SELECT names. */
export const forEachId = (sql: Sql, { params, sql: select }: Where, use: (id: number) => void) =>
  Effect.map(
    sql.unsafe<{ readonly ids: Uint8Array | null }>(
      `WITH found (id) AS (${select}) SELECT ${dialectOf(sql).digits("id")} AS ids FROM found`,
      params
    ),
    ([row]) => forEachNumber(row!.ids, use)
  )

/** All documents of a collection, read from an index only. */
export const allDocuments = (collection: number): Where => ({
  sql: "SELECT d.id FROM documents AS d INDEXED BY documents_doc_id WHERE d.collection_id = ?",
  params: [collection]
})

const batch = 8192

interface Row {
  readonly ids: Uint8Array | null
  readonly names: string
}

/** Ids of a collection's documents whose source, or doc_id if they have none, passes. */
const passing = Effect.fnUntraced(function* (
  sql: Sql,
  collection: number,
  /** Undefined: the caller is gone. */
  test: (name: string) => boolean | undefined,
  most: number = batch
) {
  const { digits, indexed, jsonRows, textIn } = dialectOf(sql)
  const order = [...indexed("name"), "doc_id"].join(", ")
  const begin = [...indexed("?"), "?"].join(", ")
  const found: Array<number> = []
  let last: ReadonlyArray<string> = []
  for (;;) {
    const [row] = yield* sql.unsafe<Row>(
      `SELECT ${digits("id", order)} AS ids, ${jsonRows("name", order)} AS names
       FROM (SELECT id, name, doc_id FROM documents INDEXED BY documents_name
             WHERE collection_id = ?${last.length === 0 ? "" : ` AND (${order}) > (${begin})`}
             ORDER BY ${order} LIMIT ?) AS d`,
      [collection, ...last, most]
    )
    if (row!.ids === null) return found
    const ids: Array<number> = []
    forEachNumber(row!.ids, (id) => ids.push(id))
    const names = (JSON.parse(row!.names) as ReadonlyArray<readonly [string]>).flat()
    for (const [at, name] of names.entries()) {
      const passes = test(textIn(name))
      if (passes === undefined) return yield* Effect.interrupt
      if (passes) found.push(ids[at]!)
    }
    if (ids.length < most) return found
    const [end] = yield* sql.unsafe<{ readonly name: string; readonly doc_id: string }>(
      "SELECT name, doc_id FROM documents WHERE id = ?",
      [ids.at(-1)]
    )
    last = [...indexed("").map(() => end!.name), end!.doc_id]
  }
})

/** Ids of a collection's documents whose source, or doc_id if they have none, matches any of the texts or globs. */
export const matching = (sql: Sql, collection: number, texts: ReadonlyArray<string>, most: number = batch) =>
  Effect.flatMap(Cancelled, (isCancelled) => {
    const globs = new Globs(texts, isCancelled)
    return passing(sql, collection, (name) => globs.matches(name), most)
  })

/** The same of those that contain a text, whatever the case. */
export const containing = (sql: Sql, collection: number, text: string) =>
  Effect.flatMap(Cancelled, (isCancelled) => {
    const wanted = text.toLowerCase()
    return passing(sql, collection, (name) => (isCancelled() ? undefined : name.toLowerCase().includes(wanted)))
  })
