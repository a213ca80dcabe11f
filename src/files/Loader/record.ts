import { readJsonAtOnce } from "../../model/readJson.ts"
import type { Loaded } from "../Loader.ts"
import { metadataFault } from "../../model/metadataFault.ts"
import { toMetadata, TooDeep, wellFormed } from "./metadata.ts"

const idKeys = ["_id", "id", "doc_id"] as const
const textKeys = ["text", "content"] as const
const longestId = 1000

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const kindOf = (value: unknown): string =>
  Array.isArray(value)
    ? "a list"
    : value === null
      ? "null"
      : typeof value === "object"
        ? "an object"
        : `a ${typeof value}`

class Refused {
  readonly reason: string
  constructor(reason: string) {
    this.reason = reason
  }
}

const idOf = (key: string | undefined, value: unknown, line: number): string | Refused => {
  if (key === undefined) return `L${line}`
  if (typeof value === "number" && Number.isFinite(value)) return String(value)
  if (typeof value !== "string") return new Refused(`"${key}" must be a string or a number, not ${kindOf(value)}`)
  const id = wellFormed(value)
  if (id.trim() === "") return new Refused(`"${key}" must not be empty`)
  return id.length > longestId ? new Refused(`"${key}" is longer than ${longestId} characters`) : id
}

const titleOf = (value: unknown): string | undefined | Refused => {
  if (value === undefined || value === null || value === "") return undefined
  if (typeof value === "string") return wellFormed(value)
  return typeof value === "number" ? String(value) : new Refused(`"title" must be a string, not ${kindOf(value)}`)
}

const contentOf = (key: string | undefined, value: unknown, title: string | undefined): string | Refused => {
  if (key !== undefined && typeof value !== "string") {
    return new Refused(`"${key}" must be a string, not ${kindOf(value)}`)
  }
  const text = key === undefined ? "" : wellFormed(value as string)
  if (text.trim() !== "") return text
  // A record with only a title can be found by it.
  if (title !== undefined && title.trim() !== "") return title
  return new Refused(key === undefined ? 'no text: neither "text" nor "content" is there' : `"${key}" is empty`)
}

const present = <K extends string>(keys: ReadonlyArray<K>, record: Readonly<Record<string, unknown>>): K | undefined =>
  keys.find((key) => record[key] !== undefined && record[key] !== null)

const fromRecord = (line: number, record: Readonly<Record<string, unknown>>): Loaded | Refused => {
  const { metadata: nested, ...own } = record
  const all = isObject(nested) ? { ...nested, ...own } : record
  const idKey = present(idKeys, own)
  const textKey = present(textKeys, own)
  const id = idOf(idKey, idKey === undefined ? undefined : own[idKey], line)
  if (id instanceof Refused) return id
  const title = titleOf(all["title"])
  if (title instanceof Refused) return title
  const content = contentOf(textKey, textKey === undefined ? undefined : own[textKey], title)
  if (content instanceof Refused) return content

  const used = new Set<string | undefined>(["title", idKey, textKey])
  const rest = Object.fromEntries(Object.entries(all).filter(([key]) => !used.has(key)))
  const metadata = toMetadata(rest)
  const fault = metadataFault(metadata)
  if (fault !== undefined) return new Refused([...fault.path, fault.message].join(": "))
  return { _tag: "Loaded", record: id, line, content, format: "text", title, metadata }
}

const parse = (text: string): unknown | Refused => {
  const read = readJsonAtOnce(Buffer.from(text), true)
  if ("value" in read) return read.value
  const { isSyntax, path, reason } = read.fault
  if (isSyntax) return new Refused(reason.replace("is not JSON", "not valid JSON"))
  return new Refused(path === undefined || path.length === 0 ? reason : `${path.join(".")}: ${reason}`)
}

/**
 * A line of JSON Lines as a document; undefined if it is blank. `_id`, `id` or `doc_id` names the record (else
 * `L<line>`), `text` or `content` is its text, `title` its title. The rest is metadata; a nested `metadata` object adds
 * the keys that the record itself does not have.
 */
export const toLoaded = (line: number, text: string): Loaded | undefined => {
  if (text.length < 3 && text.trim() === "") return undefined
  const value = parse(text)
  if (value instanceof Refused) {
    return text.trim() === "" ? undefined : { _tag: "Rejected", line, reason: value.reason }
  }
  if (!isObject(value)) return { _tag: "Rejected", line, reason: `a line must be a JSON object, not ${kindOf(value)}` }
  try {
    const loaded = fromRecord(line, value)
    return loaded instanceof Refused ? { _tag: "Rejected", line, reason: loaded.reason } : loaded
  } catch (error) {
    if (error instanceof TooDeep) return { _tag: "Rejected", line, reason: `metadata is ${error.message}` }
    throw error
  }
}
