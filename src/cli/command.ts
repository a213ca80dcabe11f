import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import type * as Options from "@effect/cli/Options"
import type * as Effect from "effect/Effect"
import type { Flag, FlagInfo } from "./flag.ts"
import { globalFlags } from "./options.ts"

/** A command's arguments other than flags: all of one kind. */
export interface Positional {
  readonly name: string
  readonly summary: string
  readonly min: number
  readonly max: number
  /** They are paths, so a shell can complete them. */
  readonly paths?: boolean
}

/** A command, defined once: what parsing, help and completions need to know. */
export interface Spec {
  readonly name: string
  /** One line. */
  readonly summary: string
  /** Paragraphs under the help's list of flags. */
  readonly details?: ReadonlyArray<string>
  readonly positional?: Positional | undefined
  readonly flags: ReadonlyArray<FlagInfo>
  readonly examples?: ReadonlyArray<string>
  readonly subcommands: ReadonlyArray<Spec>
}

/** Flags by the names that a command's handler uses. */
type Flags = Readonly<Record<string, Flag<unknown>>>
type Values<F extends Flags> = { readonly [K in keyof F]: F[K] extends Flag<infer A> ? A : never }

export interface Defined<E, R> {
  readonly spec: Spec
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly command: Command.Command<any, R, E, any>
}

const optionsOf = (flags: Flags): Record<string, Options.Options<unknown>> =>
  Object.fromEntries(Object.entries(flags).map(([key, flag]) => [key, flag.options]))

const argumentsOf = (positional: Positional | undefined): Args.Args<ReadonlyArray<string>> => {
  if (positional === undefined) return Args.map(Args.none, () => [])
  const { max, min, name, paths, summary } = positional
  const one = paths === true ? Args.path({ name, exists: "either" }) : Args.text({ name })
  return Args.between(Args.withDescription(one, summary), min, max)
}

/** A command with its handler, which gets its flags and its other arguments. */
export const define = <const F extends Flags, E, R>(
  about: Omit<Spec, "flags" | "subcommands"> & { readonly flags: F },
  run: (flags: Values<F>, positional: ReadonlyArray<string>) => Effect.Effect<void, E, R>
): Defined<E, R> => ({
  spec: { ...about, flags: Object.values(about.flags), subcommands: [] },
  command: Command.make(
    about.name,
    {
      own: optionsOf(about.flags),
      // Already parsed before; listed here for the shells' completions.
      global: optionsOf(globalFlags),
      positional: argumentsOf(about.positional)
    },
    ({ own, positional }) => run(own as Values<F>, positional)
  ).pipe(Command.withDescription(about.summary))
})

// oxlint-disable-next-line typescript/no-explicit-any
type Child = Defined<any, any>

/** A command with subcommands; its name alone runs the command itself. */
export const group = <P extends Child, const Sub extends readonly [Child, ...Array<Child>]>(
  parent: P,
  children: Sub
): Defined<Failure<P | Sub[number]>, Needs<P | Sub[number]>> => {
  const [first, ...rest] = children
  return {
    spec: { ...parent.spec, subcommands: children.map(({ spec }) => spec) },
    command: Command.withSubcommands(parent.command, [first.command, ...rest.map(({ command }) => command)])
  }
}

type Failure<D> = D extends Defined<infer E, infer _> ? E : never
type Needs<D> = D extends Defined<infer _, infer R> ? R : never
