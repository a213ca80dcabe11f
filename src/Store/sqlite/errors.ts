import { SqlError } from "@effect/sql/SqlError"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { codeOf, messageOf, typedBy } from "../sql/errors.ts"
import { StoreUnavailable, diskIsFull } from "../../Store.ts"

const busy = /^SQLITE_(BUSY|LOCKED)/

/** How long to wait for another process: longer than the 10 s that a user may have to wait, in irregular steps. */
const patience = Schedule.exponential(Duration.millis(5), 1.5).pipe(
  Schedule.union(Schedule.spaced(Duration.millis(25))),
  Schedule.jittered,
  Schedule.upTo(Duration.seconds(30))
)

/** SQLite could not open or make one of the files that it needs. */
export const isCannotOpen = (error: unknown): boolean =>
  error instanceof SqlError && /^SQLITE_(CANTOPEN|READONLY|IOERR_SHM|IOERR_LOCK|FULL)/.test(codeOf(error))

/** Another connection holds a lock. */
export const isBusy = (error: unknown): boolean => error instanceof SqlError && busy.test(codeOf(error))

export const isFull = (error: unknown): boolean => error instanceof SqlError && codeOf(error).startsWith("SQLITE_FULL")

/** The disk failed, that of whichever file a statement reads or writes. */
export const isFailing = (error: unknown): boolean =>
  error instanceof SqlError && codeOf(error).startsWith("SQLITE_IOERR")

/** A full disk is that of the file that is made, since the other is only read; which disk fails, SQLite does not say. */
export const filling =
  (target: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    effect.pipe(
      Effect.catchIf(isFull, () =>
        Effect.fail(new StoreUnavailable({ reason: `${target} cannot be written: the disk is full` }))
      ),
      Effect.catchIf(isFailing, () =>
        Effect.fail(
          new StoreUnavailable({
            reason:
              `${target} cannot be written, or what is copied there cannot be read: a disk failed (I/O error), or ` +
              `files may not grow as large (ulimit -f); see the system's log`
          })
        )
      )
    )

/** SQLite finds the file's content damaged. */
export const isDamage = (error: unknown): error is SqlError =>
  error instanceof SqlError && /^SQLITE_(CORRUPT|NOTADB)/.test(codeOf(error))

/** Pages of the file are malformed, or the disk fails to read them. */
export const isUnreadable = (error: unknown): boolean =>
  error instanceof SqlError && /^SQLITE_(CORRUPT|IOERR(?!_(WRITE|FSYNC|LOCK|UNLOCK|SHM|NOMEM)))/.test(codeOf(error))

/** For statements that fail over an existing index only if its tables are not as Clew has made them. */
export const orDamage = Effect.mapError((error: SqlError) =>
  /^SQLITE_(ERROR|CONSTRAINT|MISMATCH)/.test(codeOf(error))
    ? new SqlError({ cause: Object.assign(new Error(messageOf(error)), { code: "SQLITE_CORRUPT" }) })
    : error
)

/** Retries while another process holds the lock; it can be interrupted between two tries. */
export const retryBusy = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.catchIf(effect, isBusy, (first) =>
    Effect.flatMap(Schedule.driver(patience), (driver) => {
      const again = (error: E): Effect.Effect<A, E, R> =>
        Effect.matchEffect(Effect.interruptible(driver.next(undefined)), {
          onFailure: () => Effect.fail(error),
          onSuccess: () => Effect.catchIf(effect, isBusy, again)
        })
      return again(first)
    })
  )

const reasons: ReadonlyArray<readonly [RegExp, string]> = [
  [busy, "another process has kept it locked for too long; try again"],
  // The index of a WAL lies on the disk, too.
  [/^SQLITE_(FULL|IOERR_SHMSIZE)/, diskIsFull],
  [/^SQLITE_IOERR/, "the disk failed to read or write it (I/O error); see the system's log"],
  [
    /^SQLITE_CANTOPEN/,
    "it, or a file beside it, cannot be opened; if nothing can be written there, open it once where it is writable, for example with `clew info`"
  ],
  [/^SQLITE_READONLY/, "it is read-only, which is enough for `clew serve` and `clew mcp` with --read-only"],
  [/^SQLITE_CORRUPT/, "it is damaged; run `clew doctor` to see what can be repaired"],
  [/^SQLITE_NOTADB/, "it is not a database"],
  [
    /^SQLITE_ERROR no such table/,
    "it lacks a table; run `clew doctor` to see which, and `clew doctor --fix` to repair it"
  ]
]

/** Errors caused by the file become `StoreUnavailable`. */
export const typed = typedBy(
  "SQLite",
  (error) => reasons.find(([pattern]) => pattern.test(`${codeOf(error)} ${messageOf(error)}`))?.[1],
  "; run `clew doctor` to see what is damaged, and `clew doctor --fix` to repair it"
)
