import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { StoreUnavailable } from "../../Store.ts"
import type { DocumentId } from "../../model/Document.ts"
import type { Filter } from "../../model/Filter.ts"
import type { Deleted, DocumentRef, PreparedDocument, PutOptions, PutOutcome } from "../../model/Stored.ts"
import { languageNamed } from "../../terms/languages.ts"
import { learned } from "../../terms/stemmers.ts"
import { identified, storedId } from "../core/identity.ts"
import { type Prunable, type PruneOptions, pruneStep } from "../core/pruning.ts"
import { type StoredAnswer, answersIn, askedOf } from "../core/graph.ts"
import { partsOf } from "../core/passage.ts"
import { Failed } from "./client.ts"
import { type Cluster, type Write, mostHits } from "./Cluster.ts"
import * as files from "./files.ts"
import { type Query, all, filterQuery, isHead, term } from "./filter.ts"
import { type CollectionRecord, find, take } from "./records.ts"
import {
  type Head,
  type StoredHead,
  headAsRead,
  headId,
  headPlace,
  keyOf,
  passageId,
  placesOf,
  sourceId,
  storedHead,
  toHead,
  toPassageSource
} from "./sources.ts"

/** The heads of documents with these keys, as they are now. */
export const headsByKey = Effect.fnUntraced(function* (
  { get }: Cluster,
  record: Pick<CollectionRecord, "documents">,
  keys: ReadonlyArray<string>
) {
  const found = yield* get(keys.map((key) => headPlace(record, key)))
  return found.flatMap((answer) => storedHead(answer) ?? [])
})

/** The heads of documents with these ids, as they are now. */
export const headsOf = (cluster: Cluster, record: Pick<CollectionRecord, "documents">, docIds: ReadonlyArray<string>) =>
  headsByKey(cluster, record, docIds.map(keyOf))

/** The documents that have these sources now. */
const sourced = Effect.fnUntraced(function* (
  cluster: Cluster,
  record: CollectionRecord,
  sources: ReadonlyArray<string>
) {
  const { documents: index } = record
  const found = yield* cluster.get(sources.map((source) => ({ index, id: sourceId(source) })))
  const heads = yield* headsOf(
    cluster,
    record,
    found.flatMap(({ _source }) => (_source === undefined ? [] : [_source.of as string]))
  )
  // A document that has moved on, or that never came, leaves the record of its source.
  const wanted = new Set(sources)
  return heads.filter(({ source }) => source !== undefined && wanted.has(source))
})

/** What is stored under each ref. */
export const resolve = Effect.fnUntraced(function* (
  cluster: Cluster,
  record: CollectionRecord,
  refs: ReadonlyArray<DocumentRef>
) {
  const named = yield* headsOf(
    cluster,
    record,
    refs.map((ref) => ref.docId ?? ref.derivedId)
  )
  const bySource = yield* sourced(
    cluster,
    record,
    refs.flatMap(({ source }) => (source === undefined ? [] : [source]))
  )
  const known = new Map([...bySource, ...named].map((stored) => [stored.docId, stored]))
  return yield* identified(refs, [...known.values()])
})

/** Removes passages that no head has any more. */
const sweep = ({ bulk }: Cluster, record: CollectionRecord, heads: ReadonlyArray<Head>) =>
  Effect.asVoid(
    bulk(
      [record.passages, ...(record.next === undefined ? [] : [record.next.passages])].flatMap((passages) =>
        heads.flatMap((head) =>
          placesOf(passages, head).map(({ id, index, routing }): Write => ({
            action: { delete: { _index: index, _id: id, routing } }
          }))
        )
      )
    )
  )

/** How often a put begins again where other writers were first. */
const mostAttempts = 20

interface Making {
  readonly document: PreparedDocument
  readonly before: StoredHead | undefined
  readonly head: Head
}

/** Whether heads were written: of those that others wrote too, only by reading again. */
const committed = Effect.fnUntraced(function* (
  cluster: Cluster,
  record: CollectionRecord,
  making: ReadonlyArray<Making>
) {
  const { documents: index } = record
  const writes = making.map(({ before, head }): Write => {
    const same = before !== undefined && before.head.key === head.key
    const action = same ? { index: headAsRead(record, before) } : { create: { _index: index, _id: headId(head.key) } }
    return { action, source: head }
  })
  const sent = yield* Effect.either(cluster.bulk(writes, { refresh: cluster.headRefresh, repeatable: false }))
  if (sent._tag === "Right" && sent.right.every(({ status }) => status < 300)) return making.map(() => true)
  if (sent._tag === "Left" && !isUncertain(sent.left)) return yield* sent.left
  const now = yield* cluster.get(making.map(({ head }) => headPlace(record, head.key)))
  return making.map(({ head }, at) => now[at]!.found === true && now[at]!._source.gen === head.gen)
})

/** The cluster may have done it. */
const isUncertain = ({ status }: Failed): boolean => status === 0 || status >= 500

/**
 * Adds or replaces documents. A document's new passages are stored beside its old ones; then its head changes from the
 * old generation to the new, which is the moment of change; then the old ones are removed. If another process was first
 * with a document, this one comes after it.
 */
export const put = Effect.fnUntraced(function* (
  cluster: Cluster,
  given: CollectionRecord,
  documents: ReadonlyArray<PreparedDocument>,
  {
    files: changes = [],
    inGraph,
    indexedAt,
    seenBy
  }: PutOptions & { readonly indexedAt: number; readonly inGraph: boolean }
) {
  yield* learned(documents.map(({ language }) => languageNamed(language)))
  const outcomes = new Map<PreparedDocument, PutOutcome>()
  let left = documents
  for (let attempt = 0; left.length > 0 && attempt < mostAttempts; attempt++) {
    const record = attempt === 0 ? given : yield* find(cluster, given.name)
    const found = yield* resolve(cluster, record, left)
    const count = left.reduce((sum, { passages }) => sum + passages.length, 0)
    const taken = yield* take(cluster, { documents: left.length, passages: count })
    let first = taken.passages
    const replaced = found.flatMap(Option.toArray)
    const answers = new Map([...(yield* answersBefore(cluster, record, replaced)), ...answersIn(left)])
    const writes: Array<Write> = []
    const making = left.map((document, at): Making => {
      const before = Option.getOrUndefined(found[at]!)
      const { parts, tail } = partsOf(document)
      const seen = seenBy === undefined ? undefined : Math.max(seenBy, before?.seenBy ?? 0)
      const head = toHead(document, {
        docId: storedId(document, found[at]!),
        gen: taken.documents + at,
        first,
        indexedAt,
        seenBy: seen,
        tail
      })
      for (const [ordinal, passage] of document.passages.entries()) {
        const part = parts[ordinal]!
        const said = answers.size === 0 ? undefined : answers.get(askedOf({ ...passage, title: document.title }))
        const source = toPassageSource(head, passage, part, { id: first + ordinal, inGraph, said })
        writes.push({
          action: { index: { _index: record.passages, _id: passageId(source), routing: head.key } },
          source
        })
      }
      first += parts.length
      return { document, before, head }
    })
    // Of an index that is gone, a write would make one of a form that the cluster guesses.
    yield* cluster.send("GET", `/${record.passages}`, { query: { filter_path: "*.settings.index.uuid" } })
    // Searches must find the new passages before the head lets go of the old ones.
    const refresh = cluster.refresh === "false" && replaced.length > 0 ? "wait_for" : cluster.refresh
    yield* cluster.bulk(writes, { refresh })
    yield* sameIndex(cluster, record)
    yield* cluster.bulk(
      making.flatMap(({ head: { own } }): ReadonlyArray<Write> =>
        own.source === undefined
          ? []
          : [
              {
                action: { index: { _index: record.documents, _id: sourceId(own.source) } },
                source: { kind: "source", of: own.docId }
              }
            ]
      )
    )
    const won = yield* committed(cluster, record, making)
    const isSame = yield* Effect.isSuccess(sameIndex(cluster, record))
    const lost: Array<Head> = []
    const again: Array<PreparedDocument> = []
    const renamed: Array<StoredHead> = []
    for (const [at, { before, document, head }] of making.entries()) {
      if (!won[at]) {
        lost.push(head)
        again.push(document)
        continue
      }
      outcomes.set(document, {
        docId: head.own.docId,
        status: before === undefined ? "created" : "updated",
        passages: head.passages
      })
      if (before === undefined) continue
      lost.push(before.head)
      if (before.head.key !== head.key) renamed.push(before)
    }
    if (renamed.length > 0) yield* dropHeads(cluster, record, renamed)
    yield* sweep(cluster, record, lost)
    if (!isSame) {
      yield* removed(
        cluster,
        record,
        yield* headsOf(
          cluster,
          record,
          making.map(({ head }) => head.own.docId)
        )
      )
      return yield* switched(given.name)
    }
    yield* files.doubt(
      cluster,
      record,
      replaced
        .flatMap(({ head }) => head.own.origin ?? [])
        .filter((origin) => !changes.some(({ path }) => path === origin))
    )
    left = again
  }
  if (left.length > 0) {
    return yield* new StoreUnavailable({
      reason: `Other processes keep storing the document ${left[0]!.docId ?? left[0]!.source ?? left[0]!.derivedId}; try again`
    })
  }
  const origins = new Set(documents.flatMap(({ origin }) => (origin === undefined ? [] : [origin])))
  for (const { path } of changes) origins.delete(path)
  yield* files.unfinished(cluster, given, [...origins], indexedAt)
  yield* files.record(cluster, given, changes, { run: seenBy ?? 0, now: indexedAt })
  return documents.map((document) => outcomes.get(document)!)
})

const switched = (name: string) =>
  new StoreUnavailable({
    reason: `The embedder of collection ${name} changed while documents were stored; store them again`
  })

/** The passages' index must be the one that searches use, before the head says that they are there and after. */
const sameIndex = Effect.fnUntraced(function* (cluster: Cluster, record: CollectionRecord) {
  const { id, passages } = yield* find(cluster, record.name)
  if (passages !== record.passages || id !== record.id) return yield* switched(record.name)
})

/** What models said about the passages of documents that are replaced, by their questions. */
const answersBefore = Effect.fnUntraced(function* (
  cluster: Cluster,
  record: CollectionRecord,
  replaced: ReadonlyArray<StoredHead>
) {
  if (record.asked !== true) return []
  const found = yield* cluster.get(
    replaced.flatMap(({ head }) => placesOf(record.passages, head)),
    ["said"]
  )
  return found.flatMap(({ _source }): ReadonlyArray<readonly [string, StoredAnswer]> =>
    _source?.said === undefined ? [] : [[_source.said.asked, _source.said]]
  )
})

/**
 * Removes heads that are still as they were read; those that are gone or changed are left. Of a removal whose answer was
 * lost, nobody knows whether it was done: what is gone then counts as removed here.
 */
const dropHeads = Effect.fnUntraced(function* (
  cluster: Cluster,
  record: CollectionRecord,
  heads: ReadonlyArray<StoredHead>
) {
  const drop = (repeatable: boolean) =>
    cluster.bulk(
      heads.map((stored): Write => ({ action: { delete: headAsRead(record, stored) } })),
      { refresh: cluster.headRefresh, repeatable }
    )
  const sent = yield* Effect.either(drop(false))
  if (sent._tag === "Right") return heads.filter((_, at) => sent.right[at]!.status === 200)
  if (!isUncertain(sent.left)) return yield* sent.left
  yield* drop(true)
  const now = yield* cluster.get(heads.map(({ head }) => headPlace(record, head.key)))
  return heads.filter((_, at) => now[at]!.found !== true)
})

/** Deletes documents, each wholly or, if it changed meanwhile, not. */
export const removed = Effect.fnUntraced(function* (
  cluster: Cluster,
  record: CollectionRecord,
  heads: ReadonlyArray<StoredHead>,
  recorded: { readonly since?: number | undefined } = {}
) {
  if (heads.length === 0) return { documents: 0, passages: 0 } satisfies Deleted
  const gone = yield* dropHeads(cluster, record, heads)
  yield* sweep(
    cluster,
    record,
    gone.map(({ head }) => head)
  )
  yield* cluster.bulk(
    gone.flatMap(({ source }): ReadonlyArray<Write> =>
      source === undefined ? [] : [{ action: { delete: { _index: record.documents, _id: sourceId(source) } } }]
    )
  )
  const origins = new Set(gone.flatMap(({ head }) => head.own.origin ?? []))
  yield* files.doubt(cluster, record, [...origins], recorded.since)
  return {
    documents: gone.length,
    passages: gone.reduce((sum, { head }) => sum + head.passages, 0)
  } satisfies Deleted
})

/** Documents that a query finds, with their versions. */
export const headsWhere = Effect.fnUntraced(function* (
  { search }: Cluster,
  { documents }: Pick<CollectionRecord, "documents">,
  query: Query,
  page: Readonly<Record<string, unknown>>
) {
  const { hits } = yield* search(documents, {
    seq_no_primary_term: true,
    query: all([isHead, query]),
    ...page
  })
  return (hits.hits as ReadonlyArray<never>).flatMap((hit) => storedHead(hit) ?? [])
})

/** Deletes at most `limit` of the documents that match a filter. */
export const removeMatching = Effect.fnUntraced(function* (
  cluster: Cluster,
  record: CollectionRecord,
  filter: Filter,
  limit: number
) {
  yield* cluster.refreshed(record.documents)
  const heads = yield* headsWhere(cluster, record, filterQuery(filter), { size: Math.min(limit, mostHits) })
  return yield* removed(cluster, record, heads)
})

/** Deletes the documents of a source; that of one without any is its id. */
export const removeSource = Effect.fnUntraced(function* (cluster: Cluster, record: CollectionRecord, source: string) {
  const unnamed = (yield* headsOf(cluster, record, [source])).filter((head) => head.source === undefined)
  return yield* removed(cluster, record, [...(yield* sourced(cluster, record, [source])), ...unnamed])
})

/** Marks documents as seen by a run, and moves their lines. */
export const touch = Effect.fnUntraced(function* (
  cluster: Cluster,
  record: CollectionRecord,
  documents: ReadonlyArray<{ readonly docId: DocumentId; readonly line?: number | undefined }>,
  seenBy: number | undefined
) {
  let left = documents
  for (let attempt = 0; left.length > 0 && attempt < mostAttempts; attempt++) {
    const wanted = new Map(left.map((each) => [each.docId, each]))
    const heads = yield* headsOf(cluster, record, [...wanted.keys()])
    const answers = yield* cluster.bulk(
      heads.map((stored): Write => {
        const { docId, head } = stored
        const line = wanted.get(docId)?.line ?? head.own.line
        const seen = seenBy === undefined ? head.seen_run : Math.max(seenBy, head.seen_run ?? 0)
        return {
          action: { index: headAsRead(record, stored) },
          source: { ...head, seen_run: seen, own: { ...head.own, line } }
        }
      }),
      { refresh: cluster.headRefresh }
    )
    left = heads.flatMap(({ docId }, at) => (answers[at]!.status === 409 ? [wanted.get(docId)!] : []))
  }
})

interface Found extends Prunable {
  readonly stored: StoredHead
}

/** One step of a deletion by paths. */
export const prune = Effect.fnUntraced(function* (
  cluster: Cluster,
  record: CollectionRecord,
  paths: ReadonlyArray<string>,
  options?: PruneOptions
) {
  if (options?.from === undefined) yield* cluster.refreshed(record.documents)
  return yield* pruneStep<Found, Failed>(
    {
      next: ([begin, end], { id, origin }, size) =>
        Effect.map(
          headsWhere(
            cluster,
            record,
            { range: { origin: { gte: term(begin), lt: term(end) } } },
            {
              size,
              sort: [{ origin: "asc" }, { gen: "asc" }],
              ...(origin === "" ? {} : { search_after: [origin, id] })
            }
          ),
          (heads) =>
            heads.map((stored) => {
              const { id, passages, row, seenBy } = stored
              return { id, origin: term(row.origin!), seen: seenBy ?? 0, passages, stored }
            })
        ),
      remove: (documents, since) =>
        removed(
          cluster,
          record,
          documents.map(({ stored }) => stored),
          { since }
        ),
      forget: (paths, before) => files.forget(cluster, record, paths, before),
      forgetRoots: (within) => files.forgetRoots(cluster, record, within)
    },
    paths,
    options
  )
})
