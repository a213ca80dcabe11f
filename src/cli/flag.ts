import * as HelpDoc from "@effect/cli/HelpDoc"
import * as Options from "@effect/cli/Options"
import * as ValidationError from "@effect/cli/ValidationError"
import * as Either from "effect/Either"

/** What parsing and help need to know about a flag. */
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

interface About {
  readonly alias?: string
  readonly summary: string
}

/** A value from text, or what would have been allowed: "a whole number from 1 to 100". */
export type Decode<A> = (text: string) => Either.Either<A, string>

const refuse = (name: string, allowed: string, text: string) =>
  ValidationError.invalidValue(HelpDoc.p(`--${name} must be ${allowed}, got ${JSON.stringify(text)}`))

const decodeAs =
  <A>(name: string, decode: Decode<A>) =>
  (text: string) =>
    Either.mapLeft(decode(text), (allowed) => refuse(name, allowed, text))

const described = <A>(options: Options.Options<A>, { alias, summary }: About): Options.Options<A> => {
  const known = Options.withDescription(options, summary)
  return alias === undefined ? known : Options.withAlias(known, alias)
}

/** Text as given, or decoded; undefined if absent. */
export const text = <A = string>(
  name: string,
  about: About & { readonly value: string; readonly decode?: Decode<A> }
): Flag<A | undefined> => ({
  ...about,
  name,
  options: described(Options.text(name), about).pipe(
    Options.mapEffect(decodeAs(name, about.decode ?? (Either.right as Decode<A>))),
    Options.withDefault(undefined)
  )
})

/** A path that need not exist; undefined if absent. */
export const file = (name: string, about: About & { readonly value: string }): Flag<string | undefined> => ({
  ...about,
  name,
  options: described(Options.file(name, { exists: "either" }), about).pipe(Options.withDefault(undefined))
})

/** One of the choices; undefined if absent. */
export const choice = <const C extends ReadonlyArray<string>>(
  name: string,
  about: About & { readonly choices: C }
): Flag<C[number] | undefined> => ({
  ...about,
  name,
  value: name.replace(/^.*-/, "").toUpperCase(),
  options: described(Options.choice(name, about.choices), about).pipe(Options.withDefault(undefined))
})

const decimal = /^[+-]?(\d+(?:\.\d*)?|\.\d+)(e[+-]?\d+)?$/i

/** A number within bounds, both included. */
export const number = (
  name: string,
  about: About & { readonly value: string; readonly min: number; readonly max: number; readonly whole?: boolean }
): Flag<number | undefined> => {
  const { max, min, whole = false } = about
  return text(name, {
    ...about,
    decode: (given) => {
      const value = decimal.test(given.trim()) ? Number(given) : Number.NaN
      return value >= min && value <= max && (!whole || Number.isInteger(value))
        ? Either.right(value)
        : Either.left(`a ${whole ? "whole " : ""}number from ${min} to ${max}`)
    }
  })
}

/** False unless given. */
export const toggle = (name: string, about: About): Flag<boolean> => ({
  ...about,
  name,
  options: described(Options.boolean(name), about)
})

/** True, false by its negation, or undefined if neither was given. */
export const either = (
  name: string,
  about: About & { readonly negation: string; readonly negated: string }
): Flag<boolean | undefined> => ({
  ...about,
  name,
  options: Options.all({
    on: described(Options.boolean(name), about),
    off: Options.withDescription(Options.boolean(about.negation), about.negated)
  }).pipe(Options.map(({ off, on }) => (on ? true : off ? false : undefined)))
})

/** A repeatable flag: its values in order. */
export const repeated = <A = string>(
  name: string,
  about: About & { readonly value: string; readonly decode?: Decode<A> }
): Flag<ReadonlyArray<A>> => ({
  ...about,
  name,
  repeatable: true,
  options: described(Options.text(name), about).pipe(
    Options.repeated,
    Options.mapEffect((texts) => Either.all(texts.map(decodeAs(name, about.decode ?? (Either.right as Decode<A>)))))
  )
})
