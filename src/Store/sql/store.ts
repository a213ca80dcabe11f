import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { CollectionExists, DocumentNotFound, EmbedderMismatch, type Whole } from "../../Store.ts"
import { type Collection, type CollectionName, sameEmbedder } from "../../model/Collection.ts"
import { spanned, spanning } from "../../runtime/tracing.ts"
import { Database } from "./Database.ts"
import * as collections from "./collections.ts"
import { written } from "./demands.ts"
import * as documents from "./documents.ts"
import { embeddings, exported } from "./exporting.ts"
import * as files from "./files.ts"
import * as graph from "./graph/edges.ts"
import { keepLinkage, linkageOf } from "./graph/linkage.ts"
import * as graphReading from "./graph/reading.ts"
import { suggest } from "./graph/suggesting.ts"
import * as listing from "./listing.ts"
import { put } from "./put.ts"
import * as figures from "./reading.ts"
import * as rebuild from "./rebuild.ts"
import * as reindex from "./reindex.ts"
import { filteredCount, find, rank } from "./snapshot.ts"
import * as sweep from "./sweep.ts"
import { stepsInBackground, upkeepStep } from "./upkeep.ts"
import * as vectors from "./vectors.ts"

/** All the ports of a store on a database. */
export const make = Effect.gen(function* () {
  const { about, bytes, graph: inGraph, look, read, searching, sql, upkeep: own, write } = yield* Database
  const upkeep = yield* stepsInBackground("Merging, or sweeping,", write(upkeepStep(sql)))
  const change = <A, E>(effect: Effect.Effect<A, E | SqlError>) => Effect.zipLeft(write(effect), upkeep)
  const refined =
    (searching.vectors.finerBytes ?? 0) > 0
      ? yield* stepsInBackground("Making finer codes", read(vectors.refine(sql, searching.codes)))
      : Effect.void
  const refining = Effect.suspend(() => (searching.codes.canRefine ? refined : Effect.void))
  const within = <A, E, R>(name: CollectionName, use: (collection: Collection) => Effect.Effect<A, E, R>) =>
    Effect.flatMap(collections.find(sql, name), use)
  /** Changes a collection's documents, and keeps what is measured of them. */
  const changing = <A, E>(name: CollectionName, use: (collection: Collection) => Effect.Effect<A, E | SqlError>) =>
    change(within(name, (collection) => Effect.zipLeft(use(collection), keepLinkage(sql, collection.id))))

  return {
    createCollection: Effect.fn("Store.createCollection")(function* (name, embedder, next) {
      const now = yield* Clock.currentTimeMillis
      return yield* collections.find(sql, name).pipe(
        Effect.flatMap(() => new CollectionExists({ name })),
        Effect.catchTag("CollectionNotFound", () =>
          Effect.flatMap(collections.create(sql, name, embedder, now), (made) =>
            next === undefined
              ? Effect.succeed(made)
              : Effect.as(reindex.begin(sql, made, next), { ...made, next: { embedder: next, done: 0 } })
          )
        ),
        write
      )
    }),

    collection: spanned("Store.collection")((name) => look(collections.find(sql, name))),

    collections: spanning(look(collections.all(sql)), "Store.collections"),

    dropCollection: Effect.fn("Store.dropCollection")((name) => change(collections.drop(sql, name))),

    lookup: Effect.fn("Store.lookup")((name, refs) => read(within(name, ({ id }) => documents.resolve(sql, id, refs)))),

    embeddings: Effect.fn("Store.embeddings")((name, of) => read(within(name, ({ id }) => embeddings(sql, id, of)))),

    put: Effect.fn("Store.put")(function* (name, prepared, options) {
      const now = yield* Clock.currentTimeMillis
      const configured = options?.embedder
      return yield* changing(
        name,
        Effect.fnUntraced(function* (collection) {
          const { embedder: recorded } = collection
          if (configured !== undefined && !sameEmbedder(recorded, configured)) {
            return yield* new EmbedderMismatch({ collection: name, recorded, configured })
          }
          return yield* put(sql, collection, prepared, now, { ...options, inGraph })
        })
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
      read(within(name, ({ id }) => figures.ofFile(sql, id, path, page)))
    ),

    roots: Effect.fn("Store.roots")((name) => read(within(name, ({ id }) => files.roots(sql, id)))),

    prune: Effect.fn("Store.prune")((name, paths, options) =>
      changing(name, ({ id }) => documents.prune(sql, id, paths, options))
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
        Effect.sync(() => searching.scoring.forget())
      )
    ),

    rebuilds: Effect.fn("Store.rebuilds")(() => read(rebuild.pending(sql))),

    rebuildStep: Effect.fn("Store.rebuildStep")(() => change(rebuild.step(sql))),

    get: Effect.fn("Store.get")((name, docId) => read(within(name, ({ id }) => figures.get(sql, id, docId)))),

    passages: Effect.fn("Store.passages")((name, docId, page) =>
      read(within(name, ({ id }) => figures.passagesOf(sql, id, docId, page)))
    ),

    list: Effect.fn("Store.list")((name, page) => read(within(name, ({ id }) => listing.page(sql, id, page)))),

    recent: Effect.fn("Store.recent")((limit) => read(figures.recent(sql, limit))),

    sample: Effect.fn("Store.sample")((name, places) =>
      read(within(name, ({ id }) => figures.sample(sql, id, places)))
    ),

    filtered: Effect.fn("Store.filtered")((names, filter) => read(filteredCount(sql, searching, names, filter))),

    metadataKeys: Effect.fn("Store.metadataKeys")((keys) => read(figures.metadataKeys(sql, keys))),

    exported: Effect.fn("Store.exported")((name, page) => read(within(name, ({ id }) => exported(sql, id, page)))),

    deleteDocument: Effect.fn("Store.deleteDocument")((name, docId) =>
      changing(name, ({ id }) =>
        Effect.flatMap(documents.removeWhere(sql, id, "doc_id", docId), (deleted) =>
          deleted.documents === 0 ? new DocumentNotFound({ docId }) : Effect.succeed(deleted)
        )
      )
    ),

    deleteMatching: Effect.fn("Store.deleteMatching")((name, filter, limit) =>
      changing(name, ({ id }) => documents.removeMatching(sql, id, filter, limit))
    ),

    deleteSource: Effect.fn("Store.deleteSource")((name, source) =>
      changing(name, ({ id }) => documents.removeWhere(sql, id, "source", source))
    ),

    settle: Effect.fn("Store.settle")(own.settle),

    purge: Effect.fn("Store.purge")(own.purge),

    sweeping: Effect.fn("Store.sweeping")(() => read(sweep.isDue(sql))),

    resume: Effect.fn("Store.resume")(() => Effect.asVoid(upkeep)),

    compact: Effect.fn("Store.compact")(own.compact),

    rank: spanned("Store.rank")((request) => Effect.zipLeft(read(rank(sql, searching, request)), refining)),

    find: spanned("Store.find")((request) => Effect.zipLeft(read(find(sql, searching, request)), refining)),

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

    stats: Effect.fn("Store.stats")((name) => read(figures.stats(sql, { codes: searching.codes, bytes }, name))),

    extendGraph: Effect.fn("Store.extendGraph")((name, after, limit) =>
      changing(name, ({ id }) => graph.extend(sql, id, after, limit))
    ),

    graphUnasked: Effect.fn("Store.graphUnasked")((name, model, after, limit) =>
      changing(name, ({ id }) => graph.unasked(sql, id, model, after, limit))
    ),

    keepSaid: Effect.fn("Store.keepSaid")((name, passage, model, said) =>
      changing(name, ({ id }) => graph.keepSaid(sql, id, passage, model, said))
    ),

    keepLinkage: Effect.fn("Store.keepLinkage")((name, measured) =>
      write(within(name, ({ id }) => keepLinkage(sql, id, measured)))
    ),

    linkage: Effect.fn("Store.linkage")((name) => read(within(name, ({ id }) => linkageOf(sql, id)))),

    graphPassages: Effect.fn("Store.graphPassages")((name, which) =>
      read(within(name, ({ id }) => graphReading.passages(sql, id, which)))
    ),

    graphEntities: Effect.fn("Store.graphEntities")((name, hashes) =>
      read(within(name, ({ id }) => Effect.map(graphReading.entitiesOf(sql, id, hashes), (found) => [...found])))
    ),

    suggest: Effect.fn("Store.suggest")((names, prefix, limit) => read(suggest(sql, names, prefix, limit))),

    about: Effect.fn("Store.about")(() => look(about)),

    sizes: Effect.fn("Store.sizes")(() => read(figures.sizes(sql)))
  } satisfies Whole as Whole
})
