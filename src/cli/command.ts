import * as CliConfig from "@effect/cli/CliConfig"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as Options from "@effect/cli/Options"
import * as ValidationError from "@effect/cli/ValidationError"
import type * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as HashMap from "effect/HashMap"
import type { YieldWrap } from "effect/Utils"
import { stripVTControlCharacters } from "node:util"
import { decimal } from "../model/fields.ts"
import { usage, type UsageError } from "./exit.ts"

/** A flag as parsing, help and completions see it. */
export interface FlagInfo {
  /** Without its dashes. */
  readonly name: string
  /** One letter. */
  readonly alias?: string | undefined
  /** The name that switches it off, and what that does. */
  readonly negation?: string | undefined
  readonly negated?: string | undefined
  /** The name of its value in help; a switch has none. */
  readonly value?: string | undefined
  readonly choices?: ReadonlyArray<string> | undefined
  readonly repeatable?: boolean | undefined
  readonly summary: string
}

/** A flag, defined once: parsing, help and completions follow from it. */
export interface Flag<out A> extends FlagInfo {
  readonly options: Options.Options<A>
}

type About = Pick<FlagInfo, "alias" | "summary">
type Valued = About & { readonly value: string }

/** A value from text, or what would have been allowed: "a whole number from 1 to 100". */
export type Decode<A> = (text: string) => Either.Either<A, string>

const decodeAs =
  <A>(name: string, decode: Decode<A> = Either.right as Decode<A>) =>
  (text: string) =>
    Either.mapLeft(decode(text), (allowed) =>
      ValidationError.invalidValue(HelpDoc.p(`--${name} must be ${allowed}, got ${JSON.stringify(text)}`))
    )

const flag = <A, B>(
  info: FlagInfo,
  options: Options.Options<A>,
  then: (options: Options.Options<A>) => Options.Options<B>
): Flag<B> => {
  const described = Options.withDescription(options, info.summary)
  return { ...info, options: then(info.alias === undefined ? described : Options.withAlias(described, info.alias)) }
}

const optional = Options.withDefault(undefined)

/** Text as given, or decoded; undefined if absent. */
export function text<A>(name: string, about: Valued & { readonly decode: Decode<A> }): Flag<A | undefined>
export function text(name: string, about: Valued): Flag<string | undefined>
export function text(name: string, { decode, ...about }: Valued & { readonly decode?: Decode<unknown> }) {
  return flag({ ...about, name }, Options.text(name), (options) =>
    optional(Options.mapEffect(options, decodeAs(name, decode)))
  )
}

/** A path that need not exist; undefined if absent. */
export const file = (name: string, about: Valued): Flag<string | undefined> =>
  flag({ ...about, name }, Options.file(name, { exists: "either" }), optional)

/** One of the choices; undefined if absent. */
export const choice = <const C extends ReadonlyArray<string>>(
  name: string,
  about: About & { readonly choices: C }
): Flag<C[number] | undefined> =>
  flag({ ...about, name, value: name.replace(/^.*-/, "").toUpperCase() }, Options.choice(name, about.choices), optional)

type Bounded = Valued & { readonly min: number; readonly max: number }

const bounded =
  (what: string, isOfKind: (value: number) => boolean) =>
  (name: string, about: Bounded): Flag<number | undefined> =>
    text(name, {
      ...about,
      decode: (given) => {
        const value = decimal.test(given.trim()) ? Number(given) : Number.NaN
        return value >= about.min && value <= about.max && isOfKind(value)
          ? Either.right(value)
          : Either.left(`a ${what} from ${about.min} to ${about.max}`)
      }
    })

/** A number within bounds, both included. */
export const number = bounded("number", () => true)

/** A whole number within bounds, both included. */
export const integer = bounded("whole number", Number.isInteger)

/** False unless given. */
export const toggle = (name: string, about: About): Flag<boolean> =>
  flag({ ...about, name }, Options.boolean(name), (options) => options)

/** True, false by its negation, or undefined if neither was given. */
export const either = (
  name: string,
  about: About & { readonly negation: string; readonly negated: string }
): Flag<boolean | undefined> =>
  flag({ ...about, name }, Options.boolean(name), (on) =>
    Options.all({ on, off: Options.withDescription(Options.boolean(about.negation), about.negated) }).pipe(
      Options.map(({ off, on }) => (on ? true : off ? false : undefined))
    )
  )

/** A repeatable flag: its values in order, as given or decoded. */
export function repeated<A>(name: string, about: Valued & { readonly decode: Decode<A> }): Flag<ReadonlyArray<A>>
export function repeated(name: string, about: Valued): Flag<ReadonlyArray<string>>
export function repeated(
  name: string,
  { decode, ...about }: Valued & { readonly decode?: Decode<unknown> }
): Flag<ReadonlyArray<unknown>> {
  return flag({ ...about, name, repeatable: true }, Options.text(name), (options) =>
    Options.mapEffect(Options.repeated(options), (texts) => Either.all(texts.map(decodeAs(name, decode))))
  )
}

/** A command's arguments other than flags: all of one kind. */
export interface Positional {
  readonly name: string
  readonly summary: string
  readonly min: number
  readonly max: number
  /** They are paths, so a shell can complete them. */
  readonly paths?: boolean
}

/** The flags typed, under a name with dashes, each with its values. */
export type Given = HashMap.HashMap<string, ReadonlyArray<string>>

/** A command, defined once: parsing, help and completions follow from it. */
export interface Command<out E, out R> {
  readonly name: string
  /** One line. */
  readonly summary: string
  /** Paragraphs under the help's list of flags. */
  readonly details?: ReadonlyArray<string>
  readonly positional?: Positional | undefined
  readonly flags: ReadonlyArray<Flag<unknown>>
  readonly examples?: ReadonlyArray<string>
  /** It runs until it is stopped, so that a signal is its regular end; or with this flag it does. */
  readonly untilStopped?: boolean | string
  readonly subcommands: ReadonlyArray<Command<E, R>>
  /** Runs its handler with the flags decoded. */
  readonly run: (given: Given, positional: ReadonlyArray<string>) => Effect.Effect<void, E | UsageError, R>
}
export type AnyCommand = Command<unknown, unknown>

/** Flags by the names that a command's handler uses. */
type Flags = Readonly<Record<string, Flag<unknown>>>
/** What a command's handler gets for its flags. */
export type Values<F extends Flags> = { readonly [K in keyof F]: F[K] extends Flag<infer A> ? A : never }

// oxlint-disable-next-line typescript/no-explicit-any
type Step = YieldWrap<Effect.Effect<any, any, any>>
/** What a generator's steps fail with, and need: `Effect.gen`'s own types. */
type Failure<S> = [S] extends [never]
  ? never
  : [S] extends [YieldWrap<Effect.Effect<infer _A, infer E, infer _R>>]
    ? E
    : never
type Needs<S> = [S] extends [never]
  ? never
  : [S] extends [YieldWrap<Effect.Effect<infer _A, infer _E, infer R>>]
    ? R
    : never

const config = CliConfig.make({ isCaseSensitive: true })

/** The values of flags as typed, decoded by @effect/cli. */
export const decode = <const F extends Flags>(
  flags: F,
  given: Given
): Effect.Effect<Values<F>, UsageError, FileSystem.FileSystem> => {
  const entries = Object.entries(flags).map(([key, { options }]) => [key, options] as const)
  // It takes a record only if there is something in it.
  const options =
    entries.length === 0 ? Options.map(Options.none, () => ({})) : Options.all(Object.fromEntries(entries))
  return Options.parse(options, given, config).pipe(
    Effect.mapError(({ error }) => usage(stripVTControlCharacters(HelpDoc.toAnsiText(error)).trim())),
    // The record has the options of these flags under their keys.
    Effect.map((decoded) => decoded as Values<F>)
  )
}

/** A command with its handler, which gets its flags decoded, and its other arguments. */
export const define = <const F extends Flags, S extends Step = never>(
  about: Omit<AnyCommand, "flags" | "subcommands" | "run"> & { readonly flags: F },
  handler: (flags: Values<F>, positional: ReadonlyArray<string>) => Generator<S, void, never>
): Command<Failure<S>, Needs<S> | FileSystem.FileSystem> => ({
  ...about,
  flags: Object.values(about.flags),
  subcommands: [],
  run: (given, positional) =>
    Effect.flatMap(decode(about.flags, given), (flags): Effect.Effect<void, Failure<S>, Needs<S>> =>
      Effect.gen(() => handler(flags, positional))
    )
})

// oxlint-disable-next-line typescript/no-explicit-any
type Child = Command<any, any>
type FailureOf<C> = C extends Command<infer E, infer _> ? E : never
type NeedsOf<C> = C extends Command<infer _, infer R> ? R : never

/** A command with subcommands; its name alone runs the command itself. */
export const group = <P extends Child, const C extends ReadonlyArray<Child>>(
  parent: P,
  subcommands: C
): Command<FailureOf<P | C[number]>, NeedsOf<P | C[number]>> => ({ ...parent, subcommands })
