import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { inFile } from "../../Store.ts"
import { type Database, makeSearching } from "../sql/Database.ts"
import { makeScoring } from "./scoring.ts"
import { upkeepOf } from "./compact.ts"
import { single, transaction } from "./client.ts"
import { type DatabaseOptions, bytesOf, leastWalPages, open as connectTo, pageBytes, walBytes } from "./connect.ts"
import { typed } from "./errors.ts"
import * as Guard from "./file/inspect.ts"
import { eraOf, statOf } from "./file/place.ts"
import { Scanner } from "../../codes/Scanner.ts"
import * as Turn from "../../runtime/Turn.ts"
import { type Sql, only } from "../sql/rows.ts"

/** Opens a file, with the scope; `place` identifies it, undefined: a database in memory. */
export const open = (options: DatabaseOptions) =>
  Effect.gen(function* () {
    const { filename } = options
    const { file, sql } = yield* typed(filename)(connectTo(options))
    const { reading, writing, written } = file === undefined ? Guard.unguarded : Guard.guarding(sql, filename, file)
    const turn = Turn.make()
    const keep =
      file === undefined || options.mode === "readonly" ? Effect.void : yield* walKeeper(sql, turn, filename, walBytes)
    const immediate = transaction(sql, "BEGIN IMMEDIATE")
    const codes = yield* Effect.acquireRelease(
      Effect.sync(
        () => new Scanner(options.cache, file === undefined ? 0 : eraOf(filename), options.vectors?.finerBytes)
      ),
      (scanner) => Effect.sync(() => scanner.close())
    )
    const inTurn = <A, E, R>(effect: Effect.Effect<A, E, R>) => turn(typed(filename)(effect))
    const write: Database["write"] = (effect) =>
      inTurn(Effect.zipLeft(immediate(Effect.zipRight(writing, effect)), Effect.zipRight(written(immediate), keep)))
    const database: Database = {
      sql,
      graph: options.graph ?? true,
      searching: makeSearching(codes, makeScoring(), options.vectors),
      look: (effect) => inTurn(single(sql)(Effect.zipRight(reading, effect))),
      read: (effect) => inTurn(transaction(sql, "BEGIN")(Effect.zipRight(reading, effect))),
      write,
      about: Effect.map(
        only<string>(sql, "SELECT sqlite_version() AS version"),
        (version) => ({ backend: "sqlite", version, capabilities: inFile }) as const
      ),
      bytes: bytesOf(sql),
      upkeep: upkeepOf(sql, inTurn, write)
    }
    return { database, place: file }
  })

/** Between two attempts to truncate a WAL while someone still reads from it. */
const walPause = Duration.seconds(1)

/**
 * The pages that a WAL has when SQLite copies it back into a file of so many bytes: a sixteenth of the file's, within
 * bounds, since each batch changes pages all over a large file, and many of them again.
 */
const walPages = (fileBytes: number) => Math.min(32_000, Math.max(leastWalPages, fileBytes / pageBytes / 16)) | 0

/**
 * Truncates a WAL that grew beside a long reader as soon as the reader is gone, and lets that of a large index grow
 * further before it is copied back. Run the returned effect after each commit; it checks the WAL's size.
 */
export const walKeeper = Effect.fnUntraced(function* (
  sql: Sql,
  turn: Turn.Turn,
  filename: string,
  mostBytes: number
): Effect.fn.Return<Effect.Effect<unknown>, never, Scope.Scope> {
  const wanted = yield* Queue.sliding<true>(1)
  const size = (suffix = "") => Number(statOf(filename + suffix)?.size ?? 0n)
  const giveBack = sql`PRAGMA wal_checkpoint(TRUNCATE)`
  const untilSmall = Effect.repeat(
    Effect.zipRight(
      Effect.ignore(turn(giveBack)),
      Effect.sync(() => size("-wal") > mostBytes)
    ),
    { while: (large) => large, schedule: Schedule.spaced(walPause) }
  )
  yield* Effect.forkScoped(Effect.forever(Effect.zipRight(Queue.take(wanted), untilSmall)))
  let pages = leastWalPages
  return Effect.suspend((): Effect.Effect<unknown> => {
    const bytes = size("-wal")
    if (bytes > mostBytes) return Queue.offer(wanted, true)
    const due = bytes < pages * pageBytes ? pages : walPages(size())
    if (due === pages) return Effect.void
    pages = due
    // The write is done, whatever comes of this.
    return Effect.ignore(sql.unsafe(`PRAGMA wal_autocheckpoint = ${pages}`))
  })
})
