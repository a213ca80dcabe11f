import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import { type Check, ok } from "../model/Check.ts"
import { endedBySignals } from "../runtime/signals.ts"
import { documents } from "./examine/documents.ts"
import { cured } from "./examine/mend.ts"
import { salvage } from "./examine/salvage.ts"
import { schemaVersion } from "./sqlite/schema.ts"
import { client, connect, memory, open } from "./sqlite/connect.ts"
import { filling, isUnreadable, typed } from "./sqlite/errors.ts"
import { inspect, withoutPrograms } from "./sqlite/file/inspect.ts"
import { transaction } from "./sqlite/client.ts"
import * as structure from "./examine/structure.ts"
import * as derived from "./examine/derived.ts"
import { fail, guarded, mending, messageOf, salvaging, telling, warn } from "./examine/findings.ts"
import { type Run, examinedRows } from "./examine/rows.ts"
import { type Sql, only } from "./sql/rows.ts"
import { Examiner, StoreUnavailable, type Told } from "../Store.ts"

const largeWal = 256 * 1024 * 1024

/** Runs every check in one snapshot, cheap ones first. */
const look = Effect.fnUntraced(function* (
  sql: Sql,
  filename: string,
  fresh: Effect.Effect.Success<typeof structure.fresh>,
  told: Told
) {
  const size = (name: string) => (fs.existsSync(name) ? fs.statSync(name).size : 0)
  const wal = size(`${filename}-wal`)
  return [
    wal > largeWal
      ? warn(
          "WAL",
          `${Math.round(wal / 2 ** 20)} MB are waiting to be written into the index`,
          "stop long readers, then run `clew doctor --fix`",
          { _tag: "Checkpoint" }
        )
      : ok("WAL", "the WAL is small"),
    ...(yield* guarded("schema", structure.schema(sql, fresh))),
    ...(yield* Effect.zipRight(
      told(`pages of ${Math.round(size(filename) / 2 ** 20)} MB`),
      guarded("pages", endedBySignals(structure.integrity(sql)), mending)
    )),
    ...(yield* Effect.zipRight(told("records"), guarded("sequences", structure.sequences(sql), mending))),
    ...(yield* guarded("records", structure.records(sql), mending)),
    ...(yield* guarded("limits", structure.limited(sql), mending)),
    ...(yield* guarded("upkeep", structure.upkeep(sql))),
    ...(yield* guarded("documents", documents(sql, told), mending)),
    ...(yield* derived.everyCollection(sql, told))
  ]
})

const make = (filename: string) => {
  const opened = <A>(mode: "readonly" | "existing", use: (sql: Sql) => Effect.Effect<A, SqlError>) =>
    Effect.scoped(
      Effect.flatMap(open({ filename, mode }), ({ sql }) =>
        transaction(sql, mode === "readonly" ? "BEGIN" : "BEGIN IMMEDIATE")(use(sql))
      )
    )
  /** While an index is examined, a defect means damage, not a bug. */
  const orUnavailable = <A>(effect: Effect.Effect<A, SqlError | StoreUnavailable>) =>
    Effect.catchAllDefect(typed(filename)(effect), (defect) =>
      Effect.fail(new StoreUnavailable({ reason: `The index ${filename}: ${messageOf(defect)}` }))
    )
  const read: Run = (use) => orUnavailable(opened("readonly", use))
  const write: Run = (use) => orUnavailable(opened("existing", use))

  const copy = Effect.gen(function* () {
    const target = `${filename}.${yield* Clock.currentTimeMillis}.before-fix`
    yield* Effect.try({
      try: () => fs.closeSync(fs.openSync(target, "wx", 0o600)),
      catch: (error) => new StoreUnavailable({ reason: `${target} cannot be written: ${(error as Error).message}` })
    })
    yield* Effect.flatMap(client(filename, false), (sql) => filling(target)(sql.backup(target))).pipe(
      Effect.scoped,
      typed(filename),
      Effect.onError(() => Effect.sync(() => fs.rmSync(target, { force: true })))
    )
    return target
  })

  /** What can be said of an index of an older version before it is brought up to date; undefined: it is of this one. */
  const older = Effect.gen(function* () {
    const { header } = yield* inspect(filename, "readonly")
    if (header === undefined || header.userVersion >= schemaVersion) return undefined
    const sql = yield* client(filename, true)
    yield* withoutPrograms(sql, filename)
    // Who has it open may have brought it up to date, which is in the WAL.
    const version = yield* only<number>(sql, "PRAGMA user_version")
    if (version >= schemaVersion) return undefined
    return [
      warn(
        "schema",
        `the index was made by an older Clew (schema ${version}, this one has ${schemaVersion}); it is not damaged by that`,
        "run `clew info`, which brings it up to date, then `clew doctor` again; or `clew doctor --fix`, which does both",
        { _tag: "Migrate" }
      ),
      ...(yield* guarded("pages", endedBySignals(structure.integrity(sql))))
    ]
  })

  return Examiner.of({
    examine: Effect.fn("Examiner.examine")((listener) =>
      Effect.flatMap(typed(filename)(structure.fresh), (fresh) => {
        const told = telling(listener)
        return Effect.flatMap(Effect.scoped(older), (before) =>
          before === undefined ? opened("readonly", (sql) => look(sql, filename, fresh, told)) : Effect.succeed(before)
        )
      }).pipe(
        Effect.catchIf(isUnreadable, (error) =>
          Effect.succeed([fail("pages", `SQLite says: ${messageOf(error)}`, undefined, salvaging)])
        ),
        orUnavailable,
        Effect.catchAll(({ reason }) =>
          Effect.succeed([fail("file", reason, "see docs/doctor.md before you replace it")])
        )
      )
    ),

    migrate: Effect.scoped(open({ filename, mode: "existing" })).pipe(
      Effect.as(true),
      Effect.catchIf(isUnreadable, () => Effect.succeed(false)),
      typed(filename)
    ),

    copy,

    salvage: Effect.withSpan(typed(filename)(salvage(filename)), "Examiner.salvage"),

    mend: Effect.fn("Examiner.mend")(function* (cures, embedder) {
      const done = yield* cured(write, cures, embedder)
      yield* typed(filename)(
        Effect.scoped(
          Effect.flatMap(open({ filename, mode: "existing" }), ({ sql }) => sql`PRAGMA wal_checkpoint(TRUNCATE)`)
        )
      )
      return done
    }),

    ...examinedRows(read, write)
  })
}

/** Examines an index in an SQLite file. */
export const layer = (filename: string): Layer.Layer<Examiner, StoreUnavailable> =>
  Layer.sync(Examiner, () => make(filename))

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
