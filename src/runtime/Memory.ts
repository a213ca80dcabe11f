import * as Effect from "effect/Effect"
import * as FiberHandle from "effect/FiberHandle"
import type * as Scope from "effect/Scope"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

/** Work on this many bytes leaves enough garbage to collect. */
export const large = 4 * 1024 * 1024

/**
 * V8 collects old objects only when it needs memory: an idle process would keep them forever. Without compaction it also
 * keeps every page with one live object.
 */
const collector = Effect.sync(() => {
  setFlagsFromString("--expose-gc")
  const collect = runInNewContext("gc") as () => void
  // V8 tells bytecode by the flags, too.
  setFlagsFromString("--no-expose-gc")
  return () => {
    setFlagsFromString("--compact-on-every-full-gc")
    collect()
    setFlagsFromString("--no-compact-on-every-full-gc")
  }
})

/** Call it after large work: after a second without more, the memory is freed. */
export const reclaiming: Effect.Effect<Effect.Effect<void>, never, Scope.Scope> = Effect.gen(function* () {
  const waiting = yield* FiberHandle.make()
  const made = yield* Effect.cached(collector)
  const collect = Effect.map(made, (run) => run())
  return Effect.asVoid(FiberHandle.run(waiting, Effect.delay(collect, "1 second")))
})

/**
 * `clew mcp`, of which one per client and index mostly waits, starts with a smaller heap, in which searches take no longer
 * (scripts/launcher.mjs). Indexing takes half as much processor time again in it: whoever indexes wants the usual one.
 */
export const usualHeap: Effect.Effect<void> = Effect.sync(() => setFlagsFromString("--no-optimize-for-size"))

/**
 * Runs work that may take minutes. V8 collects old objects when they are up to four times what lived at the last
 * collection; after three seconds at twice that. At a million passages this saves 110 MB; from the start it would
 * cost an index of a few seconds a tenth of its processor time.
 */
export const lean = <A, E, R>(work: Effect.Effect<A, E, R>) => {
  const collectingSooner = Effect.sync(() => setFlagsFromString("--heap-growing-percent=100"))
  return Effect.scoped(Effect.zipRight(Effect.forkScoped(Effect.delay(collectingSooner, "3 seconds")), work))
}
