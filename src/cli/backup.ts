import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as path from "node:path"
import { type Backup, Backups } from "../upkeep/Backups.ts"
import { define } from "./command.ts"
import { Engine } from "./engine.ts"
import { bytesText, count, printResult } from "./output.ts"
import { Place, shown } from "./place.ts"
import { UsageError } from "./UsageError.ts"

/** What `backup --json` and `restore --json` print. */
export const BackupReport = Schema.Struct({
  file: Schema.String,
  bytes: Schema.Int,
  collections: Schema.Int,
  documents: Schema.Int,
  chunks: Schema.Int
}).annotations({ identifier: "BackupReport" })

export const reportOf = (file: string, { passages, ...backup }: Backup) => ({ file, ...backup, chunks: passages })

export const whatIsIn = ({ bytes, documents, passages }: Backup): string =>
  `${count(documents, "document")}, ${count(passages, "passage")}, ${bytesText(bytes)}`

export const backup = define(
  {
    name: "backup",
    summary: "Copy the index to a file, even while it is in use",
    positional: {
      name: "FILE",
      summary: "The backup; it replaces an older one of that name",
      min: 1,
      max: 1,
      paths: true
    },
    flags: {},
    details: ["The copy is one file that only you can read. `clew restore FILE` restores it."],
    examples: ["clew backup ~/backups/clew.db"]
  },
  (_, [name = ""]) =>
    Effect.gen(function* () {
      if (name === "-") {
        return yield* new UsageError({
          detail: "FILE must be a file: it gets its name when it is complete",
          command: "clew backup"
        })
      }
      const { cwd } = yield* Place
      const file = path.resolve(cwd, name)
      const { backups } = yield* Engine
      const made = yield* Effect.provide(
        Effect.flatMap(Backups, ({ backup }) => backup(file)),
        backups
      )
      yield* printResult(
        BackupReport,
        reportOf(file, made),
        Effect.succeed(`Backed up to ${shown(cwd, file)}: ${whatIsIn(made)}`)
      )
    })
)
