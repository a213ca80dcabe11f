import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Record from "effect/Record"
import * as Schema from "effect/Schema"
import { checked, type Fault } from "./checked.ts"
import {
  isObject,
  isWellFormed,
  isLongerThan,
  kindOf,
  mustBeObject,
  mustHaveLength,
  notWellFormed,
  wellFormed
} from "./kinds.ts"
import { limits } from "./Limits.ts"

const { bytes: mostBytes, depth: deepest, keys: mostKeys } = limits.metadata

/** How many bytes a string takes in UTF-8. */
const utf8Length = (text: string): number => {
  let bytes = text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit >= 0x80) bytes += unit >= 0x800 && (unit < 0xd800 || unit > 0xdfff) ? 2 : 1
  }
  return bytes
}

const tooMuch: Fault = { path: [], message: `metadata must be at most ${mostBytes} bytes as JSON in UTF-8` }

/**
 * Why metadata cannot be stored unchanged: too much of it, or a value that JSON in UTF-8 cannot represent. It stops at
 * the limits.
 */
export const metadataFault = (metadata: Readonly<Record<string, unknown>>): Fault | undefined => {
  let keys = 0
  let bytes = 0
  const check = (value: unknown, path: ReadonlyArray<string | number>): Fault | undefined => {
    // Quotes, commas and similar, without escapes.
    bytes += 1
    if (typeof value === "string") {
      if (value.length > mostBytes || (bytes += utf8Length(value) + 2) > mostBytes) return tooMuch
      return isWellFormed(value) ? undefined : { path, message: "must not contain half a surrogate pair" }
    }
    if (typeof value === "number") {
      bytes += 1
      return Number.isFinite(value) ? undefined : { path, message: `must be a finite number, got ${value}` }
    }
    if (typeof value !== "object" || value === null) return undefined
    if (path.length > deepest) return { path: path.slice(0, 3), message: `is nested deeper than ${deepest} levels` }
    if (!isObject(value)) {
      for (const [index, inner] of (value as ReadonlyArray<unknown>).entries()) {
        const fault = bytes > mostBytes ? tooMuch : check(inner, [...path, index])
        if (fault !== undefined) return fault
      }
      return undefined
    }
    for (const key of Object.keys(value)) {
      if (++keys > mostKeys) return { path: [], message: `metadata must have at most ${mostKeys} keys at all levels` }
      const fault = check(key, path) ?? check(value[key], [...path, key])
      if (fault !== undefined) return fault
    }
    return bytes > mostBytes ? tooMuch : undefined
  }
  return check(metadata, [])
}

/** Metadata whose values are cut if they are too long together, as those of a mail to very many. */
export const withinLimits = (metadata: Metadata): Metadata => {
  let cut = metadata
  for (let most = mostBytes; most >= 1 && metadataFault(cut) === tooMuch; most /= 2) {
    cut = Record.map(metadata, (value) =>
      typeof value === "string"
        ? wellFormed(value.slice(0, most))
        : Array.isArray(value)
          ? value.slice(0, most / 64)
          : value
    )
  }
  return cut
}

/** Path segments that every client removes from a URL before sending it. */
const isDots = (id: string): boolean => id === "." || id === ".."

const longestId = 1000
export const longestSource = 4096

/** Identifies a document within its collection. */
export const DocumentId = Schema.String.pipe(
  Schema.filter(
    (id) => id !== "" && id.trim() === id && !isLongerThan(id, longestId) && isWellFormed(id) && !isDots(id)
  ),
  Schema.brand("DocumentId"),
  Schema.annotations({
    identifier: "DocumentId",
    description: "Identifies a document within its collection",
    jsonSchema: {
      type: "string",
      minLength: 1,
      maxLength: longestId,
      // No lookahead, which many validators lack.
      pattern: "^\\S([\\s\\S]*\\S)?$",
      not: { enum: [".", ".."] },
      description: "Identifies a document within its collection; without blanks around it, and neither . nor .."
    },
    message: (issue) =>
      typeof issue.actual === "string" && isDots(issue.actual)
        ? { message: `doc_id must not be ${issue.actual}, which no URL can carry`, override: true }
        : mustHaveLength("doc_id", longestId, " without blanks around them")(issue)
  })
)
export type DocumentId = typeof DocumentId.Type

/** Path or label a document came from; unique in its collection. */
export const Source = Schema.NonEmptyString.pipe(
  Schema.filter((source) => !isLongerThan(source, longestSource) && isWellFormed(source), {
    jsonSchema: { maxLength: longestSource }
  }),
  Schema.annotations({
    identifier: "Source",
    description: "Path or label of the document's origin",
    message: mustHaveLength("source", longestSource)
  })
)
export type Source = typeof Source.Type

/** The caller's own keys. Values are any JSON. */
export type Metadata = Readonly<Record<string, unknown>>

/** Free-form metadata; only `source` and `title` have a meaning for the service. */
export interface DocumentMetadata extends Metadata {
  readonly source?: string | undefined
  readonly title?: string | undefined
}

const decodeSource = ParseResult.decodeUnknownEither(Source)

const faultsOf = (input: unknown): ReadonlyArray<Fault> => {
  if (!isObject(input)) return [{ path: [], message: `metadata must be a JSON object, not ${kindOf(input)}` }]
  const fault = metadataFault(input)
  if (fault !== undefined) return [fault]
  const { source, title } = input
  if (title !== undefined && typeof title !== "string")
    return [{ path: ["title"], message: `title must be a string, not ${kindOf(title)}` }]
  const faulty = source === undefined ? undefined : Either.getLeft(decodeSource(source))
  return faulty?._tag === "Some"
    ? [{ path: ["source"], message: ParseResult.TreeFormatter.formatIssueSync(faulty.value) }]
    : []
}

const about = `Free-form keys and values kept with the document, at most ${limits.metadata.keys} keys and ${limits.metadata.bytes} bytes as JSON`

// Declared by hand: decoding a record key by key takes seconds if there are many keys.
export const DocumentMetadata: Schema.Schema<DocumentMetadata> = checked<DocumentMetadata>(faultsOf, {
  identifier: "DocumentMetadata",
  description: about,
  jsonSchema: {
    type: "object",
    description: about,
    properties: {
      source: {
        type: "string",
        minLength: 1,
        maxLength: longestSource,
        description: "Path or label of the document's origin"
      },
      title: { type: "string", description: "Title, searched as a separate field and shown with results" }
    },
    maxProperties: limits.metadata.keys,
    additionalProperties: {}
  }
})

const Content = Schema.String.pipe(
  Schema.filter((content) => isWellFormed(content) || notWellFormed("content")),
  Schema.annotations({ jsonSchema: { type: "string", description: "The document's text" } })
)

/** A document to index. */
export const DocumentInput = Schema.Struct({
  content: Content,
  metadata: Schema.optional(DocumentMetadata),
  docId: Schema.optional(DocumentId).pipe(Schema.fromKey("doc_id"))
}).annotations({ identifier: "Document", description: "A document to index", message: mustBeObject("a document") })
export type DocumentInput = typeof DocumentInput.Type

/** The layout of a document's text, which decides where it may be split. */
export type Format = "text" | "markdown" | "asciidoc" | "rst" | "org" | "code" | "data"
