import * as Schema from "effect/Schema"
import { CollectionName, EmbedderIdentity } from "./Collection.ts"
import { DocumentId } from "./Document.ts"
import { Locator } from "./Locator.ts"

/** The version of the format that is written; readers refuse others. */
export const exportVersion = 1

const line = Schema.Int.pipe(Schema.positive())
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
  model: Schema.String,
  entities: Schema.Array(Schema.String),
  relations: Schema.Array(Schema.Struct({ subject: Schema.String, relation: Schema.String, object: Schema.String }))
})

/** A passage: its span in the document's content, and its vector as base64 of little-endian float32. */
const ExportedPassage = Schema.Struct({
  start: offset,
  end: offset,
  start_line: line,
  end_line: line,
  heading: Schema.Array(Schema.String),
  locator: Schema.optional(Locator),
  table_header: Schema.optional(Schema.String),
  said: Schema.optional(SaidBy),
  vector: Schema.optionalWith(Schema.Uint8ArrayFromBase64, { as: "Option" })
}).pipe(Schema.rename({ start_line: "startLine", end_line: "endLine", table_header: "tableHeader" }))

/** A line for each document. */
export const ExportLine = Schema.Struct({
  collection: CollectionName,
  doc_id: DocumentId,
  source: Schema.optional(Schema.NonEmptyString),
  title: Schema.optional(Schema.String),
  metadata: Schema.Record({ key: Schema.String, value: Schema.Unknown }),
  fingerprint: Schema.String,
  origin: Schema.optional(Schema.String),
  line: Schema.optional(line),
  content: Schema.String,
  passages: Schema.Array(ExportedPassage)
}).pipe(Schema.rename({ doc_id: "docId" }))
export type ExportLine = typeof ExportLine.Type

/** The last line, without which an export is incomplete. */
export const ExportEnd = Schema.Struct({
  end: Schema.Literal(true),
  documents: Schema.NonNegativeInt,
  passages: Schema.NonNegativeInt
}).annotations({ identifier: "ExportEnd" })
export type ExportEnd = typeof ExportEnd.Type
