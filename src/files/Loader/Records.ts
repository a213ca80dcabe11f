import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { lineCounter } from "../../text/chunk/lines.ts"
import { skipSpace } from "../../text/chunk/space.ts"
import type { Entry } from "../../text/data/Entry.ts"
import { jsonEntries } from "../../text/data/json.ts"
import { yamlEntries, yamlFile } from "../../text/data/yaml.ts"
import { extension } from "../../text/format.ts"
import type { FileFormat, Loaded, SourceFile } from "../Loader.ts"
import { content } from "./content.ts"
import { decode } from "./decode.ts"
import { lazily } from "./lazily.ts"
import { toLoaded } from "./record.ts"

const json = new Set(["json", "jsonc", "json5"])
const yaml = new Set(["yaml", "yml"])
const yamlParser = lazily(() => import("yaml"))

/** Entries of the list that a file is; undefined where it is none. */
const listed = (path: string, text: string): Iterable<Entry> | undefined => {
  const ending = extension(path) ?? ""
  const start = skipSpace(text, 0, text.length)
  if (json.has(ending)) return text.charAt(start) === "[" ? jsonEntries(text, start, text.length) : undefined
  if (!yaml.has(ending)) return undefined
  const { base, body, read } = yamlFile(text)
  const [first] = read(text, body, text.length, base)
  return read === yamlEntries && typeof first?.key === "number" ? read(text, body, text.length, base) : undefined
}

/** Whether the first thing of the list has a text of its own, as records have and settings have not. */
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
  if (!json.has(ending) && !yaml.has(ending)) return false
  const head = decode(file.head, file.kind.encoding)
  const [first] = listed(file.path, head) ?? []
  return first !== undefined && isRecord(head, first)
}

/** A record as a line of JSON Lines would have it. */
const recordOf = (path: string, text: string, line: number): Effect.Effect<Loaded | undefined> => {
  if (!yaml.has(extension(path) ?? "")) return Effect.succeed(toLoaded(line, text.replace(/,$/, "")))
  return Effect.map(yamlParser, ({ parse }) => {
    try {
      const [value] = parse(text, { maxAliasCount: 100, logLevel: "silent" }) as ReadonlyArray<unknown>
      return toLoaded(line, JSON.stringify(value ?? null))
    } catch (error) {
      return { _tag: "Rejected", line, reason: `not valid YAML: ${(error as Error).message.split("\n")[0]}` }
    }
  })
}

/** Each entry's line and text. */
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
  const close = json.has(extension(path) ?? "") ? text.lastIndexOf("]") : text.length
  yield piece(open, close < open ? text.length : close)
}

/**
 * A JSON or YAML file that is one list of records, read as JSON Lines is: one document a record. Only where the first
 * record has a text of its own, in the head; other lists are settings or data, and one document.
 */
export const format: FileFormat = {
  name: "records",
  accepts: (file) => Effect.sync(() => accepts(file)),
  load: (file) =>
    Stream.unwrap(
      Effect.map(content(file), (text) =>
        Stream.fromIterable(pieces(file.path, text)).pipe(
          Stream.mapEffect((piece) => recordOf(file.path, piece.text, piece.line)),
          Stream.filter((loaded) => loaded !== undefined)
        )
      )
    )
}
