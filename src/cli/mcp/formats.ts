import * as Effect from "effect/Effect"
import { isDeepStrictEqual } from "node:util"
import * as jsonc from "./jsonc.ts"
import { Unwritable } from "./Unwritable.ts"

type Table = Readonly<Record<string, unknown>>

/** A kind of configuration file: how an entry is put into its text, and shown alone. */
export interface Format {
  /** Fails with what is wrong with the text, in words. */
  readonly set: (text: string, section: string, name: string, entry: Table) => Effect.Effect<string, string>
  readonly alone: (section: string, name: string, entry: Table) => Effect.Effect<string>
}

const isTable = (value: unknown): value is Table => typeof value === "object" && value !== null && !Array.isArray(value)

const entryIn = (root: unknown, section: string, name: string): Table => {
  const inner = isTable(root) ? root[section] : undefined
  const entry = isTable(inner) ? inner[name] : undefined
  return isTable(entry) ? entry : {}
}

const withEntry = (root: Table, section: string, name: string, entry: Table): Table => ({
  ...root,
  [section]: { ...(isTable(root[section]) ? root[section] : {}), [name]: entry }
})

const attempt = <A>(run: () => A): Effect.Effect<A, string> =>
  Effect.try({ try: run, catch: (error) => (error as Error).message.split("\n")[0] ?? "" })

/** Holds an edit against what it was to do: nothing else may have changed. */
const checked = (before: Table, after: unknown, text: string, section: string, name: string, entry: Table) =>
  isDeepStrictEqual(after, withEntry(before, section, name, entry))
    ? Effect.succeed(text)
    : Effect.fail(`${section} is written in a way that cannot be added to`)

const json = (strict: boolean): Format => ({
  set: (text, section, name, entry) =>
    Effect.gen(function* () {
      const blank = text.trim() === ""
      // What the client itself will not read is for its owner to mend.
      const before = blank
        ? {}
        : yield* attempt(() => (strict ? JSON.parse(text.replace(/^\ufeff/, "")) : jsonc.parse(text).value) as Table)
      const whole = { ...entryIn(before, section, name), ...entry }
      const after = yield* attempt(() => jsonc.setEntry(text, section, name, whole))
      return yield* checked(before, jsonc.parse(after).value, after, section, name, whole)
    }),
  alone: (section, name, entry) => Effect.succeed(JSON.stringify({ [section]: { [name]: entry } }, null, 2))
})

/** A bare key where TOML allows one. */
const tomlKey = (name: string): string => (/^[\w-]+$/.test(name) ? name : JSON.stringify(name))

const toml: Format = {
  set: (text, section, name, entry) =>
    Effect.gen(function* () {
      const { parse, stringify } = yield* Effect.promise(() => import("smol-toml"))
      const plain = (value: unknown) => JSON.parse(JSON.stringify(value)) as Table
      const before = plain(yield* attempt(() => parse(text)))
      const whole = { ...entryIn(before, section, name), ...entry }
      const own = Object.fromEntries(Object.entries(whole).filter(([, value]) => !isTable(value)))
      const header = `[${section}.${tomlKey(name)}]`
      const block = `${header}\n${stringify(own).trimEnd()}\n`
      const lines = text.split("\n")
      const first = lines.findIndex(
        (line) => line.replace(/["'\s]/g, "").split("#")[0] === header.replace(/["'\s]/g, "")
      )
      const next = lines.findIndex((line, index) => index > first && /^\s*\[/.test(line))
      const after =
        first === -1
          ? `${text.trimEnd()}${text.trim() === "" ? "" : "\n\n"}${block}`
          : [...lines.slice(0, first), ...block.split("\n"), ...(next === -1 ? [] : lines.slice(next))].join("\n")
      const read = yield* Effect.mapError(
        attempt(() => parse(after)),
        () => `${section} is written in a way that cannot be added to`
      )
      return yield* checked(before, plain(read), after, section, name, whole)
    }),
  alone: (section, name, entry) =>
    Effect.map(
      Effect.promise(() => import("smol-toml")),
      ({ stringify }) => `[${section}.${tomlKey(name)}]\n${stringify(entry).trimEnd()}`
    )
}

const yaml: Format = {
  set: (text, section, name, entry) =>
    Effect.gen(function* () {
      const { parseDocument, stringify } = yield* Effect.promise(() => import("yaml"))
      const document = yield* attempt(() => parseDocument(text.trim() === "" ? "{}\n" : text))
      const [wrong] = document.errors
      if (wrong !== undefined) return yield* Effect.fail(wrong.message.split("\n")[0] ?? "")
      const before = (document.toJS() ?? {}) as Table
      if (!isTable(before)) return yield* Effect.fail("the file must hold a mapping")
      const whole = { ...entryIn(before, section, name), ...entry }
      yield* attempt(() => document.setIn([section, name], document.createNode(whole)))
      const after = text.trim() === "" ? stringify(document.toJS()) : document.toString()
      return yield* checked(before, parseDocument(after).toJS(), after, section, name, whole)
    }),
  alone: (section, name, entry) =>
    Effect.map(
      Effect.promise(() => import("yaml")),
      ({ stringify }) => stringify({ [section]: { [name]: entry } }).trimEnd()
    )
}

export const formats = { json: json(true), jsonc: json(false), toml, yaml }

export const unreadable = (file: string, why: string, entry: string): Unwritable =>
  new Unwritable({
    message: `${file} was left untouched: ${why}. Mend it and try again, or add this by hand:\n\n${entry}`
  })
