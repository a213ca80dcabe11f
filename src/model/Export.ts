import * as Either from "effect/Either"
import * as Encoding from "effect/Encoding"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { CollectionName, EmbedderIdentity } from "./Collection.ts"
import { DocumentId } from "./Document.ts"
import { isObject, isWellFormed, valueText } from "./kinds.ts"
import { Locator } from "./Locator.ts"

/** The version of the format that is written; readers refuse others. */
export const exportVersion = 1

/** UTF-8 cannot represent half a surrogate pair, so it would not be stored as it is. */
const text = Schema.String.pipe(
  Schema.filter((value) => isWellFormed(value) || `half a surrogate pair in ${valueText(value)}`)
)

/** As many as a result can carry. */
const line = Schema.Int.pipe(Schema.between(1, 2 ** 31 - 1))
const offset = Schema.NonNegativeInt

/** The first line of an export. */
export const ExportHeader = Schema.Struct({
  format: Schema.Literal("clew-export"),
  version: Schema.Int,
  clew: Schema.String,
  collections: Schema.Array(
    Schema.Struct({
      name: CollectionName,
      embedding: EmbedderIdentity,
      linkage: Schema.optional(Schema.Number.pipe(Schema.between(0, 1)))
    })
  )
}).annotations({ identifier: "ExportHeader" })
export type ExportHeader = typeof ExportHeader.Type

/** A language model's answer about a passage. */
const SaidBy = Schema.Struct({
  model: text,
  entities: Schema.Array(text),
  relations: Schema.Array(Schema.Struct({ subject: text, relation: text, object: text }))
})

/** Bytes as base64. Effect's own encoder adds a character at a time, which takes forty times as long and as much memory. */
const Base64 = Schema.transformOrFail(Schema.String, Schema.Uint8ArrayFromSelf, {
  strict: true,
  decode: (given, _, ast) =>
    Either.mapLeft(Encoding.decodeBase64(given), ({ message }) => new ParseResult.Type(ast, given, message)),
  encode: (bytes) => ParseResult.succeed(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64"))
})

/** A passage: its span in the document's content, and its vector as base64 of little-endian float32. */
export const ExportedPassage = Schema.Struct({
  start: offset,
  end: offset,
  start_line: line,
  end_line: line,
  heading: Schema.Array(text),
  locator: Schema.optional(Locator),
  table_header: Schema.optional(text),
  said: Schema.optional(SaidBy),
  vector: Schema.optionalWith(Base64, { as: "Option" })
}).pipe(Schema.rename({ start_line: "startLine", end_line: "endLine", table_header: "tableHeader" }))

const lineWith = <Passage extends Schema.Schema.AnyNoContext>(passage: Passage) =>
  Schema.Struct({
    collection: CollectionName,
    doc_id: DocumentId,
    source: Schema.optional(text.pipe(Schema.minLength(1))),
    title: Schema.optional(text),
    // Not key by key, which takes minutes if there are a million.
    metadata: Schema.declare(isObject),
    fingerprint: text,
    origin: Schema.optional(text),
    line: Schema.optional(line),
    content: text,
    passages: Schema.Array(passage)
  }).pipe(Schema.rename({ doc_id: "docId" }))

/** A line for each document. */
export const ExportLine = lineWith(ExportedPassage)
export type ExportLine = typeof ExportLine.Type

/** The same before its passages are decoded: there may be hundreds of thousands, which takes seconds. */
export const UndecodedLine = lineWith(Schema.Unknown)
export type UndecodedLine = typeof UndecodedLine.Type

/** The last line, without which an export is incomplete. */
export const ExportEnd = Schema.Struct({
  end: Schema.Literal(true),
  documents: Schema.NonNegativeInt,
  passages: Schema.NonNegativeInt
}).annotations({ identifier: "ExportEnd" })
export type ExportEnd = typeof ExportEnd.Type
