import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import {
  CollectionExists,
  DocumentNotFound,
  EmbedderMismatch,
  ports,
  type Stores,
  type StoreUnavailable,
  type Whole
} from "../Store.ts"
import { type Collection, type CollectionName, sameEmbedder } from "../model/Collection.ts"
import type { RankRequest } from "../model/Stored.ts"
import { spanned, spanning } from "../runtime/tracing.ts"
import * as collections from "./sqlite/collections.ts"
import { compact, purge, settle, upkeepStep } from "./sqlite/compact.ts"
import { type DatabaseOptions, memory } from "./sqlite/connect.ts"
import * as Database from "./sqlite/Database.ts"
import * as documents from "./sqlite/documents.ts"
import { put } from "./sqlite/put.ts"
import * as figures from "./sqlite/figures.ts"
import * as files from "./sqlite/files.ts"
import * as asking from "./sqlite/graph/asking.ts"
import * as graph from "./sqlite/graph/edges.ts"
import { entitiesOf } from "./sqlite/graph/entities.ts"
import * as linkage from "./sqlite/graph/linkage.ts"
import * as graphReading from "./sqlite/graph/reading.ts"
import { embeddings } from "./sqlite/embeddings.ts"
import { written } from "./sqlite/demands.ts"
import { exported } from "./sqlite/exporting.ts"
import { isSettled } from "./sqlite/file/inspect.ts"
import { stepsInBackground } from "./sqlite/merging.ts"
import * as origins from "./sqlite/origins.ts"
import { metadataKeys } from "./sqlite/metadataKeys.ts"
import { filteredCount } from "./sqlite/asked.ts"
import { rank } from "./sqlite/snapshot.ts"
import * as rebuild from "./sqlite/rebuild.ts"
import * as reading from "./sqlite/reading.ts"
import { resolve } from "./sqlite/references.ts"
import { reopening } from "./sqlite/reopening.ts"
import * as reindex from "./sqlite/reindex.ts"
import * as sweep from "./sqlite/sweep.ts"
import * as vectors from "./sqlite/vectors.ts"

const make = Effect.gen(function* () {
  const database = yield* Database.Database
  const { graph: inGraph, look, read, searching, sql, write } = database
  const upkeep = yield* stepsInBackground("Merging, or sweeping,", write(upkeepStep(sql)))
  const change = <A, E>(effect: Effect.Effect<A, E | SqlError>) => Effect.zipLeft(write(effect), upkeep)
  const refined =
    (searching.vectors.finerBytes ?? 0) > 0
      ? yield* stepsInBackground("Making finer codes", read(vectors.refine(sql, searching.codes)))
      : Effect.void
  const refining = Effect.suspend(() => (searching.codes.canRefine ? refined : Effect.void))
  const ranked = (request: RankRequest) => Effect.zipLeft(read(rank(sql, searching, request)), refining)
  const within = <A, E, R>(name: CollectionName, use: (collection: Collection) => Effect.Effect<A, E, R>) =>
    Effect.flatMap(collections.find(sql, name), use)

  return {
    createCollection: Effect.fn("Store.createCollection")(function* (name, embedder) {
      const now = yield* Clock.currentTimeMillis
      return yield* collections.find(sql, name).pipe(
        Effect.flatMap(() => new CollectionExists({ name })),
        Effect.catchTag("CollectionNotFound", () => collections.create(sql, name, embedder, now)),
        write
      )
    }),

    collection: spanned("Store.collection")((name) => look(collections.find(sql, name))),

    collections: spanning(look(collections.all(sql)), "Store.collections"),

    dropCollection: Effect.fn("Store.dropCollection")((name) => change(collections.drop(sql, name))),

    lookup: Effect.fn("Store.lookup")((name, refs) => read(within(name, ({ id }) => resolve(sql, id, refs)))),

    embeddings: Effect.fn("Store.embeddings")((name, of) => read(within(name, ({ id }) => embeddings(sql, id, of)))),

    put: Effect.fn("Store.put")(function* (name, prepared, options) {
      const now = yield* Clock.currentTimeMillis
      const configured = options?.embedder
      return yield* change(
        within(
          name,
          Effect.fnUntraced(function* (collection) {
            const { embedder: recorded } = collection
            if (configured !== undefined && !sameEmbedder(recorded, configured)) {
              return yield* new EmbedderMismatch({ collection: name, recorded, configured })
            }
            const outcomes = yield* put(sql, collection, prepared, now, { ...options, inGraph })
            if (inGraph) yield* linkage.keep(sql, collection.id)
            return outcomes
          })
        )
      )
    }),

    beginRun: Effect.fn("Store.beginRun")((name, roots = []) =>
      write(within(name, ({ id }) => Effect.tap(files.beginRun(sql), (run) => files.recordRoots(sql, id, roots, run))))
    ),

    touch: Effect.fn("Store.touch")(function* (name, touched, seenBy, changes = []) {
      const now = yield* Clock.currentTimeMillis
      yield* write(
        within(name, ({ id }) =>
          Effect.zipRight(
            documents.touch(sql, id, touched, seenBy),
            files.record(sql, id, changes, { run: seenBy ?? 0, now })
          )
        )
      )
    }),

    knownFiles: Effect.fn("Store.knownFiles")((name, paths) =>
      read(within(name, ({ id }) => files.known(sql, id, paths)))
    ),

    filesBelow: Effect.fn("Store.filesBelow")((name, root, page) =>
      read(within(name, ({ id }) => files.below(sql, id, root, page)))
    ),

    documentsOf: Effect.fn("Store.documentsOf")((name, path, page) =>
      read(within(name, ({ id }) => reading.ofFile(sql, id, path, page)))
    ),

    roots: Effect.fn("Store.roots")((name) => read(within(name, ({ id }) => files.roots(sql, id)))),

    prune: Effect.fn("Store.prune")((name, paths, options) =>
      change(within(name, ({ id }) => origins.prune(sql, id, paths, options)))
    ),

    reindexing: Effect.fn("Store.reindexing")((name) => read(within(name, ({ id }) => reindex.target(sql, id)))),

    beginReindex: Effect.fn("Store.beginReindex")((name, embedder) =>
      change(within(name, (collection) => reindex.begin(sql, collection, embedder)))
    ),

    unembedded: Effect.fn("Store.unembedded")((name, embedder, limit) =>
      read(within(name, (collection) => reindex.pending(sql, collection, embedder, limit)))
    ),

    putReindexed: Effect.fn("Store.putReindexed")((name, embedded, position) =>
      write(within(name, (collection) => reindex.add(sql, collection, embedded, position)))
    ),

    finishReindex: Effect.fn("Store.finishReindex")((name, embedder) =>
      Effect.tap(change(within(name, (collection) => reindex.finish(sql, collection, embedder))), () =>
        Effect.sync(() => searching.checked.forget())
      )
    ),

    rebuilds: Effect.fn("Store.rebuilds")(() => read(rebuild.pending(sql))),

    rebuildStep: Effect.fn("Store.rebuildStep")(() => change(rebuild.step(sql))),

    get: Effect.fn("Store.get")((name, docId) => read(within(name, ({ id }) => reading.get(sql, id, docId)))),

    list: Effect.fn("Store.list")((name, page) => read(within(name, ({ id }) => reading.page(sql, id, page)))),

    recent: Effect.fn("Store.recent")((limit) => read(reading.recent(sql, limit))),

    sample: Effect.fn("Store.sample")((name, places) =>
      read(within(name, ({ id }) => reading.sample(sql, id, places)))
    ),

    filtered: Effect.fn("Store.filtered")((names, filter) => read(filteredCount(sql, searching, names, filter))),

    metadataKeys: Effect.fn("Store.metadataKeys")((keys) => read(metadataKeys(sql, keys))),

    exported: Effect.fn("Store.exported")((name, page) => read(within(name, ({ id }) => exported(sql, id, page)))),

    deleteDocument: Effect.fn("Store.deleteDocument")((name, docId) =>
      change(
        within(name, ({ id }) =>
          Effect.flatMap(documents.removeWhere(sql, id, "doc_id", docId), (deleted) =>
            deleted.documents === 0 ? new DocumentNotFound({ docId }) : Effect.succeed(deleted)
          )
        )
      )
    ),

    deleteMatching: Effect.fn("Store.deleteMatching")((name, filter, limit) =>
      change(within(name, ({ id }) => documents.removeMatching(sql, id, filter, limit)))
    ),

    deleteSource: Effect.fn("Store.deleteSource")((name, source) =>
      change(within(name, ({ id }) => documents.removeWhere(sql, id, "source", source)))
    ),

    settle: Effect.fn("Store.settle")(() => settle(database)),

    purge: Effect.fn("Store.purge")(() => purge(database)),

    sweeping: Effect.fn("Store.sweeping")(() => read(sweep.isDue(sql))),

    resume: Effect.fn("Store.resume")(() => Effect.asVoid(upkeep)),

    compact: Effect.fn("Store.compact")(() => compact(database)),

    rank: spanned("Store.rank")((request) => Effect.map(ranked({ ...request, explain: false }), ({ hits }) => hits)),

    find: spanned("Store.find")(ranked),

    written: Effect.fn("Store.written")((names, words) =>
      read(
        Effect.gen(function* () {
          const found: Array<string> = []
          for (const name of names) {
            const { id } = yield* collections.find(sql, name)
            const left = words.filter((word) => !found.includes(word))
            if (left.length > 0) found.push(...(yield* written(sql, id, left)))
          }
          return found
        })
      )
    ),

    stats: Effect.fn("Store.stats")((name) => read(figures.stats(sql, searching, name))),

    extendGraph: Effect.fn("Store.extendGraph")((name, after, limit) =>
      write(within(name, ({ id }) => Effect.zipLeft(graph.extend(sql, id, after, limit), linkage.keep(sql, id))))
    ),

    graphUnasked: Effect.fn("Store.graphUnasked")((name, model, after, limit) =>
      write(within(name, ({ id }) => asking.unasked(sql, id, model, after, limit)))
    ),

    keepSaid: Effect.fn("Store.keepSaid")((name, passage, model, said) =>
      write(
        within(name, ({ id }) => Effect.zipLeft(asking.keepSaid(sql, id, passage, model, said), linkage.keep(sql, id)))
      )
    ),

    keepLinkage: Effect.fn("Store.keepLinkage")((name, measured) =>
      write(within(name, ({ id }) => linkage.keepMeasured(sql, id, measured)))
    ),

    linkage: Effect.fn("Store.linkage")((name) => read(within(name, ({ id }) => searching.linkages.of(sql, id)))),

    graphPage: Effect.fn("Store.graphPage")((name, after, limit) =>
      read(within(name, ({ id }) => graphReading.page(sql, id, after, limit)))
    ),

    graphPassages: Effect.fn("Store.graphPassages")((name, ids) =>
      read(within(name, ({ id }) => graphReading.passages(sql, id, ids)))
    ),

    graphEntities: Effect.fn("Store.graphEntities")((name, hashes) =>
      read(within(name, ({ id }) => Effect.map(entitiesOf(sql, id, hashes), (found) => [...found])))
    ),

    sizes: Effect.fn("Store.sizes")(() => read(figures.sizes(sql)))
  } satisfies Whole as Whole
})

export type { DatabaseOptions }
export { isSettled }

const opened = (options: DatabaseOptions) =>
  Effect.flatMap(Layer.build(Database.layer(options)), (context) =>
    Effect.provide(Effect.all({ store: make, place: Effect.map(Database.Database, ({ place }) => place) }), context)
  )

/** The whole index in one SQLite file. If another file replaces it, the next call opens that one. */
export const layer = (options: DatabaseOptions): Layer.Layer<Stores, StoreUnavailable> =>
  Layer.scopedContext(
    Effect.map(
      options.filename === memory ? Effect.map(opened(options), ({ store }) => store) : reopening(options, opened),
      ports
    )
  )

/** An index in memory, gone when the process ends. */
export const layerMemory: Layer.Layer<Stores, StoreUnavailable> = layer({ filename: memory, mode: "create" })
