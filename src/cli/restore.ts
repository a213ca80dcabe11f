import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { Snapshots } from "../upkeep/Snapshots.ts"
import { reportOf, SnapshotReport, whatIsIn } from "./backup.ts"
import { define } from "./command.ts"
import { confirmed } from "./confirm.ts"
import { Engine } from "./engine.ts"
import * as options from "./options.ts"
import { printResult } from "./output.ts"
import { Place, shown } from "./place.ts"

export const restore = define(
  {
    name: "restore",
    summary: "Put a backup in the index's place",
    positional: { name: "FILE", summary: "A backup, made by `clew backup`", min: 1, max: 1, paths: true },
    flags: { yes: options.yes },
    details: [
      "The backup is verified first, and the index stays as it was until the backup takes its place. Stop `clew serve` and whatever else writes to the index before."
    ],
    examples: ["clew restore ~/backups/clew.db --yes"]
  },
  (flags, [name = ""]) =>
    Effect.gen(function* () {
      const { cwd } = yield* Place
      const file = path.resolve(cwd, name)
      const engine = yield* Engine
      const { store } = yield* engine.settings
      if (fs.existsSync(store.path)) {
        yield* confirmed("clew restore", `Replace ${shown(cwd, store.path)} by ${shown(cwd, file)}?`, flags.yes)
      }
      const put = yield* Effect.provide(
        Effect.flatMap(Snapshots, ({ restore }) => restore(file)),
        engine.snapshots
      )
      yield* printResult(
        SnapshotReport,
        reportOf(store.path, put),
        Effect.succeed(`Restored ${shown(cwd, store.path)} from ${shown(cwd, file)}: ${whatIsIn(put)}`)
      )
    })
)
