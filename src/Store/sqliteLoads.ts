import * as Effect from "effect/Effect"
import { type Check, fail, ok } from "../model/Check.ts"
import { connect, memory } from "./sqlite/connect.ts"
import { messageOf } from "./examine/structure.ts"

const broken = (error: unknown): Check => fail("SQLite", messageOf(error), "search, index and serve need it")

/** Whether SQLite and its extension load, and their versions, tested on a database in memory. */
export const sqliteLoads: Effect.Effect<Check> = Effect.scoped(
  Effect.flatMap(connect({ filename: memory, mode: "create" }), (sql) =>
    sql.unsafe<{ readonly sqlite: string; readonly vec: string }>(
      "SELECT sqlite_version() AS sqlite, vec_version() AS vec"
    )
  )
).pipe(
  Effect.map(([row]): Check => ok("SQLite", `SQLite ${row!.sqlite}, sqlite-vec ${row!.vec}`)),
  Effect.catchAll((error) => Effect.succeed(broken(error))),
  Effect.catchAllDefect((defect) => Effect.succeed(broken(defect)))
)
