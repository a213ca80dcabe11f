import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import {
  CollectionExists,
  DocumentNotFound,
  EmbedderMismatch,
  type StoreUnavailable,
  type Whole,
  inOpenSearch
} from "../../Store.ts"
import { type CollectionName, type EmbedderIdentity, sameEmbedder } from "../../model/Collection.ts"
import type { Deleted, StoreStats } from "../../model/Stored.ts"
import { spanned, spanning } from "../../runtime/tracing.ts"
import { Candidates } from "./Candidates.ts"
import type { Failed } from "./client.ts"
import { type Cluster, makeIndex } from "./Cluster.ts"
import { written } from "./demands.ts"
import * as documents from "./documents.ts"
import { type Moved, typed } from "./errors.ts"
import * as files from "./files.ts"
import { filterQuery } from "./filter.ts"
import * as graph from "./graph.ts"
import { passagesIndex } from "./mapping.ts"
import * as reading from "./reading.ts"
import * as records from "./records.ts"
import * as reindex from "./reindex.ts"
import { filteredCount, find, rank } from "./snapshot.ts"

/** All the ports of a store on a cluster. */
export const make = (cluster: Cluster): Whole => {
  const errors = typed(cluster.options.prefix)
  const call = <A, E>(effect: Effect.Effect<A, E | Failed | Moved>) =>
    errors(effect) as Effect.Effect<A, Exclude<E, Failed | Moved> | StoreUnavailable>
  const within = <A, E>(name: CollectionName, use: (record: records.CollectionRecord) => Effect.Effect<A, E>) =>
    call(Effect.flatMap(records.find(cluster, name), ({ value }) => use(value)))
  const counted = Effect.fnUntraced(function* (name: CollectionName) {
    const { value } = yield* records.find(cluster, name)
    const [counts] = yield* records.countsOf(cluster, [value])
    return records.toSummary(value, counts!)
  })
  const all = Effect.gen(function* () {
    const known = yield* records.all(cluster)
    const counts = yield* records.countsOf(cluster, known)
    return known.map((record, at) => records.toSummary(record, counts[at]!))
  })
  const named = (names: ReadonlyArray<CollectionName>) =>
    Effect.map(records.all(cluster), (known) => known.filter(({ name }) => names.includes(name)))

  const create = Effect.fnUntraced(function* (
    name: CollectionName,
    embedder: EmbedderIdentity,
    next: EmbedderIdentity | undefined
  ) {
    const exists = new CollectionExists({ name })
    const known = yield* Effect.option(records.find(cluster, name))
    if (known._tag === "Some") return yield* exists
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
    yield* makeIndex(cluster, record.documents, {})
    yield* makeIndex(cluster, record.passages, {
      ...passagesIndex(embedder.dimensions),
      aliases: { [cluster.names.alias(id)]: {} }
    })
    yield* Effect.catchIf(records.keep(cluster, record, undefined), records.isConflict, () =>
      Effect.zipRight(discard(record), exists)
    )
    const made = records.toCollection(record)
    if (next === undefined) return made
    yield* reindex.begin(cluster, name, next).pipe(Effect.catchTag("CollectionNotFound", Effect.die))
    return { ...made, next: { embedder: next, done: 0 } }
  })

  /** The record goes first, and with it the collection; what of its indexes is left then belongs to nobody. */
  const discard = ({ documents, next, passages }: records.CollectionRecord) =>
    Effect.forEach(
      [documents, passages, ...(next === undefined ? [] : [next.passages])],
      (index) => cluster.send("DELETE", `/${index}`, { allow: [404] }),
      { discard: true }
    )

  return {
    createCollection: Effect.fn("Store.createCollection")((name, embedder, next) => call(create(name, embedder, next))),

    collection: spanned("Store.collection")((name) => call(counted(name))),

    collections: spanning(call(all), "Store.collections"),

    dropCollection: Effect.fn("Store.dropCollection")((name) =>
      within(name, (record) =>
        Effect.gen(function* () {
          const [counts] = yield* records.countsOf(cluster, [record])
          yield* records.forget(cluster, cluster.names.records, name)
          yield* discard(record)
          return { documents: counts!.documents, passages: counts!.passages } satisfies Deleted
        })
      )
    ),

    lookup: Effect.fn("Store.lookup")((name, refs) =>
      within(name, (record) => documents.resolve(cluster, record, refs))
    ),

    embeddings: Effect.fn("Store.embeddings")((name, of) =>
      within(name, (record) => reading.embeddings(cluster, record, of))
    ),

    put: Effect.fn("Store.put")(function* (name, prepared, options) {
      const indexedAt = yield* Clock.currentTimeMillis
      const configured = options?.embedder
      return yield* within(
        name,
        Effect.fnUntraced(function* (record) {
          if (configured !== undefined && !sameEmbedder(record.embedder, configured)) {
            return yield* new EmbedderMismatch({ collection: name, recorded: record.embedder, configured })
          }
          return yield* documents.put(cluster, record, prepared, {
            ...options,
            indexedAt,
            inGraph: cluster.options.graph ?? true
          })
        })
      )
    }),

    beginRun: Effect.fn("Store.beginRun")((name, roots = []) =>
      within(name, (record) =>
        Effect.gen(function* () {
          const { runs } = yield* records.take(cluster, { runs: 1 })
          yield* files.recordRoots(cluster, record, roots)
          return runs
        })
      )
    ),

    touch: Effect.fn("Store.touch")(function* (name, touched, seenBy, changes = []) {
      const now = yield* Clock.currentTimeMillis
      yield* within(name, (record) =>
        Effect.zipRight(
          documents.touch(cluster, record, touched, seenBy),
          files.record(cluster, record, changes, { run: seenBy ?? 0, now })
        )
      )
    }),

    knownFiles: Effect.fn("Store.knownFiles")((name, paths) =>
      within(name, (record) => files.known(cluster, record, paths))
    ),

    filesBelow: Effect.fn("Store.filesBelow")((name, root, page) =>
      within(name, (record) => files.below(cluster, record, root, page))
    ),

    documentsOf: Effect.fn("Store.documentsOf")((name, path, page) =>
      within(name, (record) => reading.ofFile(cluster, record, path, page))
    ),

    roots: Effect.fn("Store.roots")((name) => within(name, (record) => files.roots(cluster, record))),

    prune: Effect.fn("Store.prune")((name, paths, options) =>
      within(name, (record) => documents.prune(cluster, record, paths, options))
    ),

    reindexing: Effect.fn("Store.reindexing")((name) =>
      within(name, (record) => Effect.succeed(reindex.target(record)))
    ),

    beginReindex: Effect.fn("Store.beginReindex")((name, embedder) => call(reindex.begin(cluster, name, embedder))),

    unembedded: Effect.fn("Store.unembedded")((name, embedder, limit) =>
      within(name, (record) => reindex.pending(cluster, record, embedder, limit))
    ),

    putReindexed: Effect.fn("Store.putReindexed")((name, embedded, position) =>
      within(name, (record) => reindex.add(cluster, record, embedded, position))
    ),

    finishReindex: Effect.fn("Store.finishReindex")((name, embedder) => call(reindex.finish(cluster, name, embedder))),

    rebuilds: Effect.fn("Store.rebuilds")(() => Effect.succeed([])),

    rebuildStep: Effect.fn("Store.rebuildStep")(() => Effect.succeed(undefined)),

    get: Effect.fn("Store.get")((name, docId) => within(name, (record) => reading.get(cluster, record, docId))),

    passages: Effect.fn("Store.passages")((name, docId, page) =>
      within(name, (record) => reading.passagesOf(cluster, record, docId, page))
    ),

    list: Effect.fn("Store.list")((name, page) => within(name, (record) => reading.page(cluster, record, page))),

    recent: Effect.fn("Store.recent")((limit) =>
      call(Effect.flatMap(records.all(cluster), (known) => reading.recent(cluster, known, limit)))
    ),

    sample: Effect.fn("Store.sample")((name, places) =>
      within(name, (record) => reading.sample(cluster, record, places))
    ),

    filtered: Effect.fn("Store.filtered")((names, filter) =>
      call(Effect.flatMap(named(names), (known) => filteredCount(cluster, known, filterQuery(filter))))
    ),

    metadataKeys: Effect.fn("Store.metadataKeys")((keys) =>
      call(Effect.flatMap(records.all(cluster), (known) => reading.metadataKeys(cluster, known, keys)))
    ),

    exported: Effect.fn("Store.exported")((name, page) =>
      within(name, (record) => reading.exported(cluster, record, page))
    ),

    deleteDocument: Effect.fn("Store.deleteDocument")((name, docId) =>
      within(name, (record) =>
        Effect.gen(function* () {
          const heads = yield* documents.headsOf(cluster, record, [docId])
          const deleted = yield* documents.removed(cluster, record, heads)
          return deleted.documents === 0 ? yield* new DocumentNotFound({ docId }) : deleted
        })
      )
    ),

    deleteMatching: Effect.fn("Store.deleteMatching")((name, filter, limit) =>
      within(name, (record) => documents.removeMatching(cluster, record, filter, limit))
    ),

    deleteSource: Effect.fn("Store.deleteSource")((name, source) =>
      within(name, (record) => documents.removeSource(cluster, record, source))
    ),

    settle: Effect.fn("Store.settle")(() => Effect.void),

    purge: Effect.fn("Store.purge")(() => Effect.succeed(inOpenSearch.purge)),

    sweeping: Effect.fn("Store.sweeping")(() => Effect.succeed(false)),

    resume: Effect.fn("Store.resume")(() => Effect.void),

    compact: Effect.fn("Store.compact")(() =>
      call(
        Effect.gen(function* () {
          const before = yield* bytesOf(cluster)
          const pattern = cluster.names.pattern
          yield* cluster.send("POST", `/${pattern}/_forcemerge`, { query: { only_expunge_deletes: true } })
          return { before, after: yield* bytesOf(cluster), complete: inOpenSearch.purge }
        })
      )
    ),

    rank: spanned("Store.rank")((request) => call(rank(cluster, request))),

    find: spanned("Store.find")((request) => call(find(cluster, request))),

    written: Effect.fn("Store.written")((names, words) =>
      call(
        Effect.gen(function* () {
          const found: Array<string> = []
          for (const name of names) {
            const { value: record } = yield* records.find(cluster, name)
            const left = words.filter((word) => !found.includes(word))
            if (left.length > 0) found.push(...(yield* written(cluster, { record }, left)))
          }
          return found
        })
      )
    ),

    stats: Effect.fn("Store.stats")((name) =>
      call(
        Effect.gen(function* () {
          const known = yield* all
          const counted_ = name === undefined ? known : [yield* counted(name)]
          return {
            documents: counted_.reduce((sum, { documents }) => sum + documents, 0),
            passages: counted_.reduce((sum, { passages }) => sum + passages, 0),
            collections: known.length,
            databaseBytes: yield* bytesOf(cluster),
            engines: []
          } satisfies StoreStats
        })
      )
    ),

    extendGraph: Effect.fn("Store.extendGraph")((name, after, limit) =>
      within(name, (record) => graph.extend(cluster, record, after, limit))
    ),

    graphUnasked: Effect.fn("Store.graphUnasked")((name, model, after, limit) =>
      within(name, (record) => graph.unasked(cluster, record, model, after, limit))
    ),

    keepSaid: Effect.fn("Store.keepSaid")((name, passage, model, said) =>
      within(name, (record) => graph.keepSaid(cluster, record, passage, model, said))
    ),

    keepLinkage: Effect.fn("Store.keepLinkage")((name, linkage) =>
      call(Effect.flatMap(counted(name), ({ documents }) => graph.keepLinkage(cluster, name, { documents, linkage })))
    ),

    linkage: Effect.fn("Store.linkage")((name) =>
      call(
        Effect.gen(function* () {
          const { value } = yield* records.find(cluster, name)
          const [counts] = yield* records.countsOf(cluster, [value])
          return yield* graph.linkageOf(cluster, value, counts!.documents)
        })
      )
    ),

    graphPassages: Effect.fn("Store.graphPassages")((name, which) =>
      within(name, (record) => graph.graphPassages(cluster, record, which))
    ),

    graphEntities: Effect.fn("Store.graphEntities")((name, hashes) =>
      within(name, (record) =>
        Effect.map(graph.entitiesOf(cluster, new Candidates(cluster), record, hashes), (found) => [...found])
      )
    ),

    suggest: Effect.fn("Store.suggest")((names, prefix, limit) =>
      call(Effect.flatMap(named(names), (known) => graph.suggest(cluster, known, prefix, limit)))
    ),

    about: Effect.fn("Store.about")(() =>
      call(
        Effect.map(cluster.send("GET", "/"), ({ version }) => ({
          backend: "opensearch" as const,
          version: version.number as string,
          prefix: cluster.options.prefix,
          capabilities: inOpenSearch
        }))
      )
    ),

    sizes: Effect.fn("Store.sizes")(() =>
      call(Effect.map(bytesOf(cluster), (value) => [{ name: "index_bytes", what: "indexes", value }]))
    )
  }
}

/** Bytes of the indexes' first copies. */
const bytesOf = ({ names, send }: Cluster) =>
  Effect.map(
    send("GET", `/${names.pattern}/_stats/store`),
    (answer) => (answer._all.primaries.store?.size_in_bytes ?? 0) as number
  )
