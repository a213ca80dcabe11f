import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import type { Finding } from "../../upkeep/Examiner.ts"
import { nextTurnOrEnd } from "../../runtime/EventLoop.ts"
import { endedBySignals } from "../../runtime/signals.ts"
import { State } from "../../postings/SegmentStore.ts"
import { connect, memory } from "../sqlite/connect.ts"
import { isPresent, leaving } from "../sqlite/sweep.ts"
import { fail, ok, salvage, some, warn } from "./finding.ts"

const anew = "restore a backup with `clew restore`, or index into a new file"

/** Whether SQLite reports damaged pages. If only indices are damaged, they can be rebuilt from the rows. */
const isOfPages = (line: string): boolean =>
  /^(\*\*\*|tree|page|freelist|max rootpage|database disk|disk i\/o)/i.test(line)

/** SQLite's own checks of pages, indices and references. */
export const integrity = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const rows = yield* endedBySignals(sql.unsafe<{ readonly integrity_check: string }>("PRAGMA integrity_check(20)"))
  const said = rows.map((row) => row.integrity_check)
  yield* nextTurnOrEnd
  const orphans = yield* endedBySignals(
    sql.unsafe<{ readonly table: string; readonly count: number }>(
      `SELECT "table", count(*) AS count FROM pragma_foreign_key_check GROUP BY 1`
    )
  )
  const pages =
    said.length === 1 && said[0] === "ok"
      ? ok("pages", "SQLite's checks of pages and indices pass")
      : fail("pages", `SQLite says: ${some(said)}`, undefined, said.some(isOfPages) ? salvage : { _tag: "Rows" })
  const references =
    orphans.length === 0
      ? ok("references", "there are no orphaned rows")
      : fail(
          "references",
          `orphaned rows: ${some(orphans.map(({ count, table }) => `${count} of ${table}`))}`,
          undefined,
          { _tag: "Rows" }
        )
  return [pages, references]
})

const objects = (sql: SqlClient.SqlClient) =>
  sql.unsafe<{ readonly name: string; readonly sql: string }>(
    "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'vectors_%'"
  )

/** The tables and indices of a new index. */
export const fresh = Effect.scoped(Effect.flatMap(connect({ filename: memory, mode: "create" }), objects))

/** Columns that were added later are written with other spaces. */
const unspaced = (text: string) => text.replaceAll(/\s/g, "")

/** Compares tables and indices with those of a new index. */
export const schema = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  fresh: ReadonlyArray<{ readonly name: string; readonly sql: string }>
) {
  const found = new Map((yield* objects(sql)).map((object) => [object.name, object.sql]))
  const missing = fresh.filter(({ name }) => !found.has(name)).map(({ name }) => name)
  const altered = fresh.filter(
    (object) => found.has(object.name) && unspaced(found.get(object.name)!) !== unspaced(object.sql)
  )
  const collections = yield* sql.unsafe<{ readonly id: number }>(`SELECT id FROM collections WHERE ${isPresent}`)
  const tables = new Set(
    (yield* sql.unsafe<{ readonly name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'")).map(
      ({ name }) => name
    )
  )
  for (const { id } of collections) if (!tables.has(`vectors_${id}`)) missing.push(`vectors_${id}`)
  const findings: Array<Finding> = []
  if (missing.length > 0) findings.push(fail("schema", `missing: ${some(missing)}`, anew))
  if (altered.length > 0) {
    findings.push(fail("schema", `altered: ${some(altered.map(({ name }) => name))}`, anew))
  }
  return findings.length === 0 ? [ok("schema", "every table and index exists")] : findings
})

/** Tables that never reuse a number, and the column it is in. */
export const counted = {
  collections: "id",
  documents: "id",
  passages: "id",
  keyword_segments: "id",
  code_sets: "id",
  code_blocks: "version",
  files: "id"
} as const

/** Checks that numbers are not given twice. */
export const sequences = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const wrong: Array<string> = []
  for (const [table, id] of Object.entries(counted)) {
    const [row] = yield* sql.unsafe<{ readonly most: number | null; readonly seq: number | null }>(
      `SELECT (SELECT max(${id}) FROM ${table}) AS most, (SELECT seq FROM sqlite_sequence WHERE name = ?) AS seq`,
      [table]
    )
    if ((row?.most ?? 0) > (row?.seq ?? 0)) wrong.push(table)
  }
  return wrong.length === 0
    ? [ok("sequences", "the next numbers are free")]
    : [fail("sequences", `the next number is taken: ${some(wrong)}`, undefined, { _tag: "Rows" })]
})

const pragma = (sql: SqlClient.SqlClient, name: string) =>
  Effect.map(sql.unsafe<Record<string, number>>(`PRAGMA ${name}`), (rows) => Number(Object.values(rows[0] ?? {})[0]))

/** Segments of postings, and their unfinished merges. */
const segmentsOf = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const rows = yield* sql.unsafe<{ readonly id: number; readonly state: number; readonly inputs: string | null }>(
    "SELECT id, state, inputs FROM keyword_segments"
  )
  const live = new Set(rows.flatMap(({ id, state }) => (state === State.live ? [id] : [])))
  const building = rows.filter(({ state }) => state === State.building)
  const impossible = building.filter(({ inputs }) => !inputsOf(inputs).every((id) => live.has(id)))
  const left = rows.length - live.size
  return impossible.length > 0
    ? [
        fail("segments", `merges of segments that do not exist: ${some(impossible.map(({ id }) => id))}`, undefined, {
          _tag: "Rows"
        })
      ]
    : [
        ok(
          "segments",
          `postings are in ${live.size === 1 ? "one part" : `${live.size} parts`}${left === 0 ? "" : `; ${left} more are being merged or deleted`}`
        )
      ]
})

/** The segments that a merge replaces; [-1], which never exists, if the list is invalid. */
const inputsOf = (json: string | null): ReadonlyArray<number> => {
  try {
    const inputs: unknown = JSON.parse(json ?? "")
    return Array.isArray(inputs) && inputs.length > 0 ? (inputs as ReadonlyArray<number>) : [-1]
  } catch {
    return [-1]
  }
}

/** Dropped rows that are still being deleted, and collections with an invalid name. */
const sweeps = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const hidden = yield* sql.unsafe<{ readonly name: string; readonly meant: number }>(
    `SELECT name, name = '~' || id AS meant FROM collections NOT INDEXED WHERE id IN (${leaving}) ORDER BY id`
  )
  const wrong = hidden.filter(({ meant }) => meant === 0)
  const due = hidden.length - wrong.length
  return [
    ...(wrong.length === 0
      ? []
      : [fail("sweeps", `invalid collection name: ${some(wrong.map(({ name }) => JSON.stringify(name)))}`, anew)]),
    ...(due === 0
      ? []
      : [
          warn(
            "sweeps",
            `dropped rows are still being deleted: ${due} left`,
            "leave it to `clew serve` or the next command that writes, or run `clew compact`"
          )
        ])
  ]
})

/** Free space in the file, and unfinished work. */
export const upkeep = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const pages = yield* pragma(sql, "page_count")
  const free = yield* pragma(sql, "freelist_count")
  const reindexes = yield* sql.unsafe<{ readonly name: string }>(
    "SELECT c.name FROM reindexes AS r JOIN collections AS c ON c.id = r.collection_id"
  )
  const segments = yield* segmentsOf(sql)
  const share = Math.round((100 * free) / Math.max(1, pages))
  return [
    ...segments,
    ...(yield* sweeps(sql)),
    free > 1000 && share > 50
      ? warn("free pages", `${share} % of the file is free`, "run `clew compact`")
      : ok("free pages", `${share} % of the file is free`),
    ...(reindexes.length === 0
      ? []
      : [
          warn(
            "reindex",
            `a change of embedder is unfinished: ${some(reindexes.map(({ name }) => name))}`,
            "continue with `clew reindex`"
          )
        ])
  ]
})
