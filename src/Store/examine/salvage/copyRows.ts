import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { crcOf } from "../../crc.ts"
import { isUnreadable } from "../../sqlite/errors.ts"
import { insertRows } from "../../sqlite/rows.ts"
import { isPresent } from "../../sqlite/sweep.ts"
import { transaction } from "../../sqlite/transaction.ts"
import * as vectors from "../../sqlite/vectors.ts"
import { type DocumentRow, isIntact, type PassageRow, passageColumns } from "../documents.ts"
import { eachReadable } from "./readable.ts"

type Sql = SqlClient.SqlClient
type Values = Readonly<Record<string, unknown>>

/** What could be copied and what could not. */
export interface Salvaged {
  readonly documents: number
  /** Names of lost documents, as far as they can still be read. */
  readonly lost: ReadonlyArray<string>
  /** Lost documents, those without a name included. */
  readonly missing: number
  /** Collections that had a graph. */
  readonly graphs: ReadonlyArray<number>
  /** Whether a change of embedder was under way, which must start again. */
  readonly wasReindexing: boolean
}

/** More passages than a document can have. */
const mostPassages = 2 ** 31

/** The rows, or a fallback if they cannot be read. */
const orElse = <A>(effect: Effect.Effect<A, SqlError>, other: A): Effect.Effect<A, SqlError> =>
  Effect.catchIf(effect, isUnreadable, () => Effect.succeed(other))

/** Inserts a row; false: the table rejects it, because a value is invalid or must be unique. */
const inserted = (to: Sql, table: string, columns: ReadonlyArray<string>, row: Values) =>
  insertRows(to, table, columns, [columns.map((column) => row[column])]).pipe(
    Effect.as(true),
    Effect.catchIf(
      (error) => /^SQLITE_(CONSTRAINT|MISMATCH)/.test(String((error.cause as { readonly code?: unknown }).code)),
      () => Effect.succeed(false)
    )
  )

/** An upper bound of a table's keys. */
const lastOf = Effect.fnUntraced(function* (from: Sql, table: string) {
  const [most] = yield* orElse(from.unsafe<{ readonly key: number | null }>(`SELECT max(id) AS key FROM ${table}`), [])
  const [next] = yield* orElse(
    from.unsafe<{ readonly key: number }>("SELECT max(seq) AS key FROM sqlite_sequence WHERE name = ?", [table]),
    []
  )
  return Math.max(most?.key ?? 0, next?.key ?? 0)
})

const columnsOf = (sql: Sql, table: string) =>
  Effect.map(sql.unsafe<{ readonly name: string }>("SELECT name FROM pragma_table_info(?)", [table]), (rows) =>
    rows.map(({ name }) => name)
  )

/** Copies a table whose rows are independent; leaves out rows that the new table rejects. */
const copyTable = Effect.fnUntraced(function* (
  from: Sql,
  to: Sql,
  table: string,
  use: (row: Values) => Effect.Effect<unknown, SqlError> = () => Effect.void
) {
  const columns = yield* columnsOf(to, table)
  const names = columns.map((name) => `"${name}"`).join(", ")
  yield* eachReadable<Values, never>(
    (after, most) =>
      from.unsafe(`SELECT ${names} FROM ${table} NOT INDEXED WHERE id > ? ORDER BY id LIMIT ?`, [after, most]),
    (row) => Number(row["id"]),
    yield* lastOf(from, table),
    (rows) =>
      Effect.forEach(rows, (row) =>
        Effect.flatMap(inserted(to, table, columns, row), (isIn) => (isIn ? use(row) : Effect.void))
      ).pipe(transaction(to, "BEGIN IMMEDIATE"))
  )
})

/** A document's passages, read by their consecutive numbers, since the passages' index may be damaged. */
const passagesOf = (from: Sql, { first_passage: first, id, passages }: DocumentRow) =>
  !Number.isSafeInteger(first)
    ? Effect.succeed([])
    : orElse(
        from.unsafe<PassageRow>(
          `SELECT ${passageColumns} FROM passages NOT INDEXED
           WHERE id BETWEEN ? AND ? AND document_id = ? ORDER BY id LIMIT ?`,
          [first, first! + passages - 1, id, passages]
        ),
        []
      )

/** Vectors that are as they were stored; the others are made again later. */
const vectorsOf = (from: Sql, collection: number, width: number, { first_passage: first, passages }: DocumentRow) =>
  first === null
    ? Effect.succeed([])
    : orElse(
        from.unsafe<{ readonly passage_id: number; readonly vector: Uint8Array; readonly crc: number | null }>(
          `SELECT passage_id, vector, crc FROM ${vectors.tableOf(collection)} WHERE passage_id BETWEEN ? AND ? LIMIT ?`,
          [first, first + passages - 1, passages]
        ),
        []
      ).pipe(
        Effect.map((rows) =>
          rows.filter(
            ({ crc, passage_id, vector }) =>
              vector instanceof Uint8Array &&
              vector.length === 4 * width &&
              (crc === null || crcOf(vector, passage_id) === crc)
          )
        )
      )

interface Named {
  readonly id: number
  readonly name: string
}

/** Names of a collection's documents, from a separate index, as far as it can be read. */
const eachName = Effect.fnUntraced(function* (from: Sql, collection: number, use: (id: number, name: string) => void) {
  for (let after = ""; ;) {
    const rows: ReadonlyArray<Named> = yield* orElse(
      from.unsafe<Named>(
        `SELECT id, name FROM documents INDEXED BY documents_name WHERE collection_id = ? AND name > ?
         ORDER BY name LIMIT 1000`,
        [collection, after]
      ),
      []
    )
    const last = rows.at(-1)
    if (last === undefined || !(last.name > after)) return
    after = last.name
    for (const { id, name } of rows) use(id, name)
  }
})

/** Copies what can be read and is as it was stored into a new index; what is derived from it is made again later. */
export const copyRows = Effect.fnUntraced(function* (from: Sql, to: Sql) {
  const widths = new Map<number, number>()
  let counted = 0
  yield* copyTable(from, to, "collections", ({ dimensions, documents, id }) => {
    widths.set(id as number, dimensions as number)
    counted += documents as number
    return vectors.create(to, id as number)
  })
  const hidden = yield* to.unsafe<{ readonly id: number; readonly documents: number }>(
    `DELETE FROM collections WHERE NOT (${isPresent}) RETURNING id, documents`
  )
  for (const { documents, id } of hidden) {
    widths.delete(id)
    counted -= documents
    yield* to.unsafe(`DROP TABLE ${vectors.tableOf(id)}`)
  }

  const columns = yield* columnsOf(to, "documents")
  const parts = yield* columnsOf(to, "passages")
  const kept = new Set<number>()
  const lost = new Map<number, string>()
  const keep = Effect.fnUntraced(function* (row: DocumentRow & Values) {
    const width = widths.get(row.collection_id)
    if (width === undefined) return
    const isCounted = Number.isSafeInteger(row.passages) && row.passages >= 0 && row.passages <= mostPassages
    const passages = isCounted ? yield* passagesOf(from, row) : []
    const whole = isIntact(row, passages)
    const found = whole ? yield* vectorsOf(from, row.collection_id, width, row) : []
    // Reads inside a transaction go to the database that the transaction belongs to.
    const isKept = yield* transaction(
      to,
      "BEGIN IMMEDIATE"
    )(
      Effect.gen(function* () {
        if (!whole || !(yield* inserted(to, "documents", columns, row))) return false
        const rows = passages.map((passage) => parts.map((part) => (passage as unknown as Values)[part]))
        yield* insertRows(to, "passages", parts, rows)
        yield* insertRows(
          to,
          vectors.tableOf(row.collection_id),
          ["passage_id", "vector", "crc"],
          found.map(({ crc, passage_id, vector }) => [passage_id, vector, crc])
        )
        return true
      })
    )
    if (isKept) kept.add(row.id)
    else lost.set(row.id, row.source ?? row.doc_id)
  })
  yield* eachReadable<DocumentRow & Values, never>(
    (after, most) =>
      from.unsafe(`SELECT ${columns.join(", ")} FROM documents NOT INDEXED WHERE id > ? ORDER BY id LIMIT ?`, [
        after,
        most
      ]),
    ({ id }) => id,
    yield* lastOf(from, "documents"),
    (rows) => Effect.forEach(rows, keep, { discard: true })
  )
  for (const collection of widths.keys()) {
    yield* eachName(from, collection, (id, name) => kept.has(id) || lost.set(id, name))
  }

  yield* copyTable(from, to, "files")
  // The next `index` reads the files of missing documents again.
  yield* to.unsafe(
    `UPDATE files SET size = NULL, outcome = 'unfinished', settings = '' WHERE documents <>
       (SELECT count(*) FROM documents AS d WHERE d.collection_id = files.collection_id AND d.origin = files.path)`
  )
  const roots = yield* orElse(from.unsafe<Values>("SELECT * FROM roots"), [])
  const rootColumns = yield* columnsOf(to, "roots")
  for (const root of roots) yield* inserted(to, "roots", rootColumns, root)
  const graphs = yield* Effect.filter([...widths.keys()], (collection) =>
    Effect.map(
      orElse(from.unsafe("SELECT 1 FROM graph_mentions WHERE collection_id = ? LIMIT 1", [collection]), [{}]),
      (rows) => rows.length > 0
    )
  )
  const reindexes = yield* orElse(from.unsafe("SELECT 1 FROM reindexes LIMIT 1"), [])
  return {
    documents: kept.size,
    lost: [...lost.values()],
    missing: Math.max(lost.size, counted - kept.size),
    graphs,
    wasReindexing: reindexes.length > 0
  } satisfies Salvaged as Salvaged
})
