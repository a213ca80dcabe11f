import * as Either from "effect/Either"
import type { Spec } from "./command.ts"
import type { FlagInfo } from "./flag.ts"
import { didYouMean } from "../terms/nearest.ts"
import { everywhere } from "./options.ts"

/** A flag on the command line, under its long name. */
export interface Given {
  readonly flag: FlagInfo
  readonly name: string
  readonly value: string | undefined
}

/** A parsed command line. */
export interface Words {
  /** The commands named, outermost first; the program itself is the first. */
  readonly path: readonly [Spec, ...Array<Spec>]
  readonly given: ReadonlyArray<Given>
  readonly positional: ReadonlyArray<string>
}

/** A mistake in a command line, and its command. */
export interface Wrong {
  readonly path: ReadonlyArray<Spec>
  readonly detail: string
}

type Known = ReadonlyMap<string, FlagInfo>

const byName = (flags: ReadonlyArray<FlagInfo>): Known =>
  new Map(
    flags.flatMap((flag) =>
      [flag.name, flag.negation, flag.alias]
        .filter((name) => name !== undefined)
        .map((name) => [name.length === 1 ? `-${name}` : `--${name}`, flag] as const)
    )
  )

/** `--name=value`, `-n5` and `-abc` split; undefined if the token is not a flag. */
const split = (token: string, known: Known): readonly [name: string, attached: string | undefined] | undefined => {
  if (token.startsWith("--")) {
    const at = token.indexOf("=")
    return at === -1 ? [token, undefined] : [token.slice(0, at), token.slice(at + 1)]
  }
  if (!token.startsWith("-") || token === "-") return undefined
  const name = token.slice(0, 2)
  return token.length === 2 || !known.has(name) ? [token, undefined] : [name, token.slice(2)]
}

const unknownFlag = ([root, ...inner]: readonly [Spec, ...Array<Spec>], name: string, known: Known): string => {
  const elsewhere = root.subcommands.find(({ flags }) => byName(flags).has(name))
  if (inner.length === 0 && elsewhere !== undefined) {
    return `${name} goes after the command's name: ${root.name} ${elsewhere.name} ${name}`
  }
  const hint = didYouMean(name, [...known.keys()])
  return `unknown flag ${name}${hint === "" ? "; if it is not a flag, put -- before it" : hint}`
}

/** A mistake in a flag's value, if any. */
const wrongValue = (name: string, { choices, value: meaning = "" }: FlagInfo, value: string | undefined) => {
  if (value === undefined || value === "") return `${name} needs a value: ${name} ${choices?.join("|") ?? meaning}`
  if (choices === undefined || choices.includes(value)) return undefined
  return `${name} must be one of ${choices.join(", ")}, got ${JSON.stringify(value)}${didYouMean(value, choices)}`
}

/**
 * Parses a command line. A flag may be anywhere after the command that has it; after `--` nothing is a flag. With
 * `lenient`, it ignores mistakes in flags.
 */
export const takeApart = (root: Spec, argv: ReadonlyArray<string>, lenient: boolean): Either.Either<Words, Wrong> => {
  const path: [Spec, ...Array<Spec>] = [root]
  const given: Array<Given> = []
  const positional: Array<string> = []
  const tokens = [...argv]

  for (let token = tokens.shift(); token !== undefined; token = tokens.shift()) {
    const here: Spec = path.at(-1) ?? root
    const known = byName([...everywhere, ...here.flags])
    if (token === "--") {
      positional.push(...tokens)
      break
    }
    const [name, attached] = split(token, known) ?? []
    if (name === undefined) {
      const inner = positional.length === 0 ? here.subcommands.find((command) => command.name === token) : undefined
      if (inner === undefined) positional.push(token)
      else path.push(inner)
      continue
    }
    const flag = known.get(name)
    if (flag === undefined) {
      if (lenient) continue
      return Either.left({ path, detail: unknownFlag(path, name, known) })
    }
    const full = name === `-${flag.alias}` ? `--${flag.name}` : name
    if (flag.value === undefined) {
      // -ny is -n -y
      if (attached !== undefined && name !== full) tokens.unshift(`-${attached}`)
      else if (attached !== undefined && !lenient) return Either.left({ path, detail: `${name} takes no value` })
      given.push({ flag, name: full, value: undefined })
      continue
    }
    const next = tokens[0]
    const isValue = next !== undefined && next !== "--" && !known.has(split(next, known)?.[0] ?? "")
    const value = attached ?? (isValue ? tokens.shift() : undefined)
    const detail = wrongValue(name, flag, value)
    if (detail === undefined) given.push({ flag, name: full, value })
    else if (!lenient) return Either.left({ path, detail })
  }
  return Either.right({ path, given, positional })
}
