import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

/** How long a call may go without progress before its thread is abandoned, however long the whole call takes. */
export interface Limits {
  /** Idle: longer than anyone waits for another process's lock. */
  readonly waiting: Duration.Duration
  /** Busy with one SQL statement, which shows no progress: an exact search of a large index, a merge on a slow disk. */
  readonly working: Duration.Duration
}

export const limits: Limits = { waiting: Duration.minutes(1), working: Duration.minutes(15) }

/** How often a call's progress is checked. */
const look = Duration.seconds(5)

/** Completes with the seconds, once a call has made no progress for too long; watches one call after another. */
export const standstill = (
  thread: {
    /** The call that the thread performs; undefined: it waits for one. */
    readonly call: () => number | undefined
    /** A number that changes with each step. */
    readonly steps: () => number
    /** The share of the time since the last call that the thread was busy. */
    readonly utilization: () => number
  },
  { waiting, working }: Limits
): Effect.Effect<number> =>
  Effect.gen(function* () {
    const state = () => ({ call: thread.call(), step: thread.steps() })
    let [before, waited, worked] = [state(), Duration.zero, Duration.zero]
    thread.utilization()
    for (;;) {
      yield* Effect.sleep(look)
      const isAtWork = thread.utilization() > 0.5
      const now = state()
      if (now.call === undefined || now.call !== before.call || now.step !== before.step) {
        ;[before, waited, worked] = [now, Duration.zero, Duration.zero]
      } else if (isAtWork) worked = Duration.sum(worked, look)
      else waited = Duration.sum(waited, look)
      const all = Duration.sum(waited, worked)
      if (Duration.greaterThanOrEqualTo(waited, waiting) || Duration.greaterThanOrEqualTo(all, working)) {
        return Duration.toSeconds(all)
      }
    }
  })
