import * as Effect from "effect/Effect"
import * as FiberHandle from "effect/FiberHandle"
import type * as Scope from "effect/Scope"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

/** Bytes from which on one piece of work leaves enough behind. */
export const large = 4 * 1024 * 1024

let collecting: (() => void) | undefined

/** V8 collects what is old only where more is asked for: a process that has nothing to do would keep it for good. */
const collect = Effect.sync(() => {
  if (collecting === undefined) {
    setFlagsFromString("--expose-gc")
    collecting = runInNewContext("gc") as () => void
  }
  collecting()
})

/** To be called after large work: once a second has gone by without more of it, its memory is given back. */
export const reclaiming: Effect.Effect<Effect.Effect<void>, never, Scope.Scope> = Effect.gen(function* () {
  const waiting = yield* FiberHandle.make()
  return Effect.asVoid(FiberHandle.run(waiting, Effect.delay(collect, "1 second")))
})
