import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { DocumentNotFound } from "../../Store.ts"
import { damaged } from "../../model/Damaged.ts"
import type { DocumentId } from "../../model/Document.ts"
import {
  type DamagedDocument,
  type EmbeddedPassage,
  type ExportedDocument,
  type ExportPage,
  type ExportPosition,
  type ListPage,
  type RecentDocument,
  positionAfter
} from "../../model/Stored.ts"
import { fewEnough, toExported, toListed, toSampled, toSome, toStored, toSummary } from "../core/document.ts"
import { makeCandidates, candidateFields } from "./Candidates.ts"
import type { Answer } from "./client.ts"
import { type Cluster, mostHits } from "./Cluster.ts"
import { headsOf, headsWhere } from "./documents.ts"
import { Moved } from "./errors.ts"
import { type Query, all, containing, filterQuery, isHead, term } from "./filter.ts"
import type { CollectionRecord } from "./records.ts"
import { type Head, type PassageSource, placesOf, rowOf, storedHead, textOf, vectorIn } from "./sources.ts"

/** Some of a document's passages; if one is gone, its document was replaced meanwhile, or is damaged. */
const passagesIn = Effect.fnUntraced(function* (
  { get }: Cluster,
  { passages: index }: CollectionRecord,
  head: Head,
  { from = 0, to = head.passages }: { readonly from?: number; readonly to?: number } = {}
) {
  const places = placesOf(index, head).slice(from, to)
  const found = yield* get(places)
  return yield* Effect.forEach(found, (answer) =>
    answer.found === true ? Effect.succeed(answer._source as PassageSource) : new Moved()
  )
})

/** How often a document is read again that was replaced while it was read. */
const mostAttempts = 5

/** A document with some of its passages; what is still missing when nobody replaces it is lost. */
const documentOf = (
  cluster: Cluster,
  record: CollectionRecord,
  docId: DocumentId,
  range?: { readonly from: number; readonly to: number }
) =>
  Effect.gen(function* () {
    const [found] = yield* headsOf(cluster, record, [docId])
    if (found === undefined) return yield* new DocumentNotFound({ docId })
    const passages = yield* passagesIn(cluster, record, found.head, range)
    return { row: found.row, parts: passages.map(({ part }) => part) }
  }).pipe(
    Effect.retry({ times: mostAttempts, while: (error) => error instanceof Moved }),
    Effect.catchTag("Moved", () => Effect.sync(() => damaged(`passages of document ${docId} are missing`)))
  )

/** A complete document, with its content put together. */
export const get = (cluster: Cluster, record: CollectionRecord, docId: DocumentId) =>
  Effect.map(documentOf(cluster, record, docId), ({ parts, row }) => toStored(row, parts))

/** Some of a document's passages. */
export const passagesOf = (
  cluster: Cluster,
  record: CollectionRecord,
  docId: DocumentId,
  { limit, offset }: { readonly offset: number; readonly limit: number }
) =>
  Effect.map(documentOf(cluster, record, docId, { from: offset, to: offset + limit }), ({ parts, row }) =>
    toSome(row, parts)
  )

/** The documents of one file, in the order they were added. */
export const ofFile = Effect.fnUntraced(function* (
  cluster: Cluster,
  record: CollectionRecord,
  path: string,
  { after, limit }: { readonly limit: number; readonly after?: DocumentId | undefined }
) {
  const [last] = after === undefined ? [] : yield* headsOf(cluster, record, [after])
  const heads = yield* headsWhere(
    cluster,
    record,
    { term: { origin: term(path) } },
    {
      size: Math.min(limit, mostHits),
      sort: [{ gen: "asc" }],
      ...(last === undefined ? {} : { search_after: [last.id] })
    }
  )
  return heads.map(({ row }) => toSummary(row))
})

/** A page of documents, by source, else doc_id, or by a figure. */
export const page = Effect.fnUntraced(function* (cluster: Cluster, record: CollectionRecord, options: ListPage) {
  const { after, by = "source", falling = false, filter = {}, from, limit, named } = options
  const direction = falling ? "desc" : "asc"
  const begin = by === "source" ? after && [term(after.source ?? after.docId), term(after.docId)] : from
  const sort = by === "source" ? ["name", "doc_id"] : [by, "gen"]
  const heads = yield* headsWhere(
    cluster,
    record,
    all([filterQuery(filter), ...(named === undefined ? [] : [containing(named)])]),
    {
      size: Math.min(limit, mostHits),
      sort: sort.map((field) => ({ [field]: direction })),
      ...(begin === undefined ? {} : { search_after: begin })
    }
  )
  return heads.map(({ head, row }) => toListed({ ...row, characters: head.own.characters }))
})

/** The documents of all collections that were added or changed last. */
export const recent = Effect.fnUntraced(function* (
  { searches }: Cluster,
  records: ReadonlyArray<CollectionRecord>,
  limit: number
) {
  if (records.length === 0) return []
  const names = new Map(records.map(({ documents, name }) => [documents, name]))
  const body = { size: Math.min(limit, mostHits), query: isHead, sort: [{ gen: "desc" }] }
  const [{ hits }] = yield* searches([{ index: [...names.keys()], body }])
  return (hits.hits as ReadonlyArray<Answer>).map(({ _index, _source }): RecentDocument => ({
    collection: names.get(_index)!,
    ...toSummary(rowOf(_source))
  }))
})

/** The passages at places of a collection: ids rise in the order of storing, and so do places. */
export const sample = Effect.fnUntraced(function* (
  cluster: Cluster,
  record: CollectionRecord,
  places: ReadonlyArray<number>
) {
  const { aggregations } = yield* cluster.search(record.passages, {
    size: 0,
    aggs: { first: { min: { field: "id" } }, last: { max: { field: "id" } } }
  })
  const { first, last } = aggregations
  if (first.value === null) return []
  const answers = yield* cluster.searches(
    places.map((place) => ({
      index: record.passages,
      body: {
        size: 1,
        _source: [...candidateFields, "part.text"],
        query: { range: { id: { lte: Math.round(first.value + place * (last.value - first.value)) } } },
        sort: [{ id: "desc" }]
      }
    }))
  )
  const hits = new Map<number, Answer>()
  for (const { hits: found } of answers) for (const hit of found.hits) hits.set(hit._source.id, hit)
  const met = makeCandidates(cluster)
  const current = yield* met.current<Pick<PassageSource, "part">>(record, [...hits.values()])
  const heads = yield* met.documents(current.map(({ id }) => id))
  return current.map(({ id, part }) => toSampled({ ...rowOf(heads.get(id)!), text: part.text }))
})

const mostKnown = 100

/** Which of the keys no document has, and if there are any, the first keys that documents do have. */
export const metadataKeys = Effect.fnUntraced(function* (
  { searches }: Cluster,
  records: ReadonlyArray<CollectionRecord>,
  keys: ReadonlyArray<string>
) {
  if (records.length === 0) return { unknown: keys, known: [] }
  const body = {
    size: 0,
    aggs: {
      known: { terms: { field: "keys", size: mostKnown, order: { _key: "asc" } } },
      ...(keys.length === 0
        ? {}
        : { asked: { filters: { filters: keys.map((key) => ({ term: { keys: term(key) } })) } } })
    }
  }
  const [{ aggregations }] = yield* searches([{ index: records.map(({ documents }) => documents), body }])
  const unknown = keys.filter((_, at) => aggregations.asked.buckets[at].doc_count === 0)
  const known = (aggregations.known.buckets as ReadonlyArray<{ readonly key: string }>).map(({ key }) => key)
  return unknown.length === 0 ? { unknown, known: [] } : { unknown, known: known.sort() }
})

const vectorOf = ({ id, of, v }: PassageSource, dimensions: number) => {
  const vector = vectorIn({ v })
  if (Option.isSome(vector) && vector.value.length !== dimensions) {
    damaged(`the vector of passage ${id} (one of ${of}) has ${vector.value.length} dimensions`)
  }
  return vector
}

/** The next documents in the order of their passages' ids; those without passages come last. */
export const exported = Effect.fnUntraced(function* (
  cluster: Cluster,
  record: CollectionRecord,
  { from = { isBare: false, after: 0 }, limit }: { readonly limit: number; readonly from?: ExportPosition | undefined }
) {
  yield* cluster.latest(record.documents)
  const where: Query = from.isBare ? { term: { passages: 0 } } : { exists: { field: "first" } }
  const heads = yield* headsWhere(cluster, record, where, {
    size: Math.min(limit, mostHits),
    sort: [{ [from.isBare ? "gen" : "first"]: "asc" }],
    search_after: [from.after]
  })
  const documents: Array<ExportedDocument> = []
  const damages: Array<DamagedDocument> = []
  for (const { head, row } of heads) {
    // A document that is stored again meanwhile comes again, at its new place.
    const passages = yield* Effect.catchTag(passagesIn(cluster, record, head), "Moved", () => Effect.succeed(undefined))
    if (passages === undefined) {
      const [now] = yield* headsOf(cluster, record, [row.doc_id])
      if (now?.id === row.id) damages.push({ name: row.source ?? row.doc_id, reason: "passages of it are missing" })
      continue
    }
    documents.push(
      toExported(
        row,
        passages.map((stored) => ({ ...stored, vector: vectorOf(stored, record.embedder.dimensions) }))
      )
    )
  }
  const last = heads.length === limit ? heads.at(-1)?.row : undefined
  const next = positionAfter(from, last && (last.first_passage ?? last.id))
  return { documents, damaged: damages, next } satisfies ExportPage
})

/** Passages of these documents, and of one document per fingerprint, with their vectors. */
export const embeddings = Effect.fnUntraced(function* (
  cluster: Cluster,
  record: CollectionRecord,
  of: { readonly docIds: ReadonlyArray<DocumentId>; readonly fingerprints: ReadonlyArray<string> }
) {
  const named = yield* headsOf(cluster, record, of.docIds)
  const alike = yield* cluster.searches(
    of.fingerprints.map((fingerprint) => ({
      index: record.documents,
      body: { size: 1, query: { term: { fingerprint: term(fingerprint) } } }
    }))
  )
  const heads = new Map(
    [
      ...named,
      ...alike.flatMap(({ hits }) => (hits.hits as ReadonlyArray<Answer>).flatMap((hit) => storedHead(hit) ?? []))
    ].map(({ head }) => [head.key, head])
  )
  const places = fewEnough([...heads.values()]).flatMap((head) =>
    placesOf(record.passages, head).map((place) => ({ title: head.own.title, place }))
  )
  const found = yield* cluster.get(
    places.map(({ place }) => place),
    ["part", "v"]
  )
  // One that was replaced meanwhile is embedded again.
  return found.flatMap(({ _source }, at): ReadonlyArray<EmbeddedPassage> =>
    _source?.v === undefined
      ? []
      : [{ ...textOf(_source as PassageSource, places[at]!.title), vector: Option.getOrThrow(vectorIn(_source)) }]
  )
})
