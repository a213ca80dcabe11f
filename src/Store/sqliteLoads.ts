import * as Effect from "effect/Effect"
import type { Check } from "../model/Check.ts"
import { messageOf } from "./examine/finding.ts"
import { connect, memory } from "./sqlite/connect.ts"

const broken = (error: unknown): Check => ({
  name: "SQLite",
  status: "fail",
  detail: `SQLite does not load: ${messageOf(error)}`,
  next: "reinstall Clew with the Node that runs it: another Node version or machine needs another build"
})

/** Whether SQLite and its extension load, and their versions, tested on a database in memory. */
export const sqliteLoads: Effect.Effect<Check> = Effect.scoped(
  Effect.flatMap(connect({ filename: memory, mode: "create" }), (sql) =>
    sql.unsafe<{ readonly sqlite: string; readonly vec: string }>(
      "SELECT sqlite_version() AS sqlite, vec_version() AS vec"
    )
  )
).pipe(
  Effect.map(([row]): Check => ({
    name: "SQLite",
    status: "ok",
    detail: `SQLite ${row!.sqlite}, sqlite-vec ${row!.vec}`
  })),
  Effect.catchAll((error) => Effect.succeed(broken(error))),
  Effect.catchAllDefect((defect) => Effect.succeed(broken(defect)))
)
