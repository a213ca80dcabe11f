import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { CollectionExists, DocumentNotFound, type Whole, inOpenSearch } from "../../Store.ts"
import type { CollectionName, EmbedderIdentity } from "../../model/Collection.ts"
import type { StoreStats } from "../../model/Stored.ts"
import { anywhere, embeddedBy, traced } from "../core/calls.ts"
import { makeCandidates } from "./Candidates.ts"
import { Failed } from "./client.ts"
import type { Cluster } from "./Cluster.ts"
import { written } from "./demands.ts"
import * as documents from "./documents.ts"
import { type Moved, typed } from "./errors.ts"
import * as files from "./files.ts"
import { filterQuery } from "./filter.ts"
import * as graph from "./graph.ts"
import * as reading from "./reading.ts"
import * as records from "./records.ts"
import * as reindex from "./reindex.ts"
import { filteredCount, find } from "./snapshot.ts"

const isOfGone = (error: unknown): boolean => error instanceof Failed && error.kind === "index_not_found_exception"

/** All the ports of a store on a cluster. */
export const make = (cluster: Cluster): Whole => {
  // What was dropped or reindexed meanwhile has other indexes, or none, when its record is read again.
  const call = <A, E>(effect: Effect.Effect<A, E>) =>
    typed(cluster.options.prefix)(Effect.retry(effect, { times: 2, while: isOfGone }))
  /** Calls that name a collection. */
  const of =
    <Args extends ReadonlyArray<unknown>, A, E>(
      use: (cluster: Cluster, record: records.CollectionRecord, ...args: Args) => Effect.Effect<A, E | Failed | Moved>
    ) =>
    (name: CollectionName, ...args: Args) =>
      call(Effect.flatMap(records.find(cluster, name), (record) => use(cluster, record, ...args)))
  const all = records.summaries(cluster)
  const named = (names: ReadonlyArray<CollectionName>) =>
    Effect.map(records.all(cluster), (known) => known.filter(({ name }) => names.includes(name)))

  const create = Effect.fnUntraced(function* (
    name: CollectionName,
    embedder: EmbedderIdentity,
    next: EmbedderIdentity | undefined
  ) {
    const exists = new CollectionExists({ name })
    const isFree = records.find(cluster, name).pipe(
      Effect.as(false),
      Effect.catchTag("CollectionNotFound", () => Effect.succeed(true))
    )
    if (!(yield* isFree)) return yield* exists
    const { collections: id } = yield* records.take(cluster, { collections: 1 })
    const record: records.CollectionRecord = {
      id,
      name,
      embedder,
      created_at: yield* Clock.currentTimeMillis,
      documents: cluster.names.documents(id),
      passages: cluster.names.passages(id, 1),
      generation: 1
    }
    // Where the cluster has no room for all of them, those that it made would take what is left.
    yield* Effect.tapError(records.makeIndexes(cluster, record), () => discard(record))
    yield* Effect.catchIf(records.keep(cluster, record, undefined), records.isConflict, () =>
      Effect.zipRight(discard(record), exists)
    )
    const made = records.toCollection(record)
    if (next === undefined) return made
    yield* reindex.begin(cluster, name, next).pipe(Effect.catchTag("CollectionNotFound", Effect.die))
    return { ...made, next: { embedder: next, done: 0 } }
  })

  /** The record goes first, and with it the collection; what of its indexes is left then belongs to nobody. */
  const discard = (record: records.CollectionRecord) =>
    Effect.forEach(records.indexesOf(record), (index) => cluster.send("DELETE", `/${index}`, { allow: [404] }), {
      discard: true
    })

  return traced({
    createCollection: (name, embedder, next) => call(create(name, embedder, next)),
    collection: of(records.summaryOf),
    collections: call(all),
    dropCollection: of(
      Effect.fnUntraced(function* (cluster, record) {
        const [counts] = yield* records.countsOf(cluster, [record])
        yield* records.forget(cluster, record.name)
        yield* discard(record)
        return counts!
      })
    ),

    lookup: of(documents.resolve),
    embeddings: of(reading.embeddings),
    put: of(
      Effect.fnUntraced(function* (cluster, record, prepared, options) {
        yield* embeddedBy(record, options?.embedder)
        const indexedAt = yield* Clock.currentTimeMillis
        return yield* documents.put(cluster, record, prepared, {
          ...options,
          indexedAt,
          inGraph: cluster.options.graph ?? true
        })
      })
    ),
    get: of(reading.get),
    passages: of(reading.passagesOf),
    list: of(reading.page),
    recent: (limit) => call(Effect.flatMap(records.all(cluster), (known) => reading.recent(cluster, known, limit))),
    sample: of(reading.sample),
    filtered: (names, filter) =>
      call(Effect.flatMap(named(names), (known) => filteredCount(cluster, known, filterQuery(filter)))),
    metadataKeys: (keys) =>
      call(Effect.flatMap(records.all(cluster), (known) => reading.metadataKeys(cluster, known, keys))),
    exported: of(reading.exported),
    deleteDocument: of(
      Effect.fnUntraced(function* (cluster, record, docId) {
        const heads = yield* documents.headsOf(cluster, record, [docId])
        const deleted = yield* documents.removed(cluster, record, heads)
        return deleted.documents === 0 ? yield* new DocumentNotFound({ docId }) : deleted
      })
    ),
    deleteMatching: of(documents.removeMatching),
    deleteSource: of(documents.removeSource),
    stats: (name) =>
      call(
        Effect.gen(function* () {
          const known = yield* all
          const counted =
            name === undefined ? known : [yield* records.summaryOf(cluster, yield* records.find(cluster, name))]
          return {
            documents: counted.reduce((sum, { documents }) => sum + documents, 0),
            passages: counted.reduce((sum, { passages }) => sum + passages, 0),
            collections: known.length,
            databaseBytes: yield* bytesOf(cluster),
            engines: []
          } satisfies StoreStats
        })
      ),
    about: () =>
      call(
        Effect.map(cluster.send("GET", "/"), ({ version }) => ({
          backend: "opensearch" as const,
          version: version.number as string,
          prefix: cluster.options.prefix,
          capabilities: inOpenSearch
        }))
      ),
    sizes: () => call(Effect.map(bytesOf(cluster), (value) => [{ name: "index_bytes", what: "indexes", value }])),

    beginRun: of(
      Effect.fnUntraced(function* (cluster, record, roots = []) {
        const { runs } = yield* records.take(cluster, { runs: 1 })
        yield* files.recordRoots(cluster, record, roots)
        return runs
      })
    ),
    touch: of(
      Effect.fnUntraced(function* (cluster, record, touched, seenBy, changes = []) {
        yield* documents.touch(cluster, record, touched, seenBy)
        yield* files.record(cluster, record, changes, { run: seenBy ?? 0, now: yield* Clock.currentTimeMillis })
      })
    ),
    knownFiles: of(files.known),
    filesBelow: of(files.below),
    documentsOf: of(reading.ofFile),
    roots: of(files.roots),
    prune: of(documents.prune),

    reindexing: of((_, { next }) => Effect.succeed(Option.fromNullable(next?.embedder))),
    beginReindex: (name, embedder) => call(reindex.begin(cluster, name, embedder)),
    cancelReindex: (name) => call(reindex.cancel(cluster, name)),
    unembedded: of(reindex.pending),
    putReindexed: of(reindex.add),
    finishReindex: (name, embedder) => call(reindex.finish(cluster, name, embedder)),

    // The cluster merges by itself, and a dropped index is gone at once.
    rebuilds: () => Effect.succeed([]),
    rebuildStep: () => Effect.succeed(undefined),
    settle: () => Effect.succeed(true),
    purge: () => Effect.succeed(inOpenSearch.purge),
    sweeping: () => Effect.succeed(false),
    resume: () => Effect.void,
    compact: () =>
      call(
        Effect.gen(function* () {
          const before = yield* bytesOf(cluster)
          const pattern = cluster.names.pattern
          yield* cluster.send("POST", `/${pattern}/_forcemerge`, { query: { only_expunge_deletes: true } })
          return { before, after: yield* bytesOf(cluster), complete: inOpenSearch.purge }
        })
      ),

    find: (request) => call(find(cluster, request)),
    written: (names, words) =>
      call(
        anywhere(names, words, (name, left) =>
          Effect.flatMap(records.find(cluster, name), (record) => written(cluster, record, left))
        )
      ),

    extendGraph: of(graph.extend),
    graphUnasked: of(graph.unasked),
    keepSaid: of(graph.keepSaid),
    keepLinkage: of(
      Effect.fnUntraced(function* (cluster, record, linkage) {
        const [counts] = yield* records.countsOf(cluster, [record])
        yield* graph.keepLinkage(cluster, record.name, { documents: counts!.documents, linkage })
      })
    ),
    linkage: of(graph.linkageOf),
    graphPassages: of(graph.graphPassages),
    graphEntities: of((cluster, record, hashes) => graph.entitiesOf(cluster, makeCandidates(cluster), record, hashes)),
    suggest: (names, prefix, limit) =>
      call(Effect.flatMap(named(names), (known) => graph.suggest(cluster, known, prefix, limit)))
  })
}

/** Bytes of the indexes' first copies. */
const bytesOf = ({ names, send }: Cluster) =>
  Effect.map(
    send("GET", `/${names.pattern}/_stats/store`),
    (answer) => (answer._all.primaries.store?.size_in_bytes ?? 0) as number
  )
