import type * as SqlClient from "@effect/sql/SqlClient"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type { Turn } from "../../runtime/Turn.ts"
import { statOf } from "./file/place.ts"

/** Between two attempts to truncate a WAL while someone still reads from it. */
const pause = Duration.seconds(1)

/**
 * Truncates a WAL that grew beside a long reader as soon as the reader is gone. Run the returned effect after each
 * commit; it checks the WAL's size.
 */
export const walKeeper = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  turn: Turn,
  filename: string,
  mostBytes: number
): Effect.fn.Return<Effect.Effect<unknown>, never, Scope.Scope> {
  const wanted = yield* Queue.sliding<true>(1)
  const isLarge = Effect.sync(() => Number(statOf(`${filename}-wal`)?.size ?? 0n) > mostBytes)
  const giveBack = Effect.gen(function* () {
    const [{ timeout } = { timeout: 0 }] = yield* sql.unsafe<{ readonly timeout: number }>("PRAGMA busy_timeout")
    // Does not wait for readers while it holds the connection.
    yield* sql`PRAGMA busy_timeout = 0`
    yield* Effect.ensuring(
      sql`PRAGMA wal_checkpoint(TRUNCATE)`,
      Effect.ignore(sql.unsafe(`PRAGMA busy_timeout = ${timeout}`))
    )
  })
  const untilSmall = Effect.repeat(Effect.zipRight(Effect.ignore(turn(giveBack)), isLarge), {
    while: (large) => large,
    schedule: Schedule.spaced(pause)
  })
  yield* Effect.forkScoped(Effect.forever(Effect.zipRight(Queue.take(wanted), untilSmall)))
  return Effect.flatMap(isLarge, (large) => (large ? Queue.offer(wanted, true) : Effect.void))
})
