import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import type { Tally } from "../files/Tally.ts"
import type { WalkOptions } from "../files/WalkEvent.ts"
import { walk } from "../files/Walker.ts"
import { bytesText, count, durationText, numberText } from "./output.ts"
import { Terminal } from "./terminal.ts"

/** The size of all files that a walk has found so far. */
interface Total {
  bytes: number
  complete: boolean
}

const measure = (options: WalkOptions, total: Total) =>
  walk(options).pipe(
    Stream.runForEach((event) =>
      Effect.sync(() => {
        if (event._tag === "File") total.bytes += event.stamp.size
      })
    ),
    Effect.zipRight(Effect.sync(() => void (total.complete = true)))
  )

const done = (tally: Tally): number => tally.counts.bytes + tally.pending

const pace = (tally: Tally, ms: number): string => {
  const perSecond = (value: number) => (ms === 0 ? 0 : (value * 1000) / ms)
  return `${numberText(Math.round(perSecond(tally.counts.chunks)))} passages/s, ${bytesText(Math.round(perSecond(done(tally))))}/s`
}

const left = (tally: Tally, total: Total, ms: number): string => {
  if (!total.complete || ms < 1000 || done(tally) === 0) return ""
  return `, ${durationText((ms * Math.max(0, total.bytes - done(tally))) / done(tally))} left`
}

/** Milliseconds between two states of a line on a terminal, and until it is printed elsewhere. */
const linePace = { terminal: 100, elsewhere: 5000 }

/**
 * A line that says how far a job has come, redrawn in a terminal, else printed once, after five seconds; and what removes
 * it.
 */
export const progressLine = Effect.gen(function* () {
  const { err, note, noteInPlace } = yield* Terminal
  const interval = err.isTerminal ? linePace.terminal : linePace.elsewhere
  let next = (yield* Clock.currentTimeMillis) + (err.isTerminal ? 0 : interval)
  return {
    show: (line: () => string) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        if (now < next) return Effect.void
        next = err.isTerminal ? now + interval : Infinity
        return err.isTerminal ? noteInPlace(line()) : note(line())
      }),
    clear: err.isTerminal ? noteInPlace("") : Effect.void
  }
})

/** How much of a whole is done, in percent. */
export const shareText = (done: number, total: number): string =>
  `${total === 0 ? 100 : Math.min(100, Math.floor((100 * done) / total))}%`

const barSize = 24

/** A bar as wide as the terminal has room for. */
const barOf = (tally: Tally, total: Total, ms: number, columns: number): string => {
  // The total is not known yet: a bar that goes backwards would be more accurate, but confusing.
  const all = Math.max(1, total.complete ? total.bytes : 2 * total.bytes, done(tally))
  const bar = "█".repeat(Math.round((barSize * done(tally)) / all)).padEnd(barSize, "░")
  const line = `${bar} ${shareText(done(tally), all)}  ${pace(tally, ms)}${left(tally, total, ms)}`
  return line.slice(0, columns - 1)
}

/**
 * Shows the progress of an effect while it runs: a bar in a terminal. Elsewhere it is one line after five seconds: who reads
 * a pipe wants to know that it works, not how far it is.
 */
export const withProgress =
  (tally: Tally, options: WalkOptions) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.gen(function* () {
      const { err } = yield* Terminal
      const { clear, show } = yield* progressLine
      const total: Total = { bytes: 0, complete: false }
      const started = yield* Clock.currentTimeMillis
      const shown = Effect.flatMap(Clock.currentTimeMillis, (now) =>
        show(() =>
          err.isTerminal
            ? barOf(tally, total, now - started, err.columns)
            : `clew: ${count(tally.documents, "document")} read, ${count(tally.counts.chunks, "passage")}, ${pace(tally, now - started)}`
        )
      )
      if (err.isTerminal) yield* Effect.forkScoped(measure(options, total))
      yield* Effect.addFinalizer(() => clear)
      yield* Effect.forkScoped(Effect.repeat(shown, Schedule.spaced("125 millis")))
      return yield* effect
    }).pipe(Effect.scoped)
