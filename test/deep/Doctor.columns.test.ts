import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { run, temporary, untold, withoutCodes, wrong } from "../examined.ts"

interface Column {
  readonly table: string
  readonly name: string
}

/** Another value than a row has, of the same type. */
const other = (column: string) => `CASE typeof(${column})
  WHEN 'integer' THEN ${column} + 1000003
  WHEN 'text' THEN ${column} || 'x'
  WHEN 'blob' THEN CAST(substr(${column}, 1, length(${column}) - 1) || x'5a' AS BLOB)
  ELSE NULL END`

/** The first row of a table that has a value in the column. */
const rowOf = ({ name, table }: Column) =>
  `(SELECT json_array(${keyOf(table).join(", ")}) FROM ${table} WHERE ${name} IS NOT NULL ORDER BY ${keyOf(table).join(", ")} LIMIT 1)`

const keys = new Map<string, ReadonlyArray<string>>()
const keyOf = (table: string): ReadonlyArray<string> => keys.get(table)!

it.layer(NodeFileSystem.layer)("doctor", (it) => {
  it.scoped(
    "finds a changed value in every column, and a deleted row of every table, but for those that the page names",
    () =>
      Effect.gen(function* () {
        const { bytes, folder } = yield* temporary
        const { bytes: small } = yield* withoutCodes
        const file = `${folder}/changed.db`
        const fresh = (content: Buffer) => {
          for (const name of [file, `${file}-wal`, `${file}-shm`, `${file}-journal`]) rmSync(name, { force: true })
          writeFileSync(file, content)
          const db = new Database(file)
          db.pragma("foreign_keys = OFF")
          return db
        }
        const db = fresh(small)
        const tables = db
          .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
          .pluck()
          .all() as ReadonlyArray<string>
        const columns: Array<Column> = []
        for (const table of tables) {
          const info = db.prepare(`SELECT name, pk FROM pragma_table_info(?)`).all(table) as ReadonlyArray<{
            readonly name: string
            readonly pk: number
          }>
          const quoted = info.map(({ name, pk }) => ({ name: `"${name}"`, pk }))
          const primary = quoted.filter(({ pk }) => pk > 0).map(({ name }) => name)
          keys.set(table, primary.length === 0 ? quoted.map(({ name }) => name) : primary)
          columns.push(...quoted.map(({ name }) => ({ table, name })))
        }
        db.close()
        const missed: Array<string> = []
        const tried = (what: string, sql: string) =>
          Effect.gen(function* () {
            // The small one is examined in a tenth of the time.
            for (const content of [small, bytes]) {
              const changed = fresh(content)
              try {
                // A table may have no row yet, and a key may not be free to change.
                if (changed.prepare(sql).run().changes === 0) continue
              } catch {
                return
              } finally {
                changed.close()
              }
              if (wrong(yield* run(file)).length === 0) missed.push(what)
              return
            }
          })
        for (const column of columns) {
          const at = `json_array(${keyOf(column.table).join(", ")}) = ${rowOf(column)}`
          yield* tried(
            `${column.table}.${column.name.slice(1, -1)}`,
            `UPDATE ${column.table} SET ${column.name} = ${other(column.name)} WHERE ${at}`
          )
        }
        for (const table of tables) {
          yield* tried(
            `a row of ${table}`,
            `DELETE FROM ${table} WHERE json_array(${keyOf(table).join(", ")}) = ${rowOf({ table, name: keyOf(table)[0]! })}`
          )
        }
        const told = Object.entries(untold).flatMap(([table, names]) => names.map((name) => `${table}.${name}`))
        const rows = new Set(["roots", "graph_linkages", "reserve"].map((table) => `a row of ${table}`))
        assert.deepStrictEqual(
          missed.filter((what) => !told.includes(what) && !rows.has(what)),
          []
        )
        const page = readFileSync(new URL("../../docs/doctor.md", import.meta.url), "utf8")
        assert.deepStrictEqual(
          told.filter((name) => !page.includes(`\`${name}\``)),
          []
        )
      }),
    600_000
  )
})
