import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as Effect from "effect/Effect"
import { Api } from "../api/Api.ts"
import type { DeleteResponse, DocumentResponse } from "../api/Documents.ts"
import { InvalidRequest } from "../api/errors.ts"
import type { FieldError } from "../api/Problem.ts"
import { type CollectionName, defaultCollection } from "../model/Collection.ts"
import type { DocumentId } from "../model/Document.ts"
import { placeOf } from "../model/SearchResult.ts"
import type { Deleted, StoredDocument } from "../model/Stored.ts"
import { CollectionNotFound, DocumentNotFound, Store } from "../Store.ts"
import { Indexing } from "./indexing.ts"
import * as metrics from "./metrics.ts"

export const toDeleteResponse = ({ documents, passages }: Deleted): DeleteResponse => ({
  deleted_documents: documents,
  deleted_chunks: passages
})

const toDocumentResponse = (document: StoredDocument): DocumentResponse => ({
  doc_id: document.docId,
  content: document.content,
  metadata: {
    ...document.metadata,
    ...(document.source === undefined ? {} : { source: document.source }),
    ...(document.title === undefined ? {} : { title: document.title })
  },
  passages: document.passages.map(placeOf),
  indexed_at: document.indexedAt
})

interface BySource {
  readonly source?: string | undefined
  readonly collection?: CollectionName | undefined
}

/** What body and query string say together; each thing once, or the same twice. */
const merge = (
  body: BySource,
  params: BySource
): Effect.Effect<BySource & { readonly source: string }, InvalidRequest> => {
  const errors: Array<FieldError> = (["source", "collection"] as const)
    .filter((key) => body[key] !== undefined && params[key] !== undefined && body[key] !== params[key])
    .map((path) => ({ path, message: "the body and the query string say different things" }))
  const source = body.source ?? params.source
  if (source === undefined) {
    errors.push({
      path: "source",
      message: "which source to delete is missing, in the body as well as in the query string"
    })
  }
  return errors.length > 0
    ? new InvalidRequest({ errors })
    : Effect.succeed({ source: source!, collection: body.collection ?? params.collection })
}

const counted = <E>(deleting: Effect.Effect<Deleted, E>): Effect.Effect<Deleted, E> =>
  Effect.tap(deleting, ({ documents }) => metrics.deleted(documents))

/** The default collection always exists, though it is made with its first document: without it, a document is missing. */
const orMissing = <A, E>(
  docId: DocumentId,
  collection: CollectionName | undefined,
  use: (name: CollectionName) => Effect.Effect<A, E | CollectionNotFound>
): Effect.Effect<A, E | CollectionNotFound | DocumentNotFound> =>
  Effect.mapError(use(collection ?? defaultCollection), (error) =>
    error instanceof CollectionNotFound && error.name === defaultCollection ? new DocumentNotFound({ docId }) : error
  )

export const layer = HttpApiBuilder.group(Api, "documents", (handlers) =>
  Effect.gen(function* () {
    const store = yield* Store
    const indexing = yield* Indexing

    return handlers
      .handle("index", ({ payload }) => indexing.run(payload))
      .handle("deleteBySource", ({ payload, urlParams }) =>
        Effect.flatMap(merge(payload, urlParams), ({ collection = defaultCollection, source }) => {
          const deleted = counted(store.deleteSource(collection, source))
          const found =
            collection === defaultCollection
              ? Effect.catchTag(deleted, "CollectionNotFound", () =>
                  Effect.succeed<Deleted>({ documents: 0, passages: 0 })
                )
              : deleted
          return Effect.map(found, toDeleteResponse)
        })
      )
      .handle("getDocument", ({ path: { doc_id: docId }, urlParams }) =>
        Effect.map(
          orMissing(docId, urlParams.collection, (name) => store.get(name, docId)),
          toDocumentResponse
        )
      )
      .handle("deleteDocument", ({ path: { doc_id: docId }, urlParams }) =>
        Effect.map(
          counted(orMissing(docId, urlParams.collection, (name) => store.deleteDocument(name, docId))),
          toDeleteResponse
        )
      )
  })
)
