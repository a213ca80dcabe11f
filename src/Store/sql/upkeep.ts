import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import type { StoreUnavailable } from "../../Store.ts"
import { build } from "../../codes/write.ts"
import { codesOn } from "./codes.ts"
import { mergeStep } from "./keyword.ts"
import { step } from "../../postings/mergeStep.ts"
import type { Database } from "./Database.ts"
import { sweepStep } from "./sweep.ts"
import { isPresent } from "./tables.ts"
import { vectorsOf } from "./vectors.ts"
import { type Sql, column } from "./rows.ts"

/** Computes the codes of a collection's vectors again, around the centroid of the current ones. */
const requantise = (sql: Sql, collection: number) =>
  Effect.gen(function* () {
    const current = vectorsOf(sql, collection)
    const found = yield* codesOn(sql).find(current)
    if (Option.isNone(found)) return
    const { id, width } = found.value
    const count = yield* current.countUpTo(Number.MAX_SAFE_INTEGER)
    yield* sql.unsafe("DELETE FROM code_sets WHERE id = ?", [id])
    if (count > 0) yield* build(codesOn(sql), current, { count, width })
  })

type Write = Database["write"]

/** Deletes all dropped rows; `between` runs after each step. */
export const sweepAll = (sql: Sql, write: Write, between: Effect.Effect<unknown> = Effect.void) =>
  Effect.repeat(Effect.zipLeft(write(sweepStep(sql)), between), { while: (more) => more })

/** Merges all postings, and computes the codes of all collections again. */
export const rebuildAll = Effect.fnUntraced(function* (
  sql: Sql,
  write: Write,
  between: Effect.Effect<unknown> = Effect.void
) {
  const merge = write(mergeStep(sql, { ...step, extent: "whole" }))
  yield* Effect.repeat(Effect.zipLeft(merge, between), { while: (more) => more })
  const collections = yield* write(column<number>(sql, `SELECT id FROM collections WHERE ${isPresent}`))
  for (const id of collections) yield* write(requantise(sql, id))
})

const patienceMs = 5000

/** A little of the deferred work: merging first, since it speeds up searching, then deleting dropped rows. */
export const upkeepStep = (sql: Sql) =>
  Effect.flatMap(mergeStep(sql), (more) => (more ? Effect.succeed(true) : sweepStep(sql)))

/** Takes steps while there are any and `goesOn`, for some seconds at most; returns whether some are left. */
export const forAWhile = <E>(
  step: Effect.Effect<boolean, E>,
  goesOn: Effect.Effect<boolean, E> = Effect.succeed(true)
): Effect.Effect<boolean, E> =>
  Effect.gen(function* () {
    const until = (yield* Clock.currentTimeMillis) + patienceMs
    return yield* Effect.repeat(Effect.zipLeft(step, Effect.sleep(pause)), {
      while: (more) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => (more && now < until ? goesOn : Effect.succeed(false)))
    })
  })

/** The pause between two steps, so that writers of other processes, which poll, get their turn. */
export const pause = Duration.millis(5)

/** Runs steps in the background whenever woken by the returned effect, while a step says there is more to do. */
export const stepsInBackground = Effect.fnUntraced(function* (
  what: string,
  step: Effect.Effect<boolean, StoreUnavailable>
): Effect.fn.Return<Effect.Effect<unknown>, never, Scope.Scope> {
  const wanted = yield* Queue.sliding<true>(1)
  yield* Queue.take(wanted).pipe(
    Effect.zipRight(Effect.repeat(Effect.zipLeft(step, Effect.sleep(pause)), { while: (more) => more })),
    // Nothing is lost: the next call tries again, also after a bug.
    Effect.catchTag("StoreUnavailable", ({ reason }) => Effect.logWarning(`${what} was postponed. ${reason}`)),
    Effect.catchAllDefect((defect) => Effect.logError(`${what} was postponed`, defect)),
    Effect.forever,
    Effect.forkScoped
  )
  return Queue.offer(wanted, true)
})
