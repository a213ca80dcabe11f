import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { Rebuild } from "../model/Stored.ts"
import { type StoreUnavailable, UpkeepStore } from "../Store.ts"

/** What is made anew before a short command goes on: a matter of a second. */
const atOnce = 20_000

/** Milliseconds between two lines of progress. */
const interval = 2000

const names: Record<Rebuild["kind"], string> = { postings: "keyword index", codes: "codes of vectors" }

const describe = ({ collection, kind, missing, total }: Rebuild): string =>
  `The ${names[kind]} of collection ${collection} (${total} passages) ${missing ? "is missing" : "was made by an older version"}`

/** What there is answers all the same. */
const putOff = <A, R>(effect: Effect.Effect<A, StoreUnavailable, R>) =>
  Effect.catchTag(effect, "StoreUnavailable", ({ reason }) => Effect.logWarning(`Nothing was made anew. ${reason}`))

/** Makes derived data anew where another version made them, or where they are missing. */
export class Rebuilder extends Effect.Service<Rebuilder>()("clew/Rebuilder", {
  effect: Effect.gen(function* () {
    const store = yield* UpkeepStore

    /** Every step that is to be done, as it is done. Broken off, it goes on where it was. */
    const run = Stream.repeatEffectOption(
      Effect.flatMap(Effect.mapError(store.rebuildStep(), Option.some), (step) =>
        step === undefined ? Effect.fail(Option.none()) : Effect.succeed(step)
      )
    )

    /** Does it all, and says in the log what it does and how far it is. */
    const logged = Effect.gen(function* () {
      const pending = yield* store.rebuilds()
      if (pending.length === 0) return
      for (const rebuild of pending) yield* Effect.logInfo(`${describe(rebuild)}: making it anew`)
      let next = (yield* Clock.currentTimeMillis) + interval
      yield* Stream.runForEach(run, ({ collection, done, kind, total }) =>
        Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          if (now < next && done < total) return
          next = now + interval
          yield* Effect.logInfo(`The ${names[kind]} of collection ${collection}: ${done} of ${total} passages`)
        })
      )
    })

    return {
      run,

      /** For a program that runs long: done beside everything else, as is the taking away of what was dropped. A fault in it is said, and stops nothing. */
      inBackground: Effect.asVoid(
        Effect.forkScoped(putOff(Effect.zipRight(Effect.whenEffect(store.resume(), store.sweeping()), logged)))
      ),

      /**
       * For a command that is about to answer: what is missing, or small enough, is made anew at once; else a warning
       * says that the answer comes from what there is. Without `writable` nothing is made.
       */
      beforeAnswering: ({ writable }: { readonly writable: boolean }) =>
        Effect.gen(function* () {
          const pending = yield* store.rebuilds()
          const first = pending[0]
          if (first === undefined) return
          const passages = pending.reduce((sum, { done, total }) => sum + total - done, 0)
          if (writable && (first.missing || passages <= atOnce)) return yield* logged
          yield* Effect.forEach(
            pending,
            (rebuild) =>
              Effect.logWarning(
                `${describe(rebuild)}: ${rebuild.missing ? "it answers nothing" : "it answers as it is"} until \`clew doctor --fix\`, \`clew serve\` or \`clew mcp\` has made it anew`
              ),
            { discard: true }
          )
        }).pipe(putOff)
    }
  })
}) {}
