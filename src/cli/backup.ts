import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as fs from "node:fs"
import * as path from "node:path"
import { type Backup, Backups, Store, UpkeepStore } from "../Store.ts"
import * as Cli from "./command.ts"
import { Engine, Place, displayPath } from "./engine.ts"
import { freeing } from "./delete.ts"
import { usage } from "./exit.ts"
import * as options from "./flags.ts"
import { bytesText, confirmed, count, printResult } from "./output.ts"
import { unlessOfIndex } from "./writing.ts"

/** What `backup --json` and `restore --json` print. */
export const BackupReport = Schema.Struct({
  file: Schema.String,
  bytes: Schema.Int,
  collections: Schema.Int,
  documents: Schema.Int,
  chunks: Schema.Int
}).annotations({ identifier: "BackupReport" })

const reportOf = (file: string, { passages, ...backup }: Backup) => ({ file, ...backup, chunks: passages })

const whatIsIn = ({ bytes, documents, passages }: Backup): string =>
  `${count(documents, "document")}, ${count(passages, "passage")}, ${bytesText(bytes)}`

export const backup = Cli.define(
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
      check: Cli.toggle("check", { summary: "Only check the backup FILE: pages, documents, vectors" }),
      keep: Cli.integer("keep", {
        value: "N",
        min: 1,
        max: 1000,
        summary: "How many backups to keep: FILE, and older ones as FILE.1, FILE.2 and so on (default: 1)"
      })
    },
    details: [
      "The copy is one file that only you can read. `clew restore FILE` restores it.",
      "The copy is checked before it replaces an older backup."
    ],
    examples: [
      "clew backup ~/backups/clew.db",
      "clew backup --keep 7 ~/backups/clew.db",
      "clew backup --check ~/backups/clew.db"
    ]
  },
  function* ({ check, keep }, [name = ""]) {
    if (name === "-") {
      return yield* usage("FILE must be a file: it gets its name when it is complete")
    }
    const { cwd } = yield* Place
    const file = path.resolve(cwd, name)
    if (check && keep !== undefined) {
      return yield* usage("--check makes no backup: leave out --keep")
    }
    if (!check) yield* unlessOfIndex(file)
    const { backups } = yield* Engine
    const made = yield* Effect.provide(
      Effect.flatMap(Backups, (it) => (check ? it.check(file) : it.backup(file, { keep }))),
      backups
    )
    yield* printResult(
      BackupReport,
      reportOf(file, made),

      check
        ? `The backup ${displayPath(cwd, file)} is whole: ${whatIsIn(made)}`
        : `Backed up to ${displayPath(cwd, file)}: ${whatIsIn(made)}`
    )
  }
)

export const restore = Cli.define(
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
  function* (flags, [name = ""]) {
    const { cwd } = yield* Place
    const file = path.resolve(cwd, name)
    const engine = yield* Engine
    const { store } = yield* engine.settings
    // Nobody is asked about a file that is not there, which the restoring says.
    if (fs.existsSync(store.path) && fs.existsSync(file)) {
      yield* confirmed(`Replace ${displayPath(cwd, store.path)} with ${displayPath(cwd, file)}?`, flags.yes)
    }
    const put = yield* Effect.provide(
      Effect.flatMap(Backups, ({ restore }) => restore(file)),
      engine.backups
    )
    yield* printResult(
      BackupReport,
      reportOf(store.path, put),
      `Restored ${displayPath(cwd, store.path)} from ${displayPath(cwd, file)}: ${whatIsIn(put)}`
    )
  }
)

/** What `compact --json` prints. */
const CompactReport = Schema.Struct({
  bytes_before: Schema.Int,
  bytes_after: Schema.Int,
  complete: Schema.Boolean
}).annotations({ identifier: "CompactReport" })

const still = (purge: boolean) =>
  purge
    ? "\nSome deleted words are still in the index's file: another program reads an older state, or the disk had no room to merge the keyword index; run this again then"
    : "\nWhen the bytes of deleted documents leave the server's disks depends on its vacuum or its merges, its backups and its replicas"

export const compact = Cli.define(
  {
    name: "compact",
    summary: "Make the index as small as possible, without a byte of deleted documents",
    flags: {},
    details: [
      "Merges the keyword index, rebuilds the vectors' codes and rewrites the file. Others can search meanwhile; writers wait while the file is written."
    ],
    examples: ["clew compact", "clew delete secret.md --yes && clew compact"]
  },
  function* () {
    yield* freeing(function* () {
      const { purge } = (yield* (yield* Store).about()).capabilities
      const { after, before, complete } = yield* (yield* UpkeepStore).compact()
      yield* printResult(
        CompactReport,
        { bytes_before: before, bytes_after: after, complete },
        `Compacted the index: ${bytesText(before)} → ${bytesText(after)}${complete ? "" : still(purge)}`
      )
    })
  }
)
