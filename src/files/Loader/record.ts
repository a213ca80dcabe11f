import { type Metadata, metadataFault } from "../../model/Document.ts"
import { isObject, kindOf, pathText, wellFormed } from "../../model/kinds.ts"
import { readJsonAtOnce } from "../../model/readJson.ts"
import type { Loaded } from "../Loader.ts"

/** A nesting depth that every JSON reader can handle. */
const deepest = 64

/** Thrown, with the reason, at a record that is not read. */
class Refused extends Error {}

/** TOML dates are a day, a time without a zone, or a point in time, which becomes UTC. */
const dateText = (date: Date): string => {
  const text = date.toISOString()
  return /[-+]\d\d:\d\d$/.test(text) ? new Date(date.getTime()).toISOString() : text
}

/** An integer as a number, or as its digits if that would change it. */
export const exact = (value: bigint): number | string =>
  Number.isSafeInteger(Number(value)) ? Number(value) : String(value)

/** A value as JSON: dates as ISO 8601, numbers that JSON lacks as text, no undefined members. */
const toJson = (value: unknown, depth = 0): unknown => {
  if (depth > deepest) throw new Refused(`metadata is nested more than ${deepest} levels deep`)
  switch (typeof value) {
    case "string":
      return wellFormed(value)
    case "boolean":
      return value
    case "number":
      return Number.isFinite(value) ? value : String(value)
    case "bigint":
      return exact(value)
    case "object":
      if (value === null) return null
      if (value instanceof Date) return Number.isNaN(value.getTime()) ? String(value) : dateText(value)
      if (Array.isArray(value)) return value.map((item) => toJson(item, depth + 1) ?? null)
      return Object.fromEntries(
        Object.entries(value).flatMap(([key, item]) => {
          const kept = toJson(item, depth + 1)
          return kept === undefined ? [] : [[wellFormed(key), kept]]
        })
      )
    default:
      return undefined
  }
}

/** A record's own keys as metadata; its `source` becomes `original_source`, since the document's is the file. */
export const toMetadata = (record: Readonly<Record<string, unknown>>): Metadata => {
  const { source, ...rest } = toJson(record) as Record<string, unknown>
  return source === undefined ? rest : { original_source: source, ...rest }
}

const idKeys = ["_id", "id", "doc_id"] as const
const textKeys = ["text", "content"] as const
const longestId = 1000

const idOf = (key: string | undefined, value: unknown, line: number): string => {
  if (key === undefined) return `L${line}`
  if (typeof value === "number" && Number.isFinite(value)) return String(value)
  if (typeof value !== "string") throw new Refused(`"${key}" must be a string or a number, not ${kindOf(value)}`)
  const id = wellFormed(value)
  if (id.trim() === "") throw new Refused(`"${key}" must not be empty`)
  if (id.length > longestId) throw new Refused(`"${key}" is longer than ${longestId} characters`)
  return id
}

const titleOf = (value: unknown): string | undefined => {
  if (value === undefined || value === null || value === "") return undefined
  if (typeof value === "string") return wellFormed(value)
  if (typeof value === "number") return String(value)
  throw new Refused(`"title" must be a string, not ${kindOf(value)}`)
}

const contentOf = (key: string | undefined, value: unknown, title: string | undefined): string => {
  if (key !== undefined && typeof value !== "string") {
    throw new Refused(`"${key}" must be a string, not ${kindOf(value)}`)
  }
  const text = key === undefined ? "" : wellFormed(value as string)
  if (text.trim() !== "") return text
  // A record with only a title can be found by it.
  if (title !== undefined && title.trim() !== "") return title
  if (key === undefined) throw new Refused('no text: there is no string "text", "content" or "body"')
  return ""
}

const present = <K extends string>(keys: ReadonlyArray<K>, record: Readonly<Record<string, unknown>>): K | undefined =>
  keys.find((key) => record[key] !== undefined && record[key] !== null)

const fromRecord = (line: number, record: Readonly<Record<string, unknown>>): Loaded => {
  const { metadata: nested, ...own } = record
  const all = isObject(nested) ? { ...nested, ...own } : record
  const idKey = present(idKeys, own)
  const textKey = present(textKeys, own) ?? (typeof own["body"] === "string" ? "body" : undefined)
  const id = idOf(idKey, idKey === undefined ? undefined : own[idKey], line)
  const title = titleOf(all["title"])
  const content = contentOf(textKey, textKey === undefined ? undefined : own[textKey], title)

  if (content === "") return { _tag: "Rejected", line, record: id, reason: "it holds no text", isEmpty: true }
  const used = new Set<string | undefined>(["title", idKey, textKey])
  const rest = Object.fromEntries(Object.entries(all).filter(([key]) => !used.has(key)))
  const metadata = toMetadata(rest)
  const fault = metadataFault(metadata)
  if (fault !== undefined) throw new Refused([...fault.path, fault.message].join(": "))
  return { _tag: "Loaded", record: id, line, content, format: "text", title, metadata }
}

const parse = (text: string): unknown => {
  const read = readJsonAtOnce(Buffer.from(text), true)
  if ("value" in read) return read.value
  const { isSyntax, path, reason } = read.fault
  if (isSyntax) throw new Refused(reason.replace("is not JSON", "not valid JSON"))
  throw new Refused(path === undefined || path.length === 0 ? reason : `${pathText(path)}: ${reason}`)
}

/**
 * A line of JSON Lines as a document; undefined if it is blank. `_id`, `id` or `doc_id` names the record (else
 * `L<line>`), `text`, `content` or a string `body` is its text, `title` its title. The rest is metadata; a nested
 * `metadata` object adds the keys that the record itself does not have.
 */
export const toLoaded = (line: number, text: string): Loaded | undefined => {
  if (text.trim() === "") return undefined
  try {
    const value = parse(text)
    if (!isObject(value)) throw new Refused(`a line must be a JSON object, not ${kindOf(value)}`)
    return fromRecord(line, value)
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    return { _tag: "Rejected", line, reason: error.message }
  }
}
