import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { Backups } from "../upkeep/Backups.ts"
import { reportOf, BackupReport, whatIsIn } from "./backup.ts"
import { define } from "./command.ts"
import { confirmed } from "./confirm.ts"
import { Engine } from "./engine.ts"
import * as options from "./options.ts"
import { printResult } from "./output.ts"
import { Place, shown } from "./place.ts"

export const restore = define(
  {
    name: "restore",
    summary: "Replace the index with a backup",
    positional: { name: "FILE", summary: "A backup, made by `clew backup`", min: 1, max: 1, paths: true },
    flags: { yes: options.yes },
    details: [
      "Verifies the backup first; the index stays as it was until the backup replaces it. Stop `clew serve` and everything else that writes to the index first."
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
        yield* confirmed("clew restore", `Replace ${shown(cwd, store.path)} with ${shown(cwd, file)}?`, flags.yes)
      }
      const put = yield* Effect.provide(
        Effect.flatMap(Backups, ({ restore }) => restore(file)),
        engine.backups
      )
      yield* printResult(
        BackupReport,
        reportOf(store.path, put),
        Effect.succeed(`Restored ${shown(cwd, store.path)} from ${shown(cwd, file)}: ${whatIsIn(put)}`)
      )
    })
)
