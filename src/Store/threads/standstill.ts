import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

/** How long a call may go without a step until its thread is given up, whatever the call takes all in all. */
export interface Limits {
  /** Doing nothing: longer than anybody waits for another process's lock. */
  readonly waiting: Duration.Duration
  /** At work on one statement of SQL, which shows no steps: an exact search of a large index, a merge on a slow disk. */
  readonly working: Duration.Duration
}

export const limits: Limits = { waiting: Duration.minutes(1), working: Duration.minutes(15) }

/** How often it is looked whether a call goes on. */
const look = Duration.seconds(5)

/** Ends, with the seconds, once a call has made no step for too long. */
export const standstill = (
  thread: {
    /** Another number after each step. */
    readonly steps: () => number
    /** The share of the time since it was last asked that the thread was at work. */
    readonly utilization: () => number
  },
  { waiting, working }: Limits
): Effect.Effect<number> =>
  Effect.gen(function* () {
    let [step, waited, worked] = [thread.steps(), Duration.zero, Duration.zero]
    thread.utilization()
    for (;;) {
      yield* Effect.sleep(look)
      const isAtWork = thread.utilization() > 0.5
      if (thread.steps() !== step) [step, waited, worked] = [thread.steps(), Duration.zero, Duration.zero]
      else if (isAtWork) worked = Duration.sum(worked, look)
      else waited = Duration.sum(waited, look)
      const all = Duration.sum(waited, worked)
      if (Duration.greaterThanOrEqualTo(waited, waiting) || Duration.greaterThanOrEqualTo(all, working)) {
        return Duration.toSeconds(all)
      }
    }
  })
