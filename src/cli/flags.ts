import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { alternatives, mostAlternatives } from "../files/globs.ts"
import { CollectionName } from "../model/Collection.ts"
import { Since } from "../model/Since.ts"
import * as Cli from "./command.ts"

/** A collection's name, or what would be allowed. */
export const decodeCollection: Cli.Decode<CollectionName> = (text) =>
  Either.mapLeft(
    Schema.decodeUnknownEither(CollectionName)(text),
    () => "1 to 64 letters, digits, '.', '_' or '-', starting with a letter or digit"
  )

/** Understood by every command, before and after its name. */
export const globalFlags = {
  config: Cli.file("config", { value: "FILE", summary: "Configuration file (default: ./clew.toml, then the user's)" }),
  db: Cli.file("db", { value: "FILE", summary: "Index to work on" }),
  json: Cli.toggle("json", { summary: "Print the result as JSON" })
} as const

/** Questions about the program itself, and its logging. */
export const builtIns = {
  logLevel: {
    name: "log-level",
    value: "LEVEL",
    choices: ["all", "trace", "debug", "info", "warning", "error", "fatal", "none"],
    summary: "The lowest level that is logged"
  },
  help: { name: "help", alias: "h", summary: "Show this help" },
  version: { name: "version", alias: "V", summary: "Show the version" },
  completions: {
    name: "completions",
    value: "SHELL",
    choices: ["bash", "fish", "zsh"],
    summary: "Print a script that completes commands and flags in a shell"
  }
} as const satisfies Record<string, Cli.FlagInfo>

/** Understood everywhere, in the order help shows them. */
export const everywhere: ReadonlyArray<Cli.FlagInfo> = [...Object.values(globalFlags), ...Object.values(builtIns)]

export const seed = (summary: string) =>
  Cli.integer("seed", { value: "N", summary: `${summary} (default: 1)`, min: 0, max: 2 ** 31 - 1 })

const collectionFlag = (summary: string) =>
  Cli.text("collection", { alias: "c", value: "NAME", summary, decode: decodeCollection })

export const searchedCollection = collectionFlag("Search only this collection (default: all)")
export const collection = collectionFlag("Collection to work on (default: default)")
export const onlyCollection = collectionFlag("Only this collection (default: all)")

export const watch = Cli.repeated("watch", {
  value: "PATH",
  summary: "Index this file or folder and follow its changes while serving (default: watch.paths)"
})

export const allowWrite = Cli.repeated("allow-write", {
  value: "DIR",
  summary:
    "Let agents index files of this folder over MCP, and remove them from the index (default: server.write_paths, none)"
})

export const filter = Cli.repeated("filter", {
  alias: "f",
  value: "KEY=VALUE",
  summary: "Search only documents whose metadata match: lang=en, or lang=en,de for either; >=, <=, > and < compare"
})

const isSince = Schema.decodeUnknownEither(Since)

export const since = Cli.text("since", {
  value: "TIME",
  summary: "Only documents that are new or changed in the index since then: 2d, 12h, 2026-01-31",
  decode: (text) => Either.mapLeft(isSince(text), () => "a duration like 90m, 12h, 2d or 3w, or a time like 2026-01-31")
})

const decodeGlob: Cli.Decode<string> = (text) =>
  alternatives(text) === undefined
    ? Either.left(`a glob whose braces stand for at most ${mostAlternatives} names`)
    : Either.right(text)

export const include = Cli.repeated("include", {
  value: "GLOB",
  summary: "Index only matching files",
  decode: decodeGlob
})

export const exclude = Cli.repeated("exclude", {
  value: "GLOB",
  summary: "Skip matching files and folders",
  decode: decodeGlob
})

export const prune = Cli.toggle("prune", { summary: "Remove documents whose files are gone or now ignored" })

export const rehash = Cli.toggle("rehash", {
  summary: "Read every file, even if its size and times are unchanged"
})

export const dryRun = Cli.toggle("dry-run", { alias: "n", summary: "Show what would be done, and do nothing" })

export const quiet = Cli.toggle("quiet", { alias: "q", summary: "No progress and no summary" })

export const yes = Cli.toggle("yes", { alias: "y", summary: "Do not ask" })
