import * as Effect from "effect/Effect"
import { isDeepStrictEqual } from "node:util"
import * as jsonc from "./jsonc.ts"
import { toml } from "./toml.ts"
import { attempt, entryIn, type Format, isTable, type Table, withEntry, withoutEntry } from "./Format.ts"
import { Unwritable } from "./Unwritable.ts"

/** Checks that an edit changed only what it was meant to change. */
const checked = (format: Format, after: string, wanted: Table, section: string) =>
  Effect.gen(function* () {
    const cannot = `${section} is written in a way that cannot be edited`
    const read = yield* Effect.mapError(format.read(after), () => cannot)
    // An empty section counts as none.
    const rest = (root: Table) => {
      const { [section]: inner, ...others } = root
      return isTable(inner) && Object.keys(inner).length > 0 ? root : others
    }
    return isDeepStrictEqual(rest(read), rest(wanted)) ? after : yield* Effect.fail(cannot)
  })

/** The text with the entry merged into `section.name`; fails with a message. */
export const setEntry = (format: Format, text: string, section: string, name: string, entry: Table) =>
  Effect.gen(function* () {
    const before = yield* format.read(text)
    const whole = { ...entryIn(before, section, name), ...entry }
    const after = yield* format.set(text, section, name, whole)
    return yield* checked(format, after, withEntry(before, section, name, whole), section)
  })

/** The text without `section.name`; fails with a message. */
export const dropEntry = (format: Format, text: string, section: string, name: string) =>
  Effect.gen(function* () {
    const before = yield* format.read(text)
    const after = yield* format.drop(text, section, name)
    return yield* checked(format, after, withoutEntry(before, section, name), section)
  })

const withoutMark = (text: string) => (text.startsWith("\ufeff") ? text.slice(1) : text)

const json = (strict: boolean): Format => {
  const edit = (text: string, run: (text: string) => string) =>
    attempt(() => {
      const bare = withoutMark(text)
      return text.slice(0, text.length - bare.length) + run(bare)
    })
  return {
    read: (text) =>
      Effect.flatMap(
        // A file that the client itself cannot read is its owner's to fix.
        attempt(() => (text.trim() === "" ? {} : ((strict ? JSON.parse : jsonc.parse)(withoutMark(text)) as unknown))),
        (root) => (isTable(root) ? Effect.succeed(root) : Effect.fail("the file must hold an object"))
      ),
    set: (text, section, name, entry) =>
      text.trim() === ""
        ? Effect.succeed(`${JSON.stringify({ [section]: { [name]: entry } }, null, 2)}\n`)
        : edit(text, (bare) => jsonc.setEntry(bare, section, name, entry)),
    drop: (text, section, name) => edit(text, (bare) => jsonc.dropEntry(bare, section, name)),
    alone: (section, name, entry) => Effect.succeed(JSON.stringify({ [section]: { [name]: entry } }, null, 2))
  }
}

const documentOf = (text: string) =>
  Effect.gen(function* () {
    const { parseDocument } = yield* Effect.promise(() => import("yaml"))
    const document = yield* attempt(() => parseDocument(text.trim() === "" ? "{}\n" : text))
    const [wrong] = document.errors
    return wrong === undefined ? document : yield* Effect.fail(wrong.message.split("\n")[0] ?? "")
  })

const yaml: Format = {
  read: (text) =>
    Effect.flatMap(documentOf(text), (document) => {
      const root: unknown = document.toJS() ?? {}
      return isTable(root) ? Effect.succeed(root) : Effect.fail("the file must hold a mapping")
    }),
  set: (text, section, name, entry) =>
    Effect.gen(function* () {
      const { stringify } = yield* Effect.promise(() => import("yaml"))
      const document = yield* documentOf(text)
      yield* attempt(() => document.setIn([section, name], document.createNode(entry)))
      return text.trim() === "" ? stringify(document.toJS()) : document.toString()
    }),
  drop: (text, section, name) =>
    Effect.map(documentOf(text), (document) => {
      document.deleteIn([section, name])
      return document.toString()
    }),
  alone: (section, name, entry) =>
    Effect.map(
      Effect.promise(() => import("yaml")),
      ({ stringify }) => stringify({ [section]: { [name]: entry } }).trimEnd()
    )
}

export const formats = { json: json(true), jsonc: json(false), toml, yaml }

export const unreadable = (file: string, why: string, hand: string): Unwritable =>
  new Unwritable({ message: `${file} was left untouched: ${why}. Fix it and try again, or ${hand}` })
