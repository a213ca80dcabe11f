import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Records from "effect/Record"
import * as Schedule from "effect/Schedule"
import * as Struct from "effect/Struct"
import type { Collection, CollectionName, CollectionSummary, EmbedderIdentity } from "../../model/Collection.ts"
import { notFound } from "../core/calls.ts"
import { Failed } from "./client.ts"
import { type Cluster, type Counters, makeIndex, mostHits } from "./Cluster.ts"
import { isHead, type Query } from "./filter.ts"
import { passagesIndex } from "./mapping.ts"

/** What is kept of a collection: its embedder and the index of its passages, which change in one step. */
export interface CollectionRecord {
  readonly id: number
  readonly name: CollectionName
  readonly embedder: EmbedderIdentity
  readonly created_at: number
  /** The index that has its documents' heads and the records of its files. */
  readonly documents: string
  /** The index that has its passages. */
  readonly passages: string
  readonly generation: number
  /** A change to another embedder, with the index that it fills, and the last passage that this has. */
  readonly next?:
    | {
        readonly embedder: EmbedderIdentity
        readonly passages: string
        readonly through: number
        readonly done: number
      }
    | undefined
  /** Whether a model was ever asked about its passages. */
  readonly asked?: boolean | undefined
  readonly linkage?: { readonly documents: number; readonly linkage: number } | undefined
}

/** A record with its version, without which it is not written over. */
interface Versioned<A> {
  readonly value: A
  readonly seq: number
  readonly term: number
}

/** Apart from the fields by which indexes are searched. */
interface Kept {
  readonly kind: "collection"
  readonly record: CollectionRecord
}

const idOf = (name: string) => `c:${name}`

/** Another process wrote in between. */
export const isConflict = (error: unknown): boolean => error instanceof Failed && error.status === 409

const competing = Schedule.exponential(Duration.millis(5), 1.5).pipe(
  Schedule.union(Schedule.spaced(Duration.millis(200))),
  Schedule.jittered,
  Schedule.upTo(Duration.seconds(30))
)

/** Repeats what read a state that another process changed before it was written. */
const competes = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.retry(effect, { schedule: competing, while: isConflict })

/** A record by its id, as it is now, also if no search finds it yet. */
const read = <A>({ names, send }: Cluster, id: string) =>
  Effect.map(
    send("GET", `/${names.records}/_doc/${encodeURIComponent(id)}`, { allow: [404] }),
    (found): Versioned<A> | undefined => {
      if (found.error?.type === "index_not_found_exception") return undefined
      return found.found === true
        ? { value: found._source as A, seq: found._seq_no, term: found._primary_term }
        : undefined
    }
  )

/** Writes a record if it still has the version; without one, if there is none. */
const write = <A extends object>(
  { names, refresh, send }: Pick<Cluster, "names" | "refresh" | "send">,
  id: string,
  value: A,
  before: Pick<Versioned<unknown>, "seq" | "term"> | undefined
) =>
  send("PUT", `/${names.records}/${before === undefined ? "_create" : "_doc"}/${encodeURIComponent(id)}`, {
    body: value as never,
    query: {
      refresh,
      ...(before === undefined ? {} : { if_seq_no: before.seq, if_primary_term: before.term })
    },
    repeatable: false
  })

/** The numbers that were given, as they are written down. */
export const counters = (cluster: Cluster) => read<Counters>(cluster, "counters")

/** Numbers that nobody else gets and nothing has: the first of so many of each. */
export const take = (cluster: Cluster, wanted: Partial<Counters>) =>
  competes(
    Effect.gen(function* () {
      const found = yield* counters(cluster)
      const taken = yield* cluster.highest(found?.value)
      const before = Records.map(taken, (most, name) => Math.max(most, found?.value[name] ?? 0))
      const after = Records.map(before, (count, name) => count + (wanted[name] ?? 0))
      yield* write({ ...cluster, refresh: "false" }, "counters", after, found)
      return Records.map(before, (count) => count + 1)
    })
  )

/** The number at the end of the name of the index that a change of embedder fills. */
export const nextGeneration = ({ next }: CollectionRecord): number =>
  next === undefined ? 0 : Number(next.passages.slice(next.passages.lastIndexOf("-") + 1))

/** Names of this prefix: those in a snapshot that was restored under another prefix are still another index's. */
const own = ({ names }: Cluster, record: CollectionRecord): CollectionRecord => ({
  ...record,
  documents: names.documents(record.id),
  passages: names.passages(record.id, record.generation),
  ...(record.next && { next: { ...record.next, passages: names.passages(record.id, nextGeneration(record)) } })
})

/** All collections' records, by name. */
export const all = Effect.fnUntraced(function* (cluster: Cluster) {
  yield* cluster.latest(cluster.names.records)
  const { hits } = yield* cluster.search(cluster.names.records, {
    size: mostHits,
    query: { term: { kind: "collection" } }
  })
  return (hits.hits as ReadonlyArray<{ readonly _source: Kept }>)
    .map(({ _source }) => own(cluster, _source.record))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
})

const versioned = Effect.fnUntraced(function* (cluster: Cluster, name: CollectionName) {
  const found = yield* read<Kept>(cluster, idOf(name))
  if (found !== undefined) return { ...found, value: own(cluster, found.value.record) }
  return yield* notFound(
    name,
    (yield* all(cluster)).map((each) => each.name)
  )
})

export const find = (cluster: Cluster, name: CollectionName) =>
  Effect.map(versioned(cluster, name), ({ value }) => value)

/** Writes a collection's record over the one that was read. */
export const keep = (
  cluster: Pick<Cluster, "names" | "refresh" | "send">,
  record: CollectionRecord,
  before: Pick<Versioned<unknown>, "seq" | "term"> | undefined
) => write<Kept>(cluster, idOf(record.name), { kind: "collection", record }, before)

/** Changes a collection's record in one step, whoever else changes it; gives the one from before. */
export const change = <E>(
  cluster: Cluster,
  name: CollectionName,
  to: (record: CollectionRecord) => Effect.Effect<CollectionRecord, E>,
  refresh = cluster.refresh
) =>
  competes(
    Effect.gen(function* () {
      const found = yield* versioned(cluster, name)
      yield* keep({ ...cluster, refresh }, yield* to(found.value), found)
      return found.value
    })
  )

export const forget = ({ names, refresh, send }: Cluster, name: CollectionName) =>
  send("DELETE", `/${names.records}/_doc/${encodeURIComponent(idOf(name))}`, {
    allow: [404],
    query: { refresh }
  })

export const toCollection = ({ created_at, embedder, id, name }: CollectionRecord): Collection => ({
  id,
  name,
  embedder,
  createdAt: created_at
})

export interface Counts {
  readonly documents: number
  readonly passages: number
}

/** How many documents that a query finds, and passages of theirs, searches find in each of these collections. */
export const countsOf = (cluster: Cluster, records: ReadonlyArray<CollectionRecord>, query: Query = isHead) =>
  Effect.map(
    cluster.searches(
      records.map(({ documents }) => ({
        index: documents,
        body: {
          size: 0,
          track_total_hits: true,
          query,
          aggs: { passages: { sum: { field: "passages" } } }
        }
      }))
    ),
    (found) =>
      found.map(({ aggregations, hits }): Counts => ({
        documents: hits.total.value,
        passages: aggregations.passages.value
      }))
  )

export const toSummary = (record: CollectionRecord, counts: Counts): CollectionSummary => ({
  ...toCollection(record),
  ...counts,
  ...(record.next && {
    next: { embedder: Struct.pick(record.next.embedder, "backend", "model", "dimensions"), done: record.next.done }
  })
})

/** A collection with its counts. */
export const summaryOf = (cluster: Cluster, record: CollectionRecord) =>
  Effect.map(countsOf(cluster, [record]), ([counts]) => toSummary(record, counts!))

/** All of them, by name. */
export const summaries = Effect.fnUntraced(function* (cluster: Cluster) {
  const known = yield* all(cluster)
  const counts = yield* countsOf(cluster, known)
  return known.map((record, at) => toSummary(record, counts[at]!))
})

/** Makes those of a collection's indexes that are not there. */
export const makeIndexes = (cluster: Cluster, { documents, embedder, id, passages }: CollectionRecord) =>
  Effect.zipRight(
    makeIndex(cluster, documents, {}),
    makeIndex(cluster, passages, {
      ...passagesIndex(embedder.dimensions),
      aliases: { [cluster.names.alias(id)]: {} }
    })
  )

/** The indexes of a collection. */
export const indexesOf = ({ documents, next, passages }: CollectionRecord): ReadonlyArray<string> => [
  documents,
  passages,
  ...(next === undefined ? [] : [next.passages])
]
