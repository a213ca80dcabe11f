import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import { Embedder } from "../Embedder.ts"
import { ollamaModel, remote, type RemoteConfig } from "./backends.ts"

/**
 * Ollama if it answers and has the model, else the packaged model. Chosen for each new collection, so that a later one
 * can use an Ollama started meanwhile. Existing collections open what they record.
 */
export const make = (config: RemoteConfig, builtin: Embedder["Type"]) =>
  Effect.gen(function* () {
    // Uninterruptible, since one interrupted caller would leave its interruption as the result for all.
    const ollama = yield* Effect.cached(Effect.uninterruptible(remote(config, "ollama")))
    const said = yield* Ref.make("")
    const picked = Effect.gen(function* () {
      const { choose } = yield* Effect.promise(() => import("../vendors/OllamaModels.ts"))
      return yield* choose(config, config.model ?? ollamaModel).pipe(
        Effect.zipRight(ollama),
        Effect.catchAll(({ absent, reason }) =>
          Effect.flatMap(Ref.getAndSet(said, reason), (before) => {
            // Without Ollama, no log line is needed.
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
