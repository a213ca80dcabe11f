import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { defaultCollection } from "../model/Collection.ts"
import { Watcher } from "../Watcher.ts"
import { describe } from "./watchText.ts"

/** Follows paths beside what else the program does, and logs what comes of it; a trouble with it ends nothing else. */
export const following = (paths: ReadonlyArray<string>, cwd: string) =>
  paths.length === 0
    ? Layer.empty
    : Layer.scopedDiscard(
        Effect.gen(function* () {
          const { run } = yield* Watcher
          const watching = run({ paths, collection: defaultCollection }, (event) => {
            const said = describe(event, cwd)
            if (said === undefined) return Effect.void
            return said.isTrouble ? Effect.logWarning(said.text) : Effect.logInfo(said.text)
          })
          yield* Effect.forkScoped(
            Effect.catchAll(watching, ({ message }) => Effect.logError(`Changes are not followed: ${message}`))
          )
        })
      )
