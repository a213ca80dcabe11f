import * as Effect from "effect/Effect"
import {
  applyEdits,
  createScanner,
  type Edit,
  findNodeAtLocation,
  type Node,
  parse as parseLoosely,
  type ParseError,
  parseTree,
  printParseErrorCode
} from "jsonc-parser"
import * as fs from "node:fs"
import * as path from "node:path"
import { isDeepStrictEqual } from "node:util"
import { isObject } from "../../model/kinds.ts"
import { Unwritable } from "../exit.ts"

export type Table = Readonly<Record<string, unknown>>

/** The keys that lead to the servers: `["mcpServers"]`. */
export type Section = ReadonlyArray<string>

/**
 * A kind of configuration file: how to add an entry to its text, remove it, and show it as a snippet. Failures are messages.
 */
export interface Format {
  /** The content of a text; a blank text has none. */
  readonly read: (text: string) => Effect.Effect<Table, string>
  readonly set: (text: string, section: Section, name: string, entry: Table) => Effect.Effect<string, string>
  readonly drop: (text: string, section: Section, name: string) => Effect.Effect<string, string>
  readonly snippet: (section: Section, name: string, entry: Table) => Effect.Effect<string>
}

/** The servers of a section; none if it is missing. */
export const sectionIn = (root: Table, section: Section): Table =>
  section.reduce<Table>((outer, key) => {
    const inner = Object.hasOwn(outer, key) ? outer[key] : undefined
    return isObject(inner) ? inner : {}
  }, root)

/** The content of an entry; empty if there is none. */
export const entryIn = (root: Table, section: Section, name: string): Table => sectionIn(root, [...section, name])

/** Whether there is an entry of this name. */
export const hasEntry = (root: Table, section: Section, name: string): boolean =>
  Object.hasOwn(sectionIn(root, section), name)

/** The content with the value at these keys; without them if it is undefined. */
const withValue = (root: Table, [key, ...rest]: Section, value: Table | undefined): Table => {
  if (key === undefined) return root
  const { [key]: _, ...others } = root
  const inner = rest.length === 0 ? value : withValue(sectionIn(root, [key]), rest, value)
  return inner === undefined ? others : { ...root, [key]: inner }
}

/** One entry below its section. */
const snippet = (section: Section, name: string, entry: Table): Table => withValue({}, [...section, name], entry)

const withoutMark = (text: string) => (text.startsWith("\ufeff") ? text.slice(1) : text)

const attempt = <A>(run: () => A): Effect.Effect<A, string> =>
  Effect.try({ try: run, catch: (error) => (error as Error).message.split("\n")[0] ?? "" })

const at = (text: string, offset: number): string => {
  const before = text.slice(0, offset).split("\n")
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`
}

const inWords = (code: string) => code.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase()

const treeOf = (text: string) => {
  const errors: Array<ParseError> = []
  const root = parseTree(text, errors, { allowTrailingComma: true })
  const [first] = errors
  if (first !== undefined) throw new Error(`${inWords(printParseErrorCode(first.error))} at ${at(text, first.offset)}`)
  return root
}

/** Parses JSON with comments and trailing commas. Throws the mistake and its place. */
export const parseJsonc = (text: string): unknown => {
  treeOf(text)
  return parseLoosely(text, [], { allowTrailingComma: true })
}

/** One level of the text's own indentation. */
const unitOf = (text: string): string => /\n(\t|[ ]{1,8})"/.exec(text)?.[1] ?? "  "

const indentAt = (text: string, offset: number): string =>
  /^[ \t]*/.exec(text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset))?.[0] ?? ""

const newlineOf = (text: string): string => (text.includes("\r\n") ? "\r\n" : "\n")

const serialized = (text: string, value: unknown, indent: string): string =>
  JSON.stringify(value, null, unitOf(text)).replace(/\n/g, `${newlineOf(text)}${indent}`)

const endOf = ({ length, offset }: Node): number => offset + length

/** The offset of the next comma, ignoring comments; none if something else follows. */
const commaAfter = (text: string, offset: number): number | undefined => {
  const scanner = createScanner(text, true)
  scanner.setPosition(offset)
  scanner.scan()
  return text[scanner.getTokenOffset()] === "," ? scanner.getTokenOffset() : undefined
}

/** The end of the line if only a comment follows, so that the comment stays with what precedes it. */
const pastComment = (text: string, offset: number): number =>
  offset + (/^[ \t]*(?:\/\/[^\r\n]*)?(?=\r?\n)/.exec(text.slice(offset))?.[0].length ?? 0)

/** Adds a member after the others, which stay as they are written. */
const added = (text: string, object: Node, key: string, value: unknown): ReadonlyArray<Edit> => {
  const newline = newlineOf(text)
  const outer = indentAt(text, object.offset)
  const inner = outer + unitOf(text)
  const member = `${newline}${inner}${JSON.stringify(key)}: ${serialized(text, value, inner)}`
  const last = object.children?.at(-1)
  const close = endOf(object) - 1
  const closing = (from: number) => (text.slice(from, close).includes("\n") ? "" : newline + outer)
  if (last === undefined) {
    const from = pastComment(text, object.offset + 1)
    return [{ offset: from, length: 0, content: member + closing(from) }]
  }
  const comma = commaAfter(text, endOf(last))
  const from = pastComment(text, comma === undefined ? endOf(last) : comma + 1)
  const trailing = comma === undefined ? "" : ","
  return [
    ...(comma === undefined ? [{ offset: endOf(last), length: 0, content: "," }] : []),
    { offset: from, length: 0, content: member + trailing + closing(from) }
  ]
}

/** Removes a member, with the comma that separated it from its neighbour. */
const dropped = (text: string, member: Node): ReadonlyArray<Edit> => {
  const members = member.parent?.children ?? []
  const previous = members[members.indexOf(member) - 1]
  const comma = commaAfter(text, endOf(member))
  const end = comma === undefined ? endOf(member) : comma + 1
  const start = text.slice(0, member.offset).trimEnd().length
  // Removes the white space before too, except the end of a comment's line.
  const edits = [{ offset: start, length: end - start, content: "" }]
  const before = comma === undefined && previous !== undefined ? commaAfter(text, endOf(previous)) : undefined
  if (before === undefined) return edits
  return before === start - 1
    ? [{ offset: before, length: end - before, content: "" }]
    : [{ offset: before, length: 1, content: "" }, ...edits]
}

/** The text with a property of an object set. */
const set = (text: string, object: Node, key: string, value: unknown): string => {
  const known = findNodeAtLocation(object, [key])
  if (known === undefined) return applyEdits(text, [...added(text, object, key, value)])
  const same = JSON.stringify(parseJsonc(text.slice(known.offset, endOf(known)))) === JSON.stringify(value)
  const content = serialized(text, value, indentAt(text, known.offset))
  return same ? text : applyEdits(text, [{ offset: known.offset, length: known.length, content }])
}

/**
 * The text with `section.name` set: equal values keep their notation and comments. Throws if the text is not JSON, or
 * the section not an object.
 */
export const setJson = (text: string, section: Section, name: string, entry: Table): string => {
  const root = treeOf(text)
  if (root?.type !== "object") throw new Error("the file must hold an object")
  const keys = [...section, name]
  let within = root
  for (const [depth, key] of keys.entries()) {
    const inner = findNodeAtLocation(within, [key])
    if (inner === undefined || (inner.type !== "object" && depth === section.length))
      return set(text, within, key, sectionIn(snippet(section, name, entry), keys.slice(0, depth + 1)))
    if (inner.type !== "object") throw new Error(`${JSON.stringify(key)} must be an object (${at(text, inner.offset)})`)
    within = inner
  }
  return Object.entries(entry).reduce((before, [key, value]) => {
    const tree = treeOf(before)
    const object = tree === undefined ? undefined : findNodeAtLocation(tree, keys)
    return object === undefined ? before : set(before, object, key, value)
  }, text)
}

/** The text without `section.name`. Throws if the text is not JSON. */
export const dropJson = (text: string, section: Section, name: string): string => {
  const root = treeOf(text)
  const member = root && findNodeAtLocation(root, [...section, name])?.parent
  return member === undefined ? text : applyEdits(text, [...dropped(text, member)])
}

/** A bare key if TOML allows it, else a quoted one. */
const key = (name: string): string => (/^[\w-]+$/.test(name) ? name : JSON.stringify(name))

const headerOf = (section: Section, name: string) => `[${[...section, name].map(key).join(".")}]`

/** The table that a line opens, without quotes and comments, if any. */
const opened = (line: string): string | undefined =>
  /^\s*\[/.test(line) ? line.replace(/["'\s]/g, "").split("#")[0] : undefined

/** The lines of a table, with those inside it if so wanted; not the comments before the next one. Undefined without it. */
const linesOf = (
  lines: ReadonlyArray<string>,
  header: string,
  inside: boolean
): readonly [first: number, next: number] | undefined => {
  const own = header.replace(/["'\s]/g, "")
  const inner = `${own.slice(0, -1)}.`
  const is = (line: string) => {
    const found = opened(line)
    return found === own || (inside && found?.replace(/^\[+/, "[").startsWith(inner) === true)
  }
  const first = lines.findIndex(is)
  if (first === -1) return undefined
  let next = lines.findIndex((line, index) => index > first && opened(line) !== undefined && !is(line))
  if (next === -1) next = lines.length
  while (/^\s*(?:#|$)/.test(lines[next - 1]!)) next--
  return [first, next]
}

// Loaded lazily, since few clients have such files.
const tomlLibrary = Effect.promise(() => import("smol-toml"))
const yamlLibrary = Effect.promise(() => import("yaml"))

const toml: Format = {
  // Dates and tables become JSON values, so that they compare.
  read: (text) =>
    Effect.flatMap(tomlLibrary, ({ parse }) =>
      attempt(() => JSON.parse(JSON.stringify(parse(withoutMark(text)))) as Table)
    ),
  set: (text, section, name, entry) =>
    Effect.map(tomlLibrary, ({ stringify }) => {
      const newline = newlineOf(text)
      const own = Object.fromEntries(Object.entries(entry).filter(([, value]) => !isObject(value)))
      const header = headerOf(section, name)
      const block = [header, ...stringify(own).trimEnd().split("\n")]
      const lines = text.split(/\r?\n/)
      const found = linesOf(lines, header, false)
      if (found !== undefined) return lines.toSpliced(found[0], found[1] - found[0], ...block).join(newline)
      const before = text === "" ? "" : `${text}${text.endsWith("\n") ? "" : newline}${newline}`
      return `${before}${block.join(newline)}${newline}`
    }),
  drop: (text, section, name) =>
    Effect.sync(() => {
      const header = headerOf(section, name)
      let lines = text.split(/\r?\n/)
      for (let found = linesOf(lines, header, true); found !== undefined; found = linesOf(lines, header, true)) {
        const [first, next] = found
        // The blank line that separated it from what precedes it.
        const from = lines[first - 1]?.trim() === "" ? first - 1 : first
        lines = lines.toSpliced(from, next - from)
      }
      return lines.join(newlineOf(text))
    }),
  snippet: (section, name, entry) =>
    Effect.map(tomlLibrary, ({ stringify }) => `${headerOf(section, name)}\n${stringify(entry).trimEnd()}`)
}

/** Checks that an edit changed only what it was meant to change. */
const checked = Effect.fnUntraced(function* (format: Format, after: string, wanted: Table, section: Section) {
  const cannot = `${section.join(".")} is written in a way that cannot be edited`
  const read = yield* Effect.mapError(format.read(after), () => cannot)
  // An empty section counts as none.
  const rest = (root: Table) =>
    Object.keys(sectionIn(root, section)).length > 0 ? root : withValue(root, section, undefined)
  return isDeepStrictEqual(rest(read), rest(wanted)) ? after : yield* Effect.fail(cannot)
})

/** Runs an edit on the text without its byte order mark. */
const edited = Effect.fnUntraced(function* (text: string, run: (bare: string) => Effect.Effect<string, string>) {
  const bare = withoutMark(text)
  return text.slice(0, text.length - bare.length) + (yield* run(bare))
})

/** The text with the entry merged into `section.name`; fails with a message. */
export const setEntry = Effect.fnUntraced(function* (
  format: Format,
  text: string,
  section: Section,
  name: string,
  entry: Table
) {
  const before = yield* format.read(text)
  const old = entryIn(before, section, name)
  const merged = { ...old, ...entry }
  if (isDeepStrictEqual(old, merged)) return text
  const after = yield* edited(text, (bare) => format.set(bare, section, name, merged))
  return yield* checked(format, after, withValue(before, [...section, name], merged), section)
})

/** The text without `section.name`; fails with a message. */
export const dropEntry = Effect.fnUntraced(function* (format: Format, text: string, section: Section, name: string) {
  const before = yield* format.read(text)
  const after = yield* edited(text, (bare) => format.drop(bare, section, name))
  return yield* checked(format, after, withValue(before, [...section, name], undefined), section)
})

const json = (strict: boolean): Format => ({
  read: (text) =>
    Effect.flatMap(
      // A file that the client itself cannot read is its owner's to fix.
      attempt(() => (text.trim() === "" ? {} : ((strict ? JSON.parse : parseJsonc)(withoutMark(text)) as unknown))),
      (root) => (isObject(root) ? Effect.succeed(root) : Effect.fail("the file must hold an object"))
    ),
  set: (text, section, name, entry) =>
    text.trim() === ""
      ? Effect.succeed(`${JSON.stringify(snippet(section, name, entry), null, 2)}\n`)
      : attempt(() => setJson(text, section, name, entry)),
  drop: (text, section, name) => attempt(() => dropJson(text, section, name)),
  snippet: (section, name, entry) => Effect.succeed(JSON.stringify(snippet(section, name, entry), null, 2))
})

const documentOf = Effect.fnUntraced(function* (text: string) {
  const { parseDocument } = yield* yamlLibrary
  const document = yield* attempt(() => parseDocument(withoutMark(text)))
  const [wrong] = document.errors
  return wrong === undefined ? document : yield* Effect.fail(wrong.message.split("\n")[0] ?? "")
})

/** The offset of the line that has this offset. */
const lineAt = (text: string, offset: number): number => text.lastIndexOf("\n", offset - 1) + 1

/** The section's mapping, as far as it was written, and the entry in it, each by its place in the text. */
const placesIn = Effect.fnUntraced(function* (text: string, section: Section, name: string) {
  const { isMap, isScalar } = yield* yamlLibrary
  const document = yield* documentOf(text)
  const map = section.length === 0 ? document.contents : document.getIn(section, true)
  if (!isMap(map)) return { written: document.hasIn(section), map: undefined, flow: false, pairs: [], pair: undefined }
  const pairs = map.items.flatMap(({ key, value }) => {
    const last = (value ?? key) as { readonly range?: readonly [number, number, number] | null }
    if (!isScalar(key) || key.range == null || last.range == null) return []
    return [{ name: String(key.value), from: key.range[0], to: last.range[1], end: last.range[2] }]
  })
  return {
    written: true,
    map: map.range ?? undefined,
    flow: map.flow === true,
    pairs,
    pair: pairs.find((pair) => pair.name === name)
  }
})

const yaml: Format = {
  read: (text) =>
    Effect.flatMap(documentOf(text), (document) => {
      const root: unknown = document.toJS() ?? {}
      return isObject(root) ? Effect.succeed(root) : Effect.fail("the file must hold a mapping")
    }),
  set: (text, section, name, entry) =>
    Effect.gen(function* () {
      const { stringify } = yield* yamlLibrary
      const newline = newlineOf(text)
      const block = (value: Table, indent: string) =>
        stringify(value)
          .replace(/^(?=.)/gm, indent)
          .replaceAll("\n", newline)
      const { flow, map, pair, pairs, written } = yield* placesIn(text, section, name)
      const put = (from: number, to: number, added: string) => text.slice(0, from) + added + text.slice(to)
      const ending = (offset: number) => (offset === 0 || text[offset - 1] === "\n" ? "" : newline)
      if (map === undefined || (flow && pairs.length === 0)) {
        const whole = block(snippet(section, name, entry), "")
        if (!written) return put(text.length, text.length, ending(text.length) + whole)
        // An empty section is written anew.
        const { pair: empty } = yield* placesIn(text, [], section[0]!)
        return empty === undefined ? text : put(empty.from, Math.max(empty.end, empty.from), whole)
      }
      const member = `${JSON.stringify(name)}: ${JSON.stringify(entry)}`
      if (flow) return pair === undefined ? put(map[1] - 1, map[1] - 1, `, ${member}`) : put(pair.from, pair.to, member)
      const first = pairs[0]!.from
      const indent = text.slice(lineAt(text, first), first)
      const added = block({ [name]: entry }, indent)
      const last = pairs.at(-1)!.end
      return pair === undefined ? put(last, last, ending(last) + added) : put(lineAt(text, pair.from), pair.end, added)
    }),
  drop: (text, section, name) =>
    Effect.gen(function* () {
      const { flow, pair, pairs } = yield* placesIn(text, section, name)
      if (pair === undefined) return text
      if (!flow) {
        const whole = pairs.length > 1 || section.length !== 1 ? undefined : yield* placesIn(text, [], section[0]!)
        const above = whole?.pair !== undefined && !text.slice(whole.pair.from, pair.from).includes("#")
        // A section that has only this entry goes with it, unless it has comments.
        return text.slice(0, lineAt(text, above ? whole.pair!.from : pair.from)) + text.slice(pair.end)
      }
      const at = pairs.indexOf(pair)
      const [from, to] = at > 0 ? [pairs[at - 1]!.to, pair.to] : [pair.from, pairs[1]?.from ?? pair.to]
      return text.slice(0, from) + text.slice(to)
    }),
  snippet: (section, name, entry) =>
    Effect.map(yamlLibrary, ({ stringify }) => stringify(snippet(section, name, entry)).trimEnd())
}

export const formats = { json: json(true), jsonc: json(false), toml, yaml }

export const unreadable = (file: string, why: string, hand: string): Unwritable =>
  new Unwritable({ message: `${file} was left untouched: ${why}. Fix it and try again, or ${hand}` })

const onDisk = <A>(file: string, doing: string, run: () => A): Effect.Effect<A, Unwritable> =>
  Effect.try({
    try: run,
    catch: (error) => new Unwritable({ message: `${file} cannot be ${doing}: ${(error as Error).message}` })
  })

/** The file's text; undefined if there is no file. What is not UTF-8 would not stay as it is. */
export const read = (file: string): Effect.Effect<string | undefined, Unwritable> =>
  onDisk(file, "read", () => {
    const stats = fs.statSync(file, { throwIfNoEntry: false })
    if (stats === undefined) return undefined
    if (!stats.isFile()) throw new Error("it is not a file")
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(fs.readFileSync(file))
  })

const stamp = (now: number): string => new Date(now).toISOString().replace(/[-:]|\.\d+/g, "")

/** The file that a path leads to, also if that does not exist yet. */
const targetOf = (file: string): string => {
  let target = file
  for (let links = 0; links < 40 && fs.lstatSync(target, { throwIfNoEntry: false })?.isSymbolicLink(); links++) {
    target = path.resolve(fs.realpathSync(path.dirname(target)), fs.readlinkSync(target))
  }
  return target
}

/** Whether writing a file writes in a folder, wherever links lead. */
export const staysIn = (folder: string, file: string): Effect.Effect<boolean, Unwritable> =>
  onDisk(file, "written", () => {
    let made = path.dirname(targetOf(file))
    while (!fs.existsSync(made)) made = path.dirname(made)
    const way = path.relative(fs.realpathSync(folder), fs.realpathSync(made))
    return !path.isAbsolute(way) && way.split(path.sep)[0] !== ".."
  })

/** Copies a file beside itself, under a name of its own; gives the copy's path. */
const copyOf = (file: string, now: number): string => {
  for (let copy = 1; ; copy++) {
    const backup = `${file}.${stamp(now)}${copy === 1 ? "" : `-${copy}`}.bak`
    try {
      fs.copyFileSync(file, backup, fs.constants.COPYFILE_EXCL)
      return backup
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST" || copy === 1000) throw error
    }
  }
}

/**
 * Replaces a file atomically, keeping its mode and the link to it; gives the path of a copy of the old file. Fails if it
 * is no longer as it was read.
 */
export const replace = (
  file: string,
  before: string | undefined,
  text: string,
  now: number
): Effect.Effect<string | undefined, Unwritable> =>
  onDisk(file, "written", () => {
    const target = targetOf(file)
    fs.mkdirSync(path.dirname(target), { recursive: true })
    const exists = fs.existsSync(target)
    const backup = exists ? copyOf(target, now) : undefined
    const temporary = `${target}.${process.pid}.tmp`
    try {
      fs.writeFileSync(temporary, text, { mode: exists ? fs.statSync(target).mode : 0o600 })
      if ((fs.existsSync(target) ? fs.readFileSync(target, "utf8") : undefined) !== before) {
        throw new Error("it has just been changed by another program; try again")
      }
      fs.renameSync(temporary, target)
    } finally {
      fs.rmSync(temporary, { force: true })
    }
    return backup
  })
