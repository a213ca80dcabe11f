import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Collections, orEmpty, untilMade } from "../Collections.ts"
import { Indexer } from "../Indexer.ts"
import { Search } from "../Search.ts"
import { type CollectionNotFound, DocumentNotFound, Store, UpkeepStore } from "../Store.ts"
import { Api } from "../api/Api.ts"
import type { ReindexResponse } from "../api/Collections.ts"
import {
  type DeleteResponse,
  type DocumentResponse,
  type IndexRequest,
  type ListParams,
  type ListResponse,
  type PassagesResponse,
  toIndexResponse
} from "../api/Documents.ts"
import type { FieldError } from "../api/Problem.ts"
import { CollectionProtected, InvalidRequest, badField } from "../api/errors.ts"
import { filterHint } from "../filterHint.ts"
import {
  type CollectionName,
  type CollectionSummary,
  type EmbedderIdentity,
  defaultCollection
} from "../model/Collection.ts"
import { DocumentId } from "../model/Document.ts"
import { type Filter, isEmptyFilter } from "../model/Filter.ts"
import { indexedSince } from "../model/Since.ts"
import { type Dated, placeOf } from "../model/SearchResult.ts"
import { toCollectionInfo, toEmbedding } from "../model/Stats.ts"
import type { Deleted, DocumentPassages, ListedBy, ListPage, StoredDocument } from "../model/Stored.ts"
import { sharingWrites } from "../runtime/EventLoop.ts"
import { Reindexer } from "../upkeep/Reindexer.ts"
import { swept } from "../upkeep/swept.ts"
import { makeAudit } from "./audit.ts"
import { Jobs, type Told } from "./Jobs.ts"
import * as metrics from "./metrics.ts"
import { withoutPaths } from "./respond.ts"

const toDeleteResponse = ({ documents, passages }: Deleted): DeleteResponse => ({
  deleted_documents: documents,
  deleted_chunks: passages
})

const toDocumentResponse = (document: StoredDocument, { stale }: Dated): DocumentResponse => ({
  doc_id: document.docId,
  content: document.content,
  metadata: {
    ...document.metadata,
    source: document.source,
    title: document.title
  },
  passages: document.passages.map(placeOf),
  indexed_at: document.indexedAt,
  ...(stale === undefined ? {} : { [stale]: true })
})

const toPassagesResponse = ({ docId, passages, source, title, total }: DocumentPassages): PassagesResponse => ({
  doc_id: docId,
  source,
  title,
  total,
  passages: passages.map((passage) => ({ text: passage.text, ...placeOf(passage) }))
})

interface BySource {
  readonly source?: string | undefined
  readonly filter?: Filter | undefined
  readonly collection?: CollectionName | undefined
}

/** Documents deleted in one transaction. */
const step = 200

const defaultLimit = 100

/** The end of a page: by source, the id and source of its last document; by a figure, that and the document's place. */
const Cursor = Schema.Union(
  Schema.Tuple(DocumentId, Schema.NullOr(Schema.String)),
  Schema.Tuple(Schema.Literal("indexed_at", "passages"), Schema.Int, Schema.Int)
)
type Cursor = typeof Cursor.Type

const cursorOf = (cursor: Cursor): string => Buffer.from(JSON.stringify(cursor)).toString("base64url")

const decodeCursor = Schema.decodeUnknownOption(Schema.parseJson(Cursor))

/** Where a page begins. */
const readCursor = (cursor: string, by: ListedBy): Effect.Effect<Pick<ListPage, "after" | "from">, InvalidRequest> =>
  Option.match(decodeCursor(Buffer.from(cursor, "base64url").toString("utf8")), {
    onNone: () => badField("cursor", "is not from this server; start again without it"),
    onSome: (at) =>
      (at.length === 3 ? at[0] : "source") !== by
        ? badField("cursor", "is of a list with another sort; start again without it")
        : Effect.succeed(
            at.length === 3 ? { from: [at[1], at[2]] } : { after: { docId: at[0], source: at[1] ?? undefined } }
          )
  })

/** Merges body and query string; a parameter in both must be the same. */
const merge = (
  body: BySource,
  params: BySource
): Effect.Effect<
  { readonly what: string | Filter; readonly collection?: CollectionName | undefined },
  InvalidRequest
> => {
  const errors: Array<FieldError> = (["source", "collection"] as const)
    .filter((key) => body[key] !== undefined && params[key] !== undefined && body[key] !== params[key])
    .map((path) => ({ path, message: "the body and the query string differ" }))
  const source = body.source ?? params.source
  const { filter } = body
  if (source === undefined && filter === undefined) {
    errors.push({
      path: "source",
      message: "no source to delete, neither in the body nor in the query string; give one, or a filter"
    })
  }
  if (source !== undefined && filter !== undefined) {
    errors.push({ path: "filter", message: "give source or filter, not both" })
  }
  if (filter !== undefined && isEmptyFilter(filter)) {
    errors.push({ path: "filter", message: "must have a condition: without one it would delete everything" })
  }
  return errors.length > 0
    ? new InvalidRequest({ errors })
    : Effect.succeed({ what: (source ?? filter)!, collection: body.collection ?? params.collection })
}

const counted = <E>(deleting: Effect.Effect<Deleted, E>): Effect.Effect<Deleted, E> =>
  Effect.tap(deleting, ({ documents }) => metrics.deleted(documents))

/** If the default collection does not exist yet, a document is not found. */
const orMissing = <A, E>(
  docId: DocumentId,
  collection: CollectionName = defaultCollection,
  use: (name: CollectionName) => Effect.Effect<A, E | CollectionNotFound>
) => untilMade(collection, () => new DocumentNotFound({ docId }))(use(collection))

export const layer = HttpApiBuilder.group(Api, "documents", (handlers) =>
  Effect.gen(function* () {
    const store = yield* Store
    const indexer = yield* Indexer
    const search = yield* Search

    const jobs = yield* Jobs
    const audit = yield* makeAudit

    const index = Effect.fnUntraced(function* ({ collection, documents }: IndexRequest, told: Told, isJob: boolean) {
      const total = documents.length
      const [took, outcomes] = yield* Effect.timed(
        indexer.index(documents, collection, (done) => told({ done, total, unit: "documents" }), isJob)
      )
      const response = toIndexResponse(outcomes, Duration.toMillis(took))
      yield* metrics.indexed(response)
      return response
    })

    /** Deletes in steps, so that others can write meanwhile; matching documents added meanwhile are deleted too. */
    const deleteMatching = Effect.fnUntraced(function* (collection: CollectionName, filter: Filter) {
      let all: Deleted = { documents: 0, passages: 0 }
      const share = sharingWrites()
      for (;;) {
        const { documents, passages } = yield* store.deleteMatching(collection, filter, step)
        if (documents === 0) return all
        all = { documents: all.documents + documents, passages: all.passages + passages }
        yield* share
      }
    })

    /** A hint why nothing matches a filter. */
    const hinted = Effect.fnUntraced(function* (filter: Filter | undefined, collection: CollectionName) {
      const hint =
        filter === undefined ? undefined : yield* Effect.provideService(filterHint(filter, [collection]), Store, store)
      return hint === undefined ? {} : { hint }
    })

    const list = Effect.fnUntraced(function* ({
      collection = defaultCollection,
      cursor,
      filter: given,
      limit = defaultLimit,
      since,
      sort = "source",
      source: named
    }: typeof ListParams.Type) {
      const falling = sort.startsWith("-")
      const by = sort.replace("-", "") as ListedBy
      const { after, from } = cursor === undefined ? {} : yield* readCursor(cursor, by)
      const filter = indexedSince(since, yield* Clock.currentTimeMillis, given)
      const found = yield* store.list(collection, { limit: limit + 1, after, filter, named, by, falling, from })
      const documents = found.slice(0, limit)
      const last = documents.at(-1)
      return {
        documents: documents.map(({ docId, indexedAt, passages, source, title }) => ({
          doc_id: docId,
          source,
          title,
          chunks: passages,
          indexed_at: indexedAt
        })),
        ...(last === undefined ? yield* hinted(filter, collection) : {}),
        ...(found.length > limit && last !== undefined
          ? {
              next_cursor: cursorOf(
                by === "source"
                  ? [last.docId, last.source ?? null]
                  : [by, by === "passages" ? last.passages : last.indexedAt, last.place]
              )
            }
          : {})
      } satisfies ListResponse
    })

    return handlers
      .handle("listDocuments", ({ urlParams }) =>
        orEmpty(urlParams.collection ?? defaultCollection, { documents: [] })(list(urlParams))
      )
      .handle("index", ({ payload, request }) =>
        jobs.answer(request, { kind: "index", collection: payload.collection ?? defaultCollection }, (told, isJob) =>
          index(payload, told, isJob)
        )
      )
      .handle("deleteBySource", ({ payload, urlParams }) =>
        Effect.flatMap(merge(payload, urlParams), ({ collection = defaultCollection, what }) => {
          const deleted = counted(
            typeof what === "string" ? store.deleteSource(collection, what) : deleteMatching(collection, what)
          )
          const found = audit("delete", { collection })(orEmpty(collection, { documents: 0, passages: 0 })(deleted))
          return Effect.flatMap(found, (deleted) =>
            Effect.map(
              hinted(deleted.documents > 0 || typeof what === "string" ? undefined : what, collection),
              (hint) => ({
                ...toDeleteResponse(deleted),
                ...hint
              })
            )
          )
        })
      )
      .handle("getDocument", ({ path: { doc_id: docId }, urlParams }) =>
        Effect.flatMap(
          orMissing(docId, urlParams.collection, (name) => store.get(name, docId)),
          (document) =>
            Effect.map(search.dated(urlParams.collection ?? defaultCollection, document), (dated) =>
              toDocumentResponse(document, dated)
            )
        )
      )
      .handle("listPassages", ({ path: { doc_id: docId }, urlParams: { collection, limit = 50, offset = 0 } }) =>
        Effect.map(
          orMissing(docId, collection, (name) => store.passages(name, docId, { offset, limit })),
          toPassagesResponse
        )
      )
      .handle("deleteDocument", ({ path: { doc_id: docId }, urlParams }) =>
        Effect.map(
          audit("delete", { collection: urlParams.collection ?? defaultCollection })(
            counted(orMissing(docId, urlParams.collection, (name) => store.deleteDocument(name, docId)))
          ),
          toDeleteResponse
        )
      )
  })
)

/** A model folder is shown by its name only. */
export const withoutFolder = <E extends Pick<EmbedderIdentity, "model">>(embedder: E): E => ({
  ...embedder,
  model: withoutPaths(embedder.model)
})

/** Its model folders are shown by their names only. */
export const withoutFolders = (collection: CollectionSummary): CollectionSummary => ({
  ...collection,
  embedder: withoutFolder(collection.embedder),
  next: collection.next && { ...collection.next, embedder: withoutFolder(collection.next.embedder) }
})

const toInfo = (collection: CollectionSummary) => toCollectionInfo(withoutFolders(collection))

export const collectionsLayer = HttpApiBuilder.group(Api, "collections", (handlers) =>
  Effect.gen(function* () {
    const store = yield* Store
    const collections = yield* Collections
    const reindexer = yield* Reindexer
    const upkeep = yield* UpkeepStore
    const jobs = yield* Jobs
    const audit = yield* makeAudit

    const reindex = Effect.fnUntraced(function* (name: CollectionName, force: boolean, told: Told) {
      const started = yield* Clock.currentTimeMillis
      const last = yield* Stream.runLast(
        Stream.tap(reindexer.run(name, { force }), ({ done, total }) => told({ done, total, unit: "passages" }))
      )
      yield* Effect.provideService(swept, UpkeepStore, upkeep)
      const { changed, done, from, to } = Option.getOrThrow(last)
      return {
        collection: name,
        from: toEmbedding(withoutFolder(from)),
        to: toEmbedding(withoutFolder(to)),
        changed,
        chunks: done,
        reindex_time_ms: (yield* Clock.currentTimeMillis) - started
      } satisfies ReindexResponse
    })

    return handlers
      .handle("reindex", ({ path: { name }, payload: { force = false }, request }) =>
        jobs.answer(request, { kind: "reindex", collection: name }, (told) => reindex(name, force, told))
      )
      .handle("listCollections", () => Effect.map(store.collections, (all) => ({ collections: all.map(toInfo) })))
      .handle("createCollection", ({ payload: { name } }) =>
        Effect.map(audit("create collection", { collection: name })(collections.create(name)), (collection) =>
          toInfo({ ...collection, documents: 0, passages: 0 })
        )
      )
      .handle("dropCollection", ({ path: { name } }) =>
        name === defaultCollection
          ? new CollectionProtected()
          : Effect.map(
              audit("drop collection", { collection: name })(counted(store.dropCollection(name))),
              toDeleteResponse
            )
      )
  })
)
