import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as path from "node:path"
import { type Backup, Backups } from "../upkeep/Backups.ts"
import { define } from "./command.ts"
import { Engine } from "./engine.ts"
import * as Flag from "./flag.ts"
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
      summary: "The backup; it replaces an older one of that name, once it is checked",
      min: 1,
      max: 1,
      paths: true
    },
    flags: {
      check: Flag.toggle("check", { summary: "Only check the backup FILE: pages, documents, vectors" }),
      keep: Flag.number("keep", {
        value: "N",
        min: 1,
        max: 1000,
        whole: true,
        summary: "Keep so many backups: FILE, and older ones as FILE.1, FILE.2 and so on; default 1"
      })
    },
    details: [
      "The copy is one file that only you can read. `clew restore FILE` restores it.",
      "A copy of a damaged index replaces no backup: it is checked first."
    ],
    examples: [
      "clew backup ~/backups/clew.db",
      "clew backup --keep 7 ~/backups/clew.db",
      "clew backup --check ~/backups/clew.db"
    ]
  },
  ({ check, keep }, [name = ""]) =>
    Effect.gen(function* () {
      if (name === "-") {
        return yield* new UsageError({
          detail: "FILE must be a file: it gets its name when it is complete",
          command: "clew backup"
        })
      }
      const { cwd } = yield* Place
      const file = path.resolve(cwd, name)
      if (check && keep !== undefined) {
        return yield* new UsageError({ detail: "--check makes no backup to keep", command: "clew backup" })
      }
      const { backups } = yield* Engine
      const made = yield* Effect.provide(
        Effect.flatMap(Backups, (it) => (check ? it.check(file) : it.backup(file, { keep }))),
        backups
      )
      yield* printResult(
        BackupReport,
        reportOf(file, made),
        Effect.succeed(
          check
            ? `The backup ${shown(cwd, file)} is whole: ${whatIsIn(made)}`
            : `Backed up to ${shown(cwd, file)}: ${whatIsIn(made)}`
        )
      )
    })
)
