import * as Effect from "effect/Effect"
import * as path from "node:path"
import { defaultCollection } from "../model/Collection.ts"
import { Watcher } from "../files/Watcher.ts"
import { define } from "./command.ts"
import { Engine } from "./engine.ts"
import { ending, exitCode } from "./exit.ts"
import * as options from "./options.ts"
import { Place } from "./place.ts"
import { Terminal } from "./terminal.ts"
import { UsageError } from "./UsageError.ts"
import { show } from "./watchText.ts"

export const watch = define(
  {
    name: "watch",
    summary: "Index files and folders, then follow their changes",
    positional: {
      name: "PATH",
      summary: "File or folder (default: watch.paths)",
      min: 0,
      max: Infinity,
      paths: true
    },
    flags: {
      collection: options.collection,
      include: options.include,
      exclude: options.exclude,
      pruneAll: options.pruneAll
    },
    examples: ["clew watch docs notes.md", "clew watch . --include '*.md' --json"],
    details: [
      "The index reflects a new, changed, moved, deleted or newly ignored file about a second later. If a folder is missing or has lost more than half of its files at once, its documents are kept.",
      "Only one process watches an index; a second one waits until it ends. Ctrl-C stops at a safe point."
    ]
  },
  (flags, named) =>
    Effect.gen(function* () {
      const { cwd } = yield* Place
      const { isOutputGone, note } = yield* Terminal
      const engine = yield* Engine
      const { watch: configured } = yield* engine.settings
      const paths = named.length > 0 ? named.map((name) => path.resolve(cwd, name)) : configured.paths
      if (paths.length === 0) {
        return yield* new UsageError({
          detail: "nothing to watch: name a PATH, or set watch.paths in the configuration",
          command: "clew watch"
        })
      }
      ending.bySignal = exitCode.done
      const stopped = Effect.unlessEffect(note("clew: stopped; what was indexed stays"), isOutputGone)
      yield* Effect.flatMap(Watcher, ({ run }) =>
        run(
          {
            paths,
            collection: flags.collection ?? defaultCollection,
            include: flags.include.length === 0 ? undefined : flags.include,
            exclude: flags.exclude.length === 0 ? undefined : flags.exclude,
            pruneAll: flags.pruneAll,
            failEarly: true
          },
          show
        )
      ).pipe(
        Effect.onInterrupt(() => stopped),
        Effect.provide(engine.open("write"))
      )
    })
)
