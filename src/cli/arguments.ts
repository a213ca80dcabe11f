import * as Either from "effect/Either"
import type { Spec } from "./command.ts"
import { didYouMean } from "../terms/nearest.ts"
import { builtIns, globalFlags } from "./options.ts"
import { UsageError } from "./UsageError.ts"
import { type Given, takeApart, type Words, type Wrong } from "./words.ts"

/** The values of the flags that every command has. */
export interface Globals {
  readonly config: string | undefined
  readonly db: string | undefined
  readonly json: boolean
  readonly logLevel: string | undefined
}

export type Request =
  | { readonly _tag: "Help" }
  | { readonly _tag: "Version" }
  | { readonly _tag: "Completions"; readonly shell: string }
  /** The arguments in the one order that @effect/cli parses without guessing: commands, flags, `--`, the rest. */
  | { readonly _tag: "Run"; readonly argv: ReadonlyArray<string> }

/** A command line, parsed as far as possible without running anything. */
export interface Invocation {
  readonly path: Words["path"]
  readonly globals: Globals
  readonly request: Request
}

/** Commands as typed: `clew collections drop`. */
export const typed = (path: ReadonlyArray<Spec>): string => path.map(({ name }) => name).join(" ")

const beforeDashes = (argv: ReadonlyArray<string>): ReadonlyArray<string> => {
  const at = argv.indexOf("--")
  return at === -1 ? argv : argv.slice(0, at)
}

/** The global flags, as far as they can be guessed from an invalid command line. */
export const guessGlobals = (argv: ReadonlyArray<string>): Globals => ({
  config: undefined,
  db: undefined,
  json: beforeDashes(argv).includes(`--${globalFlags.json.name}`),
  logLevel: undefined
})

/** Names of commands in other programs. */
const otherwise: Readonly<Record<string, string>> = {
  search: "query",
  find: "query",
  grep: "query",
  q: "query",
  ls: "list",
  dir: "list",
  sources: "list",
  cat: "show",
  open: "show",
  get: "show",
  add: "index",
  scan: "index",
  import: "index",
  rm: "delete",
  remove: "delete",
  status: "info",
  stats: "info",
  chat: "ask",
  server: "serve",
  start: "serve",
  explain: "why",
  bench: "benchmark"
}

const unknownCommand = (command: Spec, name: string): string => {
  const names = command.subcommands.map((subcommand) => subcommand.name)
  const meant = otherwise[name.toLowerCase()]
  if (meant !== undefined && names.includes(meant)) {
    return `unknown command ${JSON.stringify(name)} (did you mean ${meant}?)`
  }
  return `unknown command ${JSON.stringify(name)}${didYouMean(name, names)}`
}

const wrongPositional = ({ path, positional }: Words): string | undefined => {
  const command = path.at(-1) as Spec
  const first = positional[0]
  if (command.subcommands.length > 0 && first !== undefined) return unknownCommand(command, first)
  if (path.length === 1) return "a command is missing"
  const { max, min, name } = command.positional ?? { max: 0, min: 0, name: "" }
  if (positional.length < min) return `${name} is missing`
  if (positional.length > max) return `unexpected argument ${JSON.stringify(positional[max])}`
  return positional.includes("") ? `${name} must not be empty` : undefined
}

/** The flags of the innermost command; if a flag that is not repeatable is given twice, the last wins. */
const ownFlags = ({ given, path }: Words): ReadonlyArray<string> => {
  const own = given.filter(({ flag }) => path.at(-1)?.flags.includes(flag))
  return own
    .filter(
      ({ flag }, index) => flag.repeatable === true || own.findLastIndex((other) => other.flag === flag) === index
    )
    .flatMap(({ name, value }) => (value === undefined ? [name] : [name, value]))
}

/** Parses a command line. Flags may be anywhere after their command's name, global ones also before it. */
export const read = (root: Spec, argv: ReadonlyArray<string>): Either.Either<Invocation, UsageError> => {
  const asksForHelp = argv[0] === "help" || ["--help", "-h"].some((name) => beforeDashes(argv).includes(name))
  const toUsageError = ({ detail, path }: Wrong) => new UsageError({ detail, command: typed(path) })

  return Either.flatMap(
    Either.mapLeft(takeApart(root, argv[0] === "help" ? argv.slice(1) : argv, asksForHelp), toUsageError),
    (words): Either.Either<Invocation, UsageError> => {
      const { given, path, positional } = words
      const last = (name: string): Given | undefined => given.findLast(({ flag }) => flag.name === name)
      const globals: Globals = {
        config: last(globalFlags.config.name)?.value,
        db: last(globalFlags.db.name)?.value,
        json: last(globalFlags.json.name) !== undefined,
        logLevel: last(builtIns.logLevel.name)?.value
      }
      const asked = (request: Request) => Either.right({ path, globals, request })
      const refuse = (detail: string) => Either.left(toUsageError({ path, detail }))

      if (asksForHelp || argv.length === 0) {
        const [unknown] = positional
        return unknown !== undefined && path.length === 1
          ? refuse(unknownCommand(root, unknown))
          : asked({ _tag: "Help" })
      }
      if (last(builtIns.version.name) !== undefined) return asked({ _tag: "Version" })
      const shell = last(builtIns.completions.name)?.value
      if (shell !== undefined) return asked({ _tag: "Completions", shell })
      const wrong = wrongPositional(words)
      if (wrong !== undefined) return refuse(wrong)
      const commands = path.slice(1).map(({ name }) => name)
      return asked({ _tag: "Run", argv: [...commands, ...ownFlags(words), "--", ...positional] })
    }
  )
}
