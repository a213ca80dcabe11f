import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import { Embedder } from "../Embedder.ts"
import { ollamaModel, remote, type RemoteConfig } from "./backends.ts"

/**
 * Ollama where it answers and has the model, else the packaged model; asked each time, so that a collection made later
 * gets an Ollama that was started meanwhile. What a collection records is opened by that record.
 */
export const make = (config: RemoteConfig, builtin: Embedder["Type"]) =>
  Effect.gen(function* () {
    // Uninterruptible, or one caller that goes away would leave an interruption as the answer for all.
    const ollama = yield* Effect.cached(Effect.uninterruptible(remote(config, "ollama")))
    const said = yield* Ref.make("")
    const picked = Effect.gen(function* () {
      const { choose } = yield* Effect.promise(() => import("../vendors/OllamaModels.ts"))
      return yield* choose(config, config.model ?? ollamaModel).pipe(
        Effect.zipRight(ollama),
        Effect.catchAll(({ absent, reason }) =>
          Effect.flatMap(Ref.getAndSet(said, reason), (before) => {
            // Who has no Ollama expects none.
            const log = absent === true ? Effect.logDebug : Effect.logInfo
            return Effect.as(
              before === reason ? Effect.void : log(`A new collection gets the packaged model: ${reason}`),
              builtin
            )
          })
        )
      )
    })
    return Embedder.of({
      identity: Effect.flatMap(picked, ({ identity }) => identity),
      embedQuery: (text) => Effect.flatMap(picked, ({ embedQuery }) => embedQuery(text)),
      knownShare: (text) => Effect.flatMap(picked, ({ knownShare }) => knownShare?.(text) ?? Effect.succeed(1)),
      embedPassages: (texts, told) => Effect.flatMap(picked, ({ embedPassages }) => embedPassages(texts, told)),
      urgent: {
        identity: Effect.flatMap(picked, ({ identity, urgent }) => urgent?.identity ?? identity),
        check: Effect.flatMap(picked, ({ identity, urgent }) => urgent?.check ?? identity)
      }
    })
  })
