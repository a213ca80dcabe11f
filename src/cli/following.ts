import * as Effect from "effect/Effect"
import * as path from "node:path"
import { defaultCollection } from "../model/Collection.ts"
import { Watcher } from "../files/Watcher.ts"
import { Engine } from "./engine.ts"
import { Place } from "./place.ts"
import { UsageError } from "./UsageError.ts"
import { describe } from "./watchText.ts"

/** The paths that a server follows: those of its flag, else those of the configuration. */
export const watchedBy = Effect.fnUntraced(function* (
  command: string,
  { readOnly, watch }: { readonly watch: ReadonlyArray<string>; readonly readOnly: boolean }
) {
  if (readOnly && watch.length > 0) {
    return yield* new UsageError({
      detail: "--watch writes into the index, which --read-only forbids: choose one",
      command
    })
  }
  const { cwd } = yield* Place
  const { watch: configured } = yield* (yield* Engine).settings
  return readOnly ? [] : watch.length > 0 ? watch.map((name) => path.resolve(cwd, name)) : configured.paths
})

/** Follows paths while the program does other work, and logs the results; a failure here ends nothing else. */
export const following = (paths: ReadonlyArray<string>, cwd: string): Effect.Effect<void, never, Watcher> =>
  Effect.flatMap(Watcher, ({ run }) =>
    run({ paths, collection: defaultCollection }, (event) => {
      const said = describe(event, cwd)
      if (said === undefined) return Effect.void
      return said.isTrouble ? Effect.logWarning(said.text) : Effect.logInfo(said.text)
    })
  ).pipe(Effect.catchAll(({ message }) => Effect.logError(`Not following changes: ${message}`)))
