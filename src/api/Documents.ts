import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import { CollectionName } from "../model/Collection.ts"
import { DocumentId, DocumentInput, Source } from "../model/Document.ts"
import type { Outcome } from "../model/Draft.ts"
import { int, list, text } from "../model/fields.ts"
import { Filter } from "../model/Filter.ts"
import { kindOf } from "../model/kinds.ts"
import { freshness, Hint, place } from "../model/SearchResult.ts"
import { Since } from "../model/Since.ts"
import {
  about,
  Authorization,
  bodyOptional,
  FilterParam,
  InCollection,
  ofBodies,
  respondAsync,
  segment,
  someText,
  strict,
  wholeNumber,
  Writing
} from "./endpoint.ts"
import * as failures from "./failures.ts"

export const IndexRequest = Schema.Struct({
  documents: Schema.NonEmptyArray(DocumentInput).annotations({
    description: "1 to limits.max_batch (1000) documents; each replaces the one with the same source or doc_id",
    message: ({ actual }) => ({
      message: `documents must be a list of 1 to limits.max_batch (1000) documents, ${Array.isArray(actual) ? "got none" : `not ${kindOf(actual)}`}`,
      override: !Array.isArray(actual) || actual.length === 0
    })
  }),
  collection: Schema.optional(CollectionName)
}).annotations({
  ...strict,
  identifier: "IndexRequest",
  title: "Index",
  description: "Documents to index, and their collection",
  examples: [
    {
      documents: [
        { content: "Clew leads every answer back to its source.", metadata: { source: "about.md", title: "About" } }
      ]
    }
  ]
})
export type IndexRequest = typeof IndexRequest.Type

export const IndexedDocument = Schema.Struct({
  doc_id: text("The document's id in its collection"),
  source: Schema.optional(text("The document's source, if it has one")),
  status: Schema.Literal("created", "updated", "unchanged", "skipped").annotations({
    description: "What happened to it; skipped, and what it said before deleted, if it holds no text"
  }),
  chunks: int("Its passages")
}).annotations({ identifier: "IndexedDocument", description: "What happened to one document" })

export const IndexResponse = Schema.Struct({
  indexed: int("New or changed documents"),
  unchanged: int("Unchanged documents"),
  skipped: Schema.optional(int("Documents without text, if any")),
  chunks: int("Passages of the new or changed documents"),
  documents: list(IndexedDocument, "What happened to each document, in the request's order"),
  index_time_ms: int("The duration of indexing")
}).annotations({ identifier: "IndexResponse", description: "What was indexed" })
export type IndexResponse = typeof IndexResponse.Type

/** The outcomes of a batch, in its order, in their JSON form. */
export const toIndexResponse = (outcomes: ReadonlyArray<Outcome>, ms: number): IndexResponse => {
  const changed = outcomes.filter(({ status }) => status === "created" || status === "updated")
  const skipped = outcomes.filter(({ status }) => status === "skipped").length
  return {
    indexed: changed.length,
    unchanged: outcomes.length - changed.length - skipped,
    ...(skipped === 0 ? {} : { skipped }),
    chunks: changed.reduce((sum, { passages }) => sum + passages, 0),
    documents: outcomes.map(({ docId, passages, source, status }) => ({
      doc_id: docId,
      ...(source === undefined ? {} : { source }),
      status,
      chunks: passages
    })),
    index_time_ms: Math.round(ms)
  }
}

export const DeleteResponse = Schema.Struct({
  deleted_documents: int("Documents deleted"),
  deleted_chunks: int("Their passages"),
  hint: Schema.optional(Hint)
}).annotations({ identifier: "DeleteResponse", description: "What was deleted" })
export type DeleteResponse = typeof DeleteResponse.Type

const bySource = {
  source: Schema.optional(Source.annotations({ description: "Source of the documents to delete, matched exactly" })),
  collection: Schema.optional(CollectionName)
}

const DeleteBody = Schema.Struct({
  ...bySource,
  filter: Schema.optional(
    Filter.annotations({ description: "Deletes every matching document, instead of source; must not be empty" })
  )
}).annotations({
  ...strict,
  identifier: "DeleteRequest",
  title: "Delete by source or filter",
  description: "The documents to delete, either here or in the query string",
  examples: [{ source: "docs/old.md" }]
})

const DeleteParams = Schema.Struct(bySource).annotations(strict)

export const ListOrder = Schema.Literal(
  "source",
  "-source",
  "indexed_at",
  "-indexed_at",
  "passages",
  "-passages"
).annotations({ identifier: "ListOrder", description: "The order of documents; with - before it, falling" })
export type ListOrder = typeof ListOrder.Type

export const ListParams = Schema.Struct({
  filter: Schema.optional(FilterParam),
  since: Schema.optional(Since),
  source: Schema.optional(
    someText(
      "source",
      200,
      "Only documents whose source, or doc_id if they have none, contains this, whatever the case"
    )
  ),
  sort: Schema.optional(
    ListOrder.annotations({
      description: "By source, else doc_id (the default), by indexed_at or by passages; with - before it, falling"
    })
  ),
  limit: Schema.optional(wholeNumber("limit", 1, 1000, "Documents per page; default 100")),
  cursor: Schema.optional(
    Schema.String.pipe(Schema.maxLength(8000)).annotations({ description: "next_cursor of the previous page" })
  ),
  collection: Schema.optional(CollectionName)
}).annotations(strict)

export const ListResponse = Schema.Struct({
  documents: Schema.Array(
    Schema.Struct({
      doc_id: text("The document's id in its collection"),
      source: Schema.optional(text("The document's source, if it has one")),
      title: Schema.optional(text("The document's title, if it has one")),
      chunks: int("Its passages"),
      indexed_at: int("When it was indexed, in milliseconds since 1970")
    }).annotations({ identifier: "ListedDocument", description: "A document without its text" })
  ).annotations({ description: "In the order of sort" }),
  next_cursor: Schema.optional(text("Present if there is another page: its cursor, an opaque string")),
  hint: Schema.optional(Hint)
}).annotations({ identifier: "ListResponse", description: "A page of documents" })
export type ListResponse = typeof ListResponse.Type

const docId = HttpApiSchema.param("doc_id", segment(DocumentId, 1000, "The document's doc_id"))

/** Most passages of a page. */
const mostPassages = 200

export const PassagesParams = Schema.Struct({
  collection: Schema.optional(CollectionName),
  offset: Schema.optional(wholeNumber("offset", 0, 2 ** 32 - 1, "The chunk_index of the first passage; default 0")),
  limit: Schema.optional(wholeNumber("limit", 1, mostPassages, "Passages per page; default 50"))
}).annotations(strict)

const PassageSpan = Schema.Struct(place).annotations({
  identifier: "PassageSpan",
  description: "The position of a passage in its document"
})

export const DocumentResponse = Schema.Struct({
  doc_id: text("The document's id in its collection"),
  content: text("The document's text, as it was indexed"),
  metadata: Schema.Record({ key: Schema.String, value: Schema.Unknown }).annotations({
    description: "The document's metadata, source and title among them"
  }),
  passages: list(PassageSpan, "Its passages, in order"),
  indexed_at: int("When it was indexed, in milliseconds since 1970"),
  ...Struct.pick(freshness, "changed", "gone")
}).annotations({ identifier: "DocumentResponse", description: "A document with its passages' positions" })
export type DocumentResponse = typeof DocumentResponse.Type

export const PassagesResponse = Schema.Struct({
  doc_id: text("The document's id in its collection"),
  source: Schema.optional(text("The document's source, if it has one")),
  title: Schema.optional(text("The document's title, if it has one")),
  total: int("Its passages"),
  passages: list(
    Schema.Struct({ text: text("The passage, exactly as in the original"), ...place }).annotations({
      identifier: "DocumentPassage",
      description: "A passage and its position in its document"
    }),
    "A page of its passages, in order"
  )
}).annotations({ identifier: "PassagesResponse", description: "A document's passages as they were cut" })
export type PassagesResponse = typeof PassagesResponse.Type

export class DocumentsGroup extends HttpApiGroup.make("documents")
  .add(
    HttpApiEndpoint.post("index", "/index")
      .setPayload(IndexRequest)
      .addSuccess(IndexResponse)
      .addError(ofBodies)
      .addError(failures.DocumentConflict)
      .addError(failures.EmbedderMismatch)
      .addError(failures.EmbedderUnavailable)
      .addError(failures.IndexingBusy)
      .addError(failures.JobsBusy)
      .middleware(Writing)
      .annotateContext(
        about(
          "Index documents",
          "Adds documents, or replaces those with the same source or doc_id. Each document is replaced atomically: a search sees its old passages or its new ones. Unchanged text is not embedded again. A collection that does not exist is created, even if its name is a typo: GET /collections lists all.",
          { transform: respondAsync }
        )
      )
  )
  .add(
    HttpApiEndpoint.get("listDocuments", "/documents")
      .setUrlParams(ListParams)
      .addSuccess(ListResponse)
      .addError(failures.InvalidRequest)
      .annotateContext(
        about("List documents", "The documents of a collection, page by page, all or those that a filter matches.")
      )
  )
  .add(
    HttpApiEndpoint.del("deleteBySource", "/documents")
      .setPayload(DeleteBody)
      .setUrlParams(DeleteParams)
      .addSuccess(DeleteResponse)
      .addError(ofBodies)
      .middleware(Writing)
      .annotateContext(
        about(
          "Delete documents by source or filter",
          "Deletes the documents of a source, named in the body or in the query string, or those that a filter in the body matches, a few hundred at a time. Deleting nothing is not an error.",
          { transform: bodyOptional }
        )
      )
  )
  .add(
    HttpApiEndpoint.get("getDocument")`/documents/${docId}`
      .setUrlParams(InCollection)
      .addSuccess(DocumentResponse)
      .addError(failures.InvalidRequest)
      .addError(failures.DocumentNotFound)
      .annotateContext(
        about(
          "Get a document",
          "The document with its metadata and its passages' positions, so that a citation can be opened."
        )
      )
  )
  .add(
    HttpApiEndpoint.get("listPassages")`/documents/${docId}/passages`
      .setUrlParams(PassagesParams)
      .addSuccess(PassagesResponse)
      .addError(failures.InvalidRequest)
      .addError(failures.DocumentNotFound)
      .annotateContext(
        about(
          "List a document's passages",
          "The passages of a document as they were cut, with their texts, page by page."
        )
      )
  )
  .add(
    HttpApiEndpoint.del("deleteDocument")`/documents/${docId}`
      .setUrlParams(InCollection)
      .addSuccess(DeleteResponse)
      .addError(failures.InvalidRequest)
      .addError(failures.DocumentNotFound)
      .middleware(Writing)
      .annotateContext(about("Delete a document", "Deletes one document with all its passages."))
  )
  .addError(failures.CollectionNotFound)
  .addError(failures.StoreUnavailable)
  .middlewareEndpoints(Authorization)
  .annotateContext(OpenApi.annotations({ title: "Documents", description: "Index, read and delete documents." })) {}
