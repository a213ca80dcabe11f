import * as HashMap from "effect/HashMap"
import type { AnyCommand, Command, FlagInfo, Given } from "./command.ts"
import { didYouMean } from "../terms/nearest.ts"
import { builtIns, everywhere, globalFlags } from "./flags.ts"

/** The values of the flags that every command has. */
export interface Globals {
  readonly config: string | undefined
  readonly db: string | undefined
  readonly json: boolean
  readonly logLevel: string | undefined
}

type Shell = (typeof builtIns.completions.choices)[number]

type Request =
  | { readonly _tag: "Help" | "Version" }
  | { readonly _tag: "Completions"; readonly shell: Shell }
  | { readonly _tag: "Run"; readonly given: Given; readonly positional: ReadonlyArray<string> }
  | { readonly _tag: "Invalid"; readonly detail: string }

/** A command line, split into words that @effect/cli decodes. */
interface Invocation<E, R> {
  /** The commands named, outermost first; the program itself is the first. */
  readonly path: readonly [Command<E, R>, ...Array<Command<E, R>>]
  /** As far as the line is valid. */
  readonly globals: Globals
  readonly request: Request
}

/** Commands as typed: `clew collections drop`. */
export const typed = (path: ReadonlyArray<AnyCommand>): string => path.map(({ name }) => name).join(" ")

/** What commands are called in other programs. */
const otherwise: Readonly<Record<string, ReadonlyArray<string>>> = {
  query: ["search", "find", "grep", "q"],
  list: ["ls", "dir", "sources"],
  show: ["cat", "open", "get"],
  index: ["add", "scan", "import"],
  delete: ["rm", "remove"],
  info: ["status", "stats"],
  ask: ["chat"],
  serve: ["server", "start"],
  why: ["explain"],
  benchmark: ["bench"]
}

type Known = ReadonlyMap<string, FlagInfo>

const byName = (flags: ReadonlyArray<FlagInfo>): Known =>
  new Map(
    flags.flatMap((flag) =>
      [flag.name, flag.negation, flag.alias].flatMap((name) =>
        name === undefined ? [] : [[name.length === 1 ? `-${name}` : `--${name}`, flag] as const]
      )
    )
  )

/** `--name=value`, `-n5` and `-abc` split; no name if the token is not a flag. */
const split = (token: string, known: Known): readonly [name?: string, attached?: string] => {
  if (token.startsWith("--")) {
    const at = token.indexOf("=")
    return at === -1 ? [token] : [token.slice(0, at), token.slice(at + 1)]
  }
  if (!token.startsWith("-") || token === "-") return []
  const name = token.slice(0, 2)
  return token.length === 2 || !known.has(name) ? [token] : [name, token.slice(2)]
}

const unknownCommand = ({ subcommands }: AnyCommand, name: string): string => {
  const names = subcommands.map((command) => command.name)
  const meant = names.find((each) => otherwise[each]?.includes(name.toLowerCase()))
  return `unknown command ${JSON.stringify(name)}${meant === undefined ? didYouMean(name, names) : ` (did you mean ${meant}?)`}`
}

const unknownFlag = (root: AnyCommand, here: AnyCommand, name: string, known: Known): string => {
  const elsewhere = root.subcommands.find(({ flags }) => byName(flags).has(name))
  if (here === root && elsewhere !== undefined) {
    return `${name} goes after the command's name: ${root.name} ${elsewhere.name} ${name}`
  }
  // Another letter is as near as any.
  const hint = name.startsWith("--") ? didYouMean(name, [...known.keys()]) : ""
  return `unknown flag ${name}${hint === "" ? "; if it is not a flag, put -- before it" : hint}`
}

const wrongValue = (name: string, { choices, value: meaning }: FlagInfo, value = ""): string | undefined => {
  if (value === "") return `${name} needs a value: ${name} ${choices?.join("|") ?? meaning}`
  if (name === `--${globalFlags.db.name}` && isAddress(value)) return inTheOpen
  if (choices === undefined || choices.includes(value)) return undefined
  return `${name} must be one of ${choices.join(", ")}, got ${JSON.stringify(value)}${didYouMean(value, choices)}`
}

const isAddress = (text: string): boolean => /^postgres(?:ql)?:\/\//i.test(text)

/** Other users of a machine can read a command line. */
const inTheOpen =
  "an address may have a password, which a command line shows to others; name it in CLEW_STORE_URL, or as store.url in a configuration file"

const wrongPositional = (here: AnyCommand, isRoot: boolean, given: ReadonlyArray<string>): string | undefined => {
  if (here.subcommands.length > 0 && given[0] !== undefined) return unknownCommand(here, given[0])
  if (isRoot) return "a command is missing"
  const { max, min, name } = here.positional ?? { max: 0, min: 0, name: "" }
  if (given.length < min) return `${name} is missing`
  if (given.length > max) return `unexpected argument ${JSON.stringify(given[max])}`
  if (given.includes("")) return `${name} must not be empty`
  return here.positional?.paths === true && given.some(isAddress) ? inTheOpen : undefined
}

/**
 * Splits a command line. A flag may be anywhere after the command that has it, a global one also before, where
 * @effect/cli's own splitting would not find it; after `--` nothing is a flag. Of a flag that is not repeatable the last
 * counts. Mistakes in flags do not keep anybody from help.
 */
export const read = <E, R>(root: Command<E, R>, argv: ReadonlyArray<string>): Invocation<E, R> => {
  const end = argv.indexOf("--")
  const before = end === -1 ? argv : argv.slice(0, end)
  const asksForHelp = argv.length === 0 || argv[0] === "help" || before.includes("--help") || before.includes("-h")
  const path: [Command<E, R>, ...Array<Command<E, R>>] = [root]
  const values = new Map<FlagInfo, { readonly name: string; readonly values: ReadonlyArray<string> }>()
  const positional: Array<string> = []
  const valueOf = (flag: FlagInfo) => values.get(flag)?.values.at(-1)
  const globals = () => ({
    config: valueOf(globalFlags.config),
    db: valueOf(globalFlags.db),
    json: before.includes(`--${globalFlags.json.name}`),
    logLevel: valueOf(builtIns.logLevel)
  })
  const asked = (request: Request): Invocation<E, R> => ({ path, globals: globals(), request })
  const refuse = (detail: string) => asked({ _tag: "Invalid", detail })

  const tokens = argv[0] === "help" ? argv.slice(1) : [...argv]
  for (let token = tokens.shift(); token !== undefined; token = tokens.shift()) {
    const here = path.at(-1) ?? root
    const known = byName([...everywhere, ...here.flags])
    if (token === "--") {
      positional.push(...tokens)
      break
    }
    const [name, attached] = split(token, known)
    if (name === undefined) {
      const inner = positional.length === 0 ? here.subcommands.find((command) => command.name === token) : undefined
      if (inner === undefined) positional.push(token)
      else path.push(inner)
      continue
    }
    const flag = known.get(name)
    if (flag === undefined) {
      if (asksForHelp) continue
      return refuse(unknownFlag(root, here, name, known))
    }
    const full = name === `-${flag.alias}` ? `--${flag.name}` : name
    if (flag.value === undefined) {
      // -ny is -n -y
      if (attached !== undefined && name !== full) tokens.unshift(`-${attached}`)
      else if (attached !== undefined && !asksForHelp) return refuse(`${name} takes no value`)
      values.set(flag, { name: full, values: [] })
      continue
    }
    const next = tokens[0]
    const isValue = next !== undefined && next !== "--" && !known.has(split(next, known)[0] ?? "")
    const value = attached ?? (isValue ? tokens.shift() : undefined)
    const detail = wrongValue(name, flag, value)
    if (detail !== undefined && !asksForHelp) return refuse(detail)
    if (value !== undefined && detail === undefined) {
      const earlier = flag.repeatable === true ? (values.get(flag)?.values ?? []) : []
      values.set(flag, { name: full, values: [...earlier, value] })
    }
  }

  const here = path.at(-1) ?? root
  if (asksForHelp) {
    const [unknown] = positional
    return unknown !== undefined && here === root ? refuse(unknownCommand(root, unknown)) : asked({ _tag: "Help" })
  }
  if (values.has(builtIns.version)) return asked({ _tag: "Version" })
  // One of the choices, or it were a mistake.
  const shell = valueOf(builtIns.completions)
  if (shell !== undefined) return asked({ _tag: "Completions", shell: shell as Shell })
  const wrong = wrongPositional(here, here === root, positional)
  if (wrong !== undefined) return refuse(wrong)
  const own = here.flags.flatMap((flag) => {
    const given = values.get(flag)
    return given === undefined ? [] : [[given.name, given.values] as const]
  })
  return asked({ _tag: "Run", given: HashMap.fromIterable(own), positional })
}
