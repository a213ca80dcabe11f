import * as Effect from "effect/Effect"
import * as Iterable from "effect/Iterable"
import * as Stream from "effect/Stream"
import { extension, formatOfName } from "../../chunking/format.ts"
import type { Entry } from "../../entries/Entry.ts"
import { jsonEntries } from "../../entries/json.ts"
import { lineCounter, skipSpace } from "../../entries/scanning.ts"
import { tomlEntries } from "../../entries/toml.ts"
import { xmlEntries } from "../../entries/xml.ts"
import { yamlEntries, yamlFile } from "../../entries/yaml.ts"
import type { XmlElement } from "../../extraction/xml.ts"
import type { FileFormat, Loaded, SourceFile } from "../Loader.ts"
import { decode } from "./decode.ts"
import { content } from "./read.ts"
import { exact, toLoaded } from "./record.ts"

/** The name of the list that a table belongs to, as in `[[posts]]`. */
const listName = ({ key }: Entry): string | undefined =>
  typeof key !== "number" && key.length === 2 && /^\[\d+\]$/.test(key[1]!) ? key[0] : undefined

/** The tables of a file that is one list; undefined if it contains anything else. */
const tomlList = (text: string): ReadonlyArray<Entry> | undefined => {
  const entries = [...tomlEntries(text, 0, text.length)]
  const name = entries[0] === undefined ? undefined : listName(entries[0])
  if (name === undefined) return undefined
  // A record's own tables, as in `[posts.place]`, belong to it.
  if (entries.some(({ key }) => typeof key === "number" || key[0] !== name)) return undefined
  return entries.filter((entry) => listName(entry) === name)
}

/** The only item of a list that was parsed alone. */
const onlyItem = (parsed: unknown): unknown => {
  const [list] = Object.values(parsed as Readonly<Record<string, unknown>>)
  return Array.isArray(list) ? list[0] : undefined
}

const nameOf = ({ key }: Entry): string => (typeof key === "number" ? "" : key[0]!.split(" ")[0]!)

/** How many entries tell whether a file is a list, or an item a record. */
const peeked = 40

/** The elements of one name within a file's outermost element; undefined if it contains anything else. */
const xmlList = (text: string): Iterable<Entry> | undefined => {
  const [root] = xmlEntries(text, 0, text.length)
  if (root?.inside === undefined) return undefined
  const { body, read } = root.inside
  const names = Array.from(Iterable.take(read(text, body, text.length, 0), peeked), nameOf)
  // A single element is not a list.
  if (names.length < 2 || names.some((name) => name !== names[0])) return undefined
  return read(text, body, text.length, 0)
}

/** Whether an entry's element has an attribute or a child element with its text. */
const hasText = (text: string, entry: Entry): boolean => {
  const tag = text.slice(entry.from, Math.min(entry.value, entry.from + 4000))
  if (/\s(?:text|content) ?= ?["']/.test(tag)) return true
  if (entry.inside === undefined) return false
  const within = Iterable.take(entry.inside.read(text, entry.inside.body, text.length, 0), peeked)
  return Iterable.some(within, (inner) => /^(?:text|content)$/.test(nameOf(inner)))
}

const deepest = 60

const wordsOf = ({ children }: XmlElement): string =>
  children.map((child) => (typeof child === "string" ? child : wordsOf(child))).join("")

/** An element as a record's value: its words if it has any between its children, else its children and attributes by name. */
const valueOf = (element: XmlElement, depth = 0): unknown => {
  const { attributes, children } = element
  const elements = children.filter((child) => typeof child !== "string")
  const isMixed = children.some((child) => typeof child === "string" && child.trim() !== "")
  const isPlain = Object.keys(attributes).length === 0 || depth > 0
  if (depth === deepest || (isPlain && (isMixed || elements.length === 0))) return wordsOf(element).trim()
  const found = new Map<string, unknown>(Object.entries(attributes))
  for (const inner of elements) {
    const value = valueOf(inner, depth + 1)
    const before = found.get(inner.name)
    found.set(inner.name, before === undefined ? value : [before, value].flat())
  }
  if (isMixed && !found.has("text")) found.set("text", wordsOf(element).trim())
  return Object.fromEntries(found)
}

const json = new Set(["json", "jsonc", "json5"])
const yaml = new Set(["yaml", "yml"])

/** The entries of a file that is a list; undefined if it is not one. */
const listed = (path: string, text: string): Iterable<Entry> | undefined => {
  const ending = extension(path) ?? ""
  const start = skipSpace(text, 0, text.length)
  if (json.has(ending)) return text.charAt(start) === "[" ? jsonEntries(text, start, text.length) : undefined
  if (ending === "toml") return tomlList(text)
  if (ending === "xml") return xmlList(text)
  if (!yaml.has(ending)) return undefined
  const { base, body, read } = yamlFile(text)
  const [first] = read(text, body, text.length, base)
  return read === yamlEntries && typeof first?.key === "number" ? read(text, body, text.length, base) : undefined
}

/** Whether the list's first item has a text, as records do and settings do not; a body alone is not enough. */
const isRecord = (text: string, { inside }: Entry): boolean => {
  if (inside === undefined) return false
  const names = new Set<string>()
  for (const { key, inside: nested } of Iterable.take(inside.read(text, inside.body, text.length, inside.base), peeked))
    if (typeof key !== "number" && nested === undefined) names.add(key[0]!)
  return names.has("text") || names.has("content") || (names.has("title") && names.has("body"))
}

const accepts = (file: SourceFile): boolean => {
  if (file.kind._tag === "Other") return false
  const ending = extension(file.path) ?? ""
  if (!json.has(ending) && !yaml.has(ending) && ending !== "toml" && ending !== "xml") return false
  const head = decode(file.head, file.kind.encoding)
  const [first] = listed(file.path, head) ?? []
  return first !== undefined && (ending === "xml" ? hasText(head, first) : isRecord(head, first))
}

/** Reads an item of a list on this line, in the form of a line of JSON Lines. */
type Reader = (line: number, text: string) => Loaded | undefined

/** Of items of a format, by how one is parsed alone. */
const reading =
  (name: string, parse: (text: string) => unknown): Reader =>
  (line, text) => {
    try {
      const item = JSON.stringify(parse(text) ?? null, (_, value) => (typeof value === "bigint" ? exact(value) : value))
      return toLoaded(line, item)
    } catch (error) {
      return { _tag: "Rejected", line, reason: `not valid ${name}: ${(error as Error).message.split("\n")[0]}` }
    }
  }

const readerOf = async (ending: string): Promise<Reader> => {
  if (json.has(ending)) return (line, text) => toLoaded(line, text.replace(/,$/, ""))
  if (ending === "toml") {
    const { parse } = await import("smol-toml")
    return reading("TOML", (text) => onlyItem(parse(text, { integersAsBigInt: "asNeeded" })))
  }
  if (ending === "xml") {
    const { xml } = await import("../../extraction/xml.ts")
    return reading("XML", (text) => valueOf(xml(text)))
  }
  const { parse } = await import("yaml")
  const options = { maxAliasCount: 100, logLevel: "silent", intAsBigInt: true } as const
  return reading("YAML", (text) => (parse(text, options) as ReadonlyArray<unknown>)[0])
}

/** The end of a list, without what follows its last item. */
const listEnd = (ending: string, text: string): number =>
  json.has(ending) ? text.lastIndexOf("]") : ending === "xml" ? text.lastIndexOf("</") : text.length

/** The line and text of each entry. */
function* pieces(path: string, text: string): Generator<{ readonly line: number; readonly text: string }> {
  const lineOf = lineCounter(text)
  const list = listed(path, text) ?? []
  let open: number | undefined
  const piece = (from: number, to: number) => {
    const start = skipSpace(text, from, to)
    return { line: lineOf(start), text: text.slice(from, to).trimEnd() }
  }
  for (const { from } of list) {
    if (open !== undefined) yield piece(open, from)
    open = from
  }
  if (open === undefined) return
  const close = listEnd(extension(path) ?? "", text)
  yield piece(open, close < open ? text.length : close)
}

/** The last line of which a record has no id, and how many of its records have none. */
interface Unnamed {
  readonly line: number
  readonly count: number
}

/** Numbers further records of a line, which all have its name: `L1`, `L1.2`. */
const numbered = (before: Unnamed, loaded: Loaded): readonly [Unnamed, Loaded] => {
  if (loaded._tag === "Rejected" || loaded.line === undefined || loaded.record !== `L${loaded.line}`)
    return [before, loaded]
  const { line, record } = loaded
  const count = line === before.line ? before.count + 1 : 1
  return [{ line, count }, count === 1 ? loaded : { ...loaded, record: `${record}.${count}` }]
}

const wholeFile = (path: string, text: string): Loaded => ({
  _tag: "Loaded",
  content: text,
  format: formatOfName(path) ?? "text",
  metadata: {}
})

/**
 * A JSON, YAML, TOML or XML file that is one list of records: one document a record, as in JSON Lines. The first record
 * must have a text of its own, within the head; other lists are settings or data, and one document.
 */
export const format: FileFormat = {
  name: "records",
  version: 4,
  accepts,
  load: (file) =>
    Stream.unwrap(
      Effect.gen(function* () {
        const text = yield* content(file)
        // The head may look like a list although the rest is not one; the file is then one document.
        if (listed(file.path, text) === undefined) return Stream.make(wholeFile(file.path, text))
        const read = yield* Effect.promise(() => readerOf(extension(file.path) ?? ""))
        // To hand each over alone, to be batched, would cost more than reading it, the more so the more there are.
        return Stream.fromIteratorSucceed(pieces(file.path, text), 64).pipe(
          Stream.map((piece) => read(piece.line, piece.text)),
          Stream.filter((loaded) => loaded !== undefined),
          Stream.mapAccum({ line: 0, count: 0 }, numbered)
        )
      })
    )
}
