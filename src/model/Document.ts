import * as Schema from "effect/Schema"
import { mustBeObject, mustHaveLength } from "./kinds.ts"

/** Identifies a document within its collection. */
export const DocumentId = Schema.NonEmptyTrimmedString.pipe(
  Schema.maxLength(1000),
  Schema.brand("DocumentId"),
  Schema.annotations({
    identifier: "DocumentId",
    description: "Identifies a document within its collection",
    message: mustHaveLength("doc_id", 1000, " without blanks around them")
  })
)
export type DocumentId = typeof DocumentId.Type

/** Path or label a document came from; unique in its collection. */
export const Source = Schema.NonEmptyString.pipe(
  Schema.maxLength(4096),
  Schema.annotations({
    identifier: "Source",
    description: "Path or label of the document's origin",
    message: mustHaveLength("source", 4096)
  })
)
export type Source = typeof Source.Type

/** The caller's own keys. Values are any JSON. */
export type Metadata = Readonly<Record<string, unknown>>

/** Free-form metadata, of which `source` and `title` mean something to the service. */
export const DocumentMetadata = Schema.Struct(
  {
    source: Schema.optional(Source),
    title: Schema.optional(
      Schema.String.annotations({ description: "Title, searched as a field of its own and shown with results" })
    )
  },
  { key: Schema.String, value: Schema.Unknown }
).annotations({
  identifier: "DocumentMetadata",
  description: "Free-form keys and values kept with the document",
  message: mustBeObject("metadata")
})

/** What a caller indexes. */
export const DocumentInput = Schema.Struct({
  content: Schema.String.annotations({ description: "The document's text" }),
  metadata: Schema.optional(DocumentMetadata),
  docId: Schema.optional(DocumentId).pipe(Schema.fromKey("doc_id"))
}).annotations({ identifier: "Document", description: "A document to index", message: mustBeObject("a document") })
export type DocumentInput = typeof DocumentInput.Type

/** How a document's text is laid out, which decides where it may be split. */
export type Format = "text" | "markdown" | "asciidoc" | "rst" | "org" | "code"
