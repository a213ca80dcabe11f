import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { lineCounter } from "../../entries/lines.ts"
import { skipSpace } from "../../entries/space.ts"
import type { Entry } from "../../entries/Entry.ts"
import { jsonEntries } from "../../entries/json.ts"
import { yamlEntries, yamlFile } from "../../entries/yaml.ts"
import { extension, formatOfName } from "../../chunking/format.ts"
import type { FileFormat, Loaded, SourceFile } from "../Loader.ts"
import { content } from "./content.ts"
import { decode } from "./decode.ts"
import { lazily } from "./lazily.ts"
import { toLoaded } from "./record.ts"
import { onlyItem, tomlList } from "./records/toml.ts"
import { hasText, valueOf, xmlList } from "./records/xml.ts"

const json = new Set(["json", "jsonc", "json5"])
const yaml = new Set(["yaml", "yml"])
const yamlParser = lazily(() => import("yaml"))
const tomlParser = lazily(() => import("smol-toml"))
const xmlParser = lazily(() => import("./extract/xml.ts"))

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

/** Whether the list's first item has a text, as records do and settings do not. */
const isRecord = (text: string, { inside }: Entry): boolean => {
  if (inside === undefined) return false
  let looked = 0
  for (const { key, inside: nested } of inside.read(text, inside.body, text.length, inside.base)) {
    if (typeof key !== "number" && nested === undefined && (key[0] === "text" || key[0] === "content")) return true
    if (++looked > 40) break
  }
  return false
}

const accepts = (file: SourceFile): boolean => {
  if (file.kind._tag === "Other") return false
  const ending = extension(file.path) ?? ""
  if (!json.has(ending) && !yaml.has(ending) && ending !== "toml" && ending !== "xml") return false
  const head = decode(file.head, file.kind.encoding)
  const [first] = listed(file.path, head) ?? []
  return first !== undefined && (ending === "xml" ? hasText(head, first) : isRecord(head, first))
}

/** Parses one item of a list; its name appears in failures. */
interface Parser {
  readonly name: string
  readonly parse: (text: string) => unknown
}

const parserOf = (ending: string): Effect.Effect<Parser> =>
  ending === "toml"
    ? Effect.map(tomlParser, ({ parse }) => ({ name: "TOML", parse: (text) => onlyItem(parse(text)) }))
    : ending === "xml"
      ? Effect.map(xmlParser, ({ xml }) => ({ name: "XML", parse: (text) => valueOf(xml(text)) }))
      : Effect.map(yamlParser, ({ parse }) => ({
          name: "YAML",
          parse: (text) => (parse(text, { maxAliasCount: 100, logLevel: "silent" }) as ReadonlyArray<unknown>)[0]
        }))

/** A record, in the form of a line of JSON Lines. */
const recordOf = (path: string, text: string, line: number): Effect.Effect<Loaded | undefined> => {
  const ending = extension(path) ?? ""
  if (json.has(ending)) return Effect.succeed(toLoaded(line, text.replace(/,$/, "")))
  return Effect.map(parserOf(ending), ({ name, parse }) => {
    try {
      return toLoaded(line, JSON.stringify(parse(text) ?? null))
    } catch (error) {
      return { _tag: "Rejected", line, reason: `not valid ${name}: ${(error as Error).message.split("\n")[0]}` }
    }
  })
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

const whole = (path: string, text: string): Loaded => ({
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
  version: 2,
  accepts: (file) => Effect.sync(() => accepts(file)),
  load: (file) =>
    Stream.unwrap(
      Effect.map(content(file), (text) => {
        // The head may look like a list although the rest is not one; the file is then one document.
        if (listed(file.path, text) === undefined) return Stream.make(whole(file.path, text))
        return Stream.fromIterable(pieces(file.path, text)).pipe(
          Stream.mapEffect((piece) => recordOf(file.path, piece.text, piece.line)),
          Stream.filter((loaded) => loaded !== undefined)
        )
      })
    )
}
