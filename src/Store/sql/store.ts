import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { CollectionExists, DocumentNotFound } from "../../Store.ts"
import type { CollectionName, CollectionSummary } from "../../model/Collection.ts"
import { anywhere, embeddedBy, traced } from "../core/calls.ts"
import type { Database } from "./Database.ts"
import * as collections from "./collections.ts"
import { written } from "./demands.ts"
import * as documents from "./documents.ts"
import { embeddings, exported } from "./exporting.ts"
import * as files from "./files.ts"
import * as graph from "./graph/edges.ts"
import { keepLinkage, linkageOf } from "./graph/linkage.ts"
import { entitiesOf, passages } from "./graph/reading.ts"
import { suggest } from "./graph/suggesting.ts"
import * as listing from "./listing.ts"
import { put } from "./put.ts"
import * as reading from "./reading.ts"
import * as rebuild from "./rebuild.ts"
import * as reindex from "./reindex.ts"
import { filteredCount, find } from "./snapshot.ts"
import * as sweep from "./sweep.ts"
import { stepsInBackground, upkeepStep } from "./upkeep.ts"
import * as vectors from "./vectors.ts"
import type { Sql } from "./rows.ts"

/** What is done with one collection. */
type Use<Of, Args extends ReadonlyArray<unknown>, A, E> = (
  sql: Sql,
  collection: Of,
  ...args: Args
) => Effect.Effect<A, E | SqlError>

/** All the ports of a store on a database. */
export const make = Effect.fnUntraced(function* (database: Database) {
  const { about, bytes, graph: inGraph, look, read, searching, sql, upkeep: own, write } = database
  const upkeep = yield* stepsInBackground("Merging, or sweeping,", write(upkeepStep(sql)))
  const change: typeof write = (effect) => Effect.zipLeft(write(effect), upkeep)
  const refined =
    (searching.vectors.finerBytes ?? 0) > 0
      ? yield* stepsInBackground("Making finer codes", read(vectors.refine(sql, searching.codes)))
      : Effect.void
  const refining = Effect.suspend(() => (searching.codes.canRefine ? refined : Effect.void))

  /** Calls that name a collection, which they read or write. */
  const ofWhole =
    (run: typeof read) =>
    <Args extends ReadonlyArray<unknown>, A, E>(use: Use<CollectionSummary, Args, A, E>) =>
    (name: CollectionName, ...args: Args) =>
      run(Effect.flatMap(collections.find(sql, name), (collection) => use(sql, collection, ...args)))
  const of =
    (run: typeof read) =>
    <Args extends ReadonlyArray<unknown>, A, E>(use: Use<number, Args, A, E>) =>
      ofWhole(run)<Args, A, E>((sql, { id }, ...args) => use(sql, id, ...args))
  const reads = of(read)
  const writes = of(write)
  /** Those that change its documents keep what is measured of them. */
  const changes = <Args extends ReadonlyArray<unknown>, A, E>(use: Use<number, Args, A, E>) =>
    of(change)<Args, A, E>((sql, id, ...args) => Effect.zipLeft(use(sql, id, ...args), keepLinkage(sql, id)))

  return traced({
    createCollection: Effect.fnUntraced(function* (name, embedder, next) {
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
    collection: (name) => look(collections.find(sql, name)),
    collections: look(collections.all(sql)),
    dropCollection: (name) => change(collections.drop(sql, name)),

    lookup: reads(documents.resolve),
    embeddings: reads(embeddings),
    put: (name, prepared, options) =>
      change(
        Effect.gen(function* () {
          const collection = yield* collections.find(sql, name)
          yield* embeddedBy(collection, options?.embedder)
          const now = yield* Clock.currentTimeMillis
          const outcomes = yield* put(sql, collection, prepared, now, { ...options, inGraph })
          yield* keepLinkage(sql, collection.id)
          return outcomes
        })
      ),
    get: reads(reading.get),
    passages: reads(reading.passagesOf),
    list: reads(listing.page),
    recent: (limit) => read(reading.recent(sql, limit)),
    sample: reads(reading.sample),
    filtered: (names, filter) => read(filteredCount(sql, searching, names, filter)),
    metadataKeys: (keys) => read(reading.metadataKeys(sql, keys)),
    exported: reads(exported),
    deleteDocument: changes((sql, id, docId) =>
      Effect.filterOrFail(
        documents.removeWhere(sql, id, "doc_id", docId),
        ({ documents }) => documents > 0,
        () => new DocumentNotFound({ docId })
      )
    ),
    deleteMatching: changes(documents.removeMatching),
    deleteSource: changes((sql, id, source) => documents.removeWhere(sql, id, "name", source)),
    stats: (name) => read(reading.stats(sql, { codes: searching.codes, bytes }, name)),
    about: () => look(about),
    sizes: () => read(reading.sizes(sql)),

    beginRun: writes((sql, id, roots = []) =>
      Effect.tap(files.beginRun(sql), (run) => files.recordRoots(sql, id, roots, run))
    ),
    touch: writes(
      Effect.fnUntraced(function* (sql, id, touched, seenBy, changes = []) {
        yield* documents.touch(sql, id, touched, seenBy)
        yield* files.record(sql, id, changes, { run: seenBy ?? 0, now: yield* Clock.currentTimeMillis })
      })
    ),
    knownFiles: reads(files.known),
    filesBelow: reads(files.below),
    documentsOf: reads(reading.ofFile),
    roots: reads(files.roots),
    prune: changes(documents.prune),

    reindexing: reads(reindex.target),
    beginReindex: ofWhole(change)(reindex.begin),
    cancelReindex: ofWhole(change)(reindex.cancel),
    unembedded: ofWhole(read)(reindex.pending),
    putReindexed: ofWhole(write)(reindex.add),
    finishReindex: ofWhole(change)(reindex.finish),

    rebuilds: () => read(rebuild.pending(sql)),
    rebuildStep: () => change(rebuild.step(sql)),
    settle: own.settle,
    purge: own.purge,
    sweeping: () => read(sweep.isDue(sql)),
    resume: () => Effect.asVoid(upkeep),
    compact: own.compact,

    find: (request) => Effect.zipLeft(read(find(sql, searching, request)), refining),
    written: (names, words) =>
      read(
        anywhere(names, words, (name, left) =>
          Effect.flatMap(collections.find(sql, name), ({ id }) => written(sql, id, left))
        )
      ),

    extendGraph: changes(graph.extend),
    graphUnasked: changes(graph.unasked),
    keepSaid: changes(graph.keepSaid),
    keepLinkage: writes(keepLinkage),
    linkage: reads(linkageOf),
    graphPassages: reads(passages),
    graphEntities: reads(entitiesOf),
    suggest: (names, prefix, limit) => read(suggest(sql, names, prefix, limit))
  })
})
