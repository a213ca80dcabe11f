import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { CollectionName } from "../model/Collection.ts"
import { DocumentId, DocumentInput, Source } from "../model/Document.ts"
import { Filter } from "../model/Filter.ts"
import { kindOf, shown } from "../model/kinds.ts"
import { Hint } from "../model/Provenance.ts"
import { place } from "../model/SearchResult.ts"
import * as failures from "./failures.ts"
import { Authorization, Writing } from "./Middleware.ts"
import { strict } from "./strict.ts"

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

const count = (description: string) => Schema.Int.annotations({ description })

export const IndexResponse = Schema.Struct({
  indexed: count("New or changed documents"),
  unchanged: count("Unchanged documents"),
  chunks: count("Passages of the new or changed documents"),
  documents: Schema.Array(
    Schema.Struct({
      doc_id: Schema.String.annotations({ description: "The document's id in its collection" }),
      source: Schema.optional(Schema.String.annotations({ description: "The document's source, if it has one" })),
      status: Schema.Literal("created", "updated", "unchanged").annotations({ description: "What happened to it" }),
      chunks: count("Its passages")
    }).annotations({ identifier: "IndexedDocument", description: "What happened to one document" })
  ).annotations({ description: "What happened to each document, in the request's order" }),
  index_time_ms: count("The duration of indexing")
}).annotations({ identifier: "IndexResponse", description: "What was indexed" })
export type IndexResponse = typeof IndexResponse.Type

interface Outcome {
  readonly docId: string
  readonly source: string | undefined
  readonly status: "created" | "updated" | "unchanged"
  readonly passages: number
}

/** The outcomes of a batch, in its order, in their JSON form. */
export const toIndexResponse = (outcomes: ReadonlyArray<Outcome>, ms: number): IndexResponse => {
  const changed = outcomes.filter(({ status }) => status !== "unchanged")
  return {
    indexed: changed.length,
    unchanged: outcomes.length - changed.length,
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
  deleted_documents: count("Documents deleted"),
  deleted_chunks: count("Their passages"),
  hint: Schema.optional(Hint)
}).annotations({ identifier: "DeleteResponse", description: "What was deleted" })
export type DeleteResponse = typeof DeleteResponse.Type

const bySource = {
  source: Schema.optional(Source.annotations({ description: "Source of the documents to delete, matched exactly" })),
  collection: Schema.optional(CollectionName)
}

export const DeleteBody = Schema.Struct({
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

export const DeleteParams = Schema.Struct(bySource).annotations(strict)

const Limit = Schema.NumberFromString.pipe(
  Schema.int(),
  Schema.between(1, 1000),
  Schema.annotations({
    jsonSchema: { type: "integer", minimum: 1, maximum: 1000, description: "Documents per page; default 100" },
    message: ({ actual }) => ({
      message: `limit must be an integer from 1 to 1000, got ${shown(actual)}`,
      override: true
    })
  })
)

export const ListParams = Schema.Struct({
  filter: Schema.optional(
    Schema.parseJson(Filter).annotations({
      jsonSchema: { type: "string", description: "A filter as in POST /query, as JSON" }
    })
  ),
  limit: Schema.optional(Limit),
  cursor: Schema.optional(
    Schema.String.pipe(Schema.maxLength(8000)).annotations({ description: "next_cursor of the previous page" })
  ),
  collection: Schema.optional(CollectionName)
}).annotations(strict)

export const ListResponse = Schema.Struct({
  documents: Schema.Array(
    Schema.Struct({
      doc_id: Schema.String.annotations({ description: "The document's id in its collection" }),
      source: Schema.optional(Schema.String.annotations({ description: "The document's source, if it has one" })),
      title: Schema.optional(Schema.String.annotations({ description: "The document's title, if it has one" })),
      chunks: count("Its passages")
    }).annotations({ identifier: "ListedDocument", description: "A document without its text" })
  ).annotations({ description: "By source, else doc_id" }),
  next_cursor: Schema.optional(
    Schema.String.annotations({ description: "Present if there is another page: its cursor, an opaque string" })
  ),
  hint: Schema.optional(Hint)
}).annotations({ identifier: "ListResponse", description: "A page of documents" })
export type ListResponse = typeof ListResponse.Type

/** A document's id as a path segment: the router decodes it, so only a client has to encode it. */
const DocumentPath = Schema.transform(Schema.String, Schema.typeSchema(DocumentId), {
  strict: false,
  decode: (segment) => segment,
  encode: (id) => encodeURIComponent(id)
}).annotations({
  identifier: "DocumentPath",
  jsonSchema: { type: "string", minLength: 1, maxLength: 1000, description: "The document's doc_id, percent-encoded" }
})

const docId = HttpApiSchema.param("doc_id", DocumentPath)

const InCollection = Schema.Struct({ collection: Schema.optional(CollectionName) }).annotations(strict)

export const PassageSpan = Schema.Struct(place).annotations({
  identifier: "PassageSpan",
  description: "The position of a passage in its document"
})

export const DocumentResponse = Schema.Struct({
  doc_id: Schema.String.annotations({ description: "The document's id in its collection" }),
  content: Schema.String.annotations({ description: "The document's text, as it was indexed" }),
  metadata: Schema.Record({ key: Schema.String, value: Schema.Unknown }).annotations({
    description: "The document's metadata, source and title among them"
  }),
  passages: Schema.Array(PassageSpan).annotations({ description: "Its passages, in order" }),
  indexed_at: count("When it was indexed, in milliseconds since 1970")
}).annotations({ identifier: "DocumentResponse", description: "A document with its passages' positions" })
export type DocumentResponse = typeof DocumentResponse.Type

export class DocumentsGroup extends HttpApiGroup.make("documents")
  .add(
    HttpApiEndpoint.post("index", "/index")
      .setPayload(IndexRequest)
      .addSuccess(IndexResponse)
      .addError(failures.InvalidRequest)
      .addError(failures.MalformedBody)
      .addError(failures.DocumentConflict)
      .addError(failures.EmbedderMismatch)
      .addError(failures.PayloadTooLarge)
      .addError(failures.UnsupportedMediaType)
      .addError(failures.EmbedderUnavailable)
      .addError(failures.IndexingBusy)
      .middleware(Writing)
      .annotateContext(
        OpenApi.annotations({
          summary: "Index documents",
          description:
            "Adds documents, or replaces those with the same source or doc_id. Each document is replaced atomically: a search sees its old passages or its new ones. Unchanged text is not embedded again. A collection that does not exist is created, even if its name is a typo: GET /collections lists all."
        })
      )
  )
  .add(
    HttpApiEndpoint.get("listDocuments", "/documents")
      .setUrlParams(ListParams)
      .addSuccess(ListResponse)
      .addError(failures.InvalidRequest)
      .annotateContext(
        OpenApi.annotations({
          summary: "List documents",
          description: "The documents of a collection, page by page, all or those that a filter matches."
        })
      )
  )
  .add(
    HttpApiEndpoint.del("deleteBySource", "/documents")
      .setPayload(DeleteBody)
      .setUrlParams(DeleteParams)
      .addSuccess(DeleteResponse)
      .addError(failures.InvalidRequest)
      .addError(failures.MalformedBody)
      .addError(failures.PayloadTooLarge)
      .addError(failures.UnsupportedMediaType)
      .middleware(Writing)
      .annotateContext(
        OpenApi.annotations({
          summary: "Delete documents by source or filter",
          description:
            "Deletes the documents of a source, named in the body or in the query string, or those that a filter in the body matches, a few hundred at a time. Deleting nothing is not an error.",
          transform: (operation) => ({ ...operation, requestBody: { ...operation["requestBody"], required: false } })
        })
      )
  )
  .add(
    HttpApiEndpoint.get("getDocument")`/documents/${docId}`
      .setUrlParams(InCollection)
      .addSuccess(DocumentResponse)
      .addError(failures.InvalidRequest)
      .addError(failures.DocumentNotFound)
      .annotateContext(
        OpenApi.annotations({
          summary: "Get a document",
          description: "The document with its metadata and its passages' positions, so that a citation can be opened."
        })
      )
  )
  .add(
    HttpApiEndpoint.del("deleteDocument")`/documents/${docId}`
      .setUrlParams(InCollection)
      .addSuccess(DeleteResponse)
      .addError(failures.InvalidRequest)
      .addError(failures.DocumentNotFound)
      .middleware(Writing)
      .annotateContext(
        OpenApi.annotations({
          summary: "Delete a document",
          description: "Deletes one document with all its passages."
        })
      )
  )
  .addError(failures.CollectionNotFound)
  .addError(failures.StoreUnavailable)
  .middlewareEndpoints(Authorization)
  .annotateContext(OpenApi.annotations({ title: "Documents", description: "Index, read and delete documents." })) {}
