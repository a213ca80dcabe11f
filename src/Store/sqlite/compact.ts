import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { StoreUnavailable, isOfFullDisk } from "../../Store.ts"
import { bytesOf } from "./connect.ts"
import { retryBusy } from "./errors.ts"
import { mergeStep } from "../sql/keyword.ts"
import { forAWhile, rebuildAll, sweepAll, upkeepStep } from "../sql/upkeep.ts"
import { step } from "../../postings/mergeStep.ts"
import { sharingWrites } from "../../runtime/EventLoop.ts"
import type { Database } from "../sql/Database.ts"
import { type Sql, only } from "../sql/rows.ts"

/** Larger indexes are not rewritten in memory if the disk has no room. */
const mostInMemory = 2 ** 30

/** The upkeep of a file; `typed` runs statements outside of transactions. */
export const upkeepOf = (sql: Sql, typed: Database["write"], write: Database["write"]): Database["upkeep"] => {
  /** Whether the index has no journal on its disk, which is full. */
  const isWithoutRoom = Effect.map(typed(only<string>(sql, "PRAGMA journal_mode")), (mode) => mode === "memory")

  /** Writes the WAL into the file and empties it; false: somebody reads from it. */
  const emptyWal = Effect.map(typed(only<number>(sql, "PRAGMA wal_checkpoint(TRUNCATE)")), (busy) => busy !== 1)

  /** What to give instead if the work fails on a full disk, where it needs room but is not what frees it. */
  const ifThereIsRoom =
    <A>(instead: A) =>
    (work: Effect.Effect<A, StoreUnavailable>): Effect.Effect<A, StoreUnavailable> =>
      Effect.catchIf(work, isOfFullDisk, () => Effect.succeed(instead))

  /** A number that changes whenever another connection writes. */
  const writtenByOthers = typed(retryBusy(only<number>(sql, "PRAGMA data_version")))

  return {
    // Only while no other process writes: whoever writes does the rest, and two at once would wait for each other.
    settle: Effect.fnUntraced(function* () {
      const before = yield* writtenByOthers
      const isAlone = Effect.map(writtenByOthers, (now) => now === before)
      return yield* ifThereIsRoom(false)(Effect.as(forAWhile(write(upkeepStep(sql)), isAlone), true))
    }),

    // Removes the terms of deleted passages from the postings.
    purge: Effect.fnUntraced(function* () {
      const merged = forAWhile(write(mergeStep(sql, { ...step, extent: "clean" })))
      const left = yield* ifThereIsRoom(true)(merged)
      return (yield* ifThereIsRoom(false)(emptyWal)) && !left
    }),

    // Deletes dropped rows, merges all postings, computes codes again, and rewrites the file without its free pages. Others
    // may read and write meanwhile; the last step holds the write lock while it rewrites the file.
    compact: Effect.fnUntraced(function* () {
      const before = yield* typed(bytesOf(sql))
      const share = sharingWrites()
      yield* sweepAll(sql, write, share)
      const rebuilt = Effect.as(rebuildAll(sql, write, share), true).pipe(ifThereIsRoom(false))
      const isRebuilt = yield* rebuilt
      // The statistics of SQLite's planner contain samples of indexed values, also from deleted documents.
      const [analyzed] = yield* typed(sql.unsafe("SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_stat1'"))
      if (analyzed !== undefined) yield* write(sql.unsafe("ANALYZE"))
      yield* write(Effect.void)
      const isFull = yield* isWithoutRoom
      if (isFull && before > mostInMemory) {
        return yield* new StoreUnavailable({
          reason:
            `The disk is full, and an index of ${Math.round(before / 2 ** 20)} MB is too large to be rewritten in memory; ` +
            `free twice that much space, then run \`clew compact\` again`
        })
      }
      // VACUUM copies the index to where temporary data is.
      if (!isFull) yield* typed(sql`PRAGMA temp_store = FILE`)
      const vacuum = typed(retryBusy(sql.unsafe("VACUUM") as Effect.Effect<unknown, SqlError>))
      yield* vacuum
      // What that has given back may be room enough.
      const isComplete = isRebuilt || (yield* Effect.zipLeft(rebuilt, vacuum))
      yield* write(Effect.void)
      const isEmpty = yield* emptyWal
      return { before, after: yield* typed(bytesOf(sql)), complete: isComplete && isEmpty }
    })
  }
}
