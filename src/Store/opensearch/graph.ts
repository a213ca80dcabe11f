import * as Effect from "effect/Effect"
import { hashOf, relations, unpack } from "../../entities/mention.ts"
import { mostDefining, mostPlaces, sampledDocuments, toEntity } from "../../entities/walk.ts"
import type { CollectionName } from "../../model/Collection.ts"
import type { Entity, GraphPassage, GraphStep, GraphUnasked, Said } from "../../model/Graph.ts"
import type { Scored } from "../../model/Passage.ts"
import type { Compared, Searched } from "../../ranking/Snapshot.ts"
import { type Walking, answerAbout, expandBy, linkedShare, passagesEach, toGraphPassage } from "../core/graph.ts"
import { type NamedEntity, type Suggesting, mostMentions, mostNames, suggestFrom } from "../core/suggesting.ts"
import { type Candidates, candidateFields, makeCandidates } from "./Candidates.ts"
import type { Answer, Failed } from "./client.ts"
import { type Cluster, type Write, mostHits } from "./Cluster.ts"
import { headsWhere } from "./documents.ts"
import type { Moved } from "./errors.ts"
import { type Query, all, beginning } from "./filter.ts"
import { type CollectionRecord, change, countsOf } from "./records.ts"
import { type Row, after, rowsWhere } from "./rows.ts"
import type { Within } from "./within.ts"
import { type PassageSource, graphFields, headingIn, placesOf, rewriting, rewritten, vectorIn } from "./sources.ts"

const bytesOf = (mentions: string | undefined): Uint8Array => Buffer.from(mentions ?? "", "base64")

/** The passages that mention an entity, those of documents that have it as title first. */
const placesQuery = (hash: number, size: number) => ({
  size,
  _source: [...candidateFields, "mentions"],
  query: {
    bool: {
      filter: { term: { entities: String(hash) } },
      should: { constant_score: { filter: { term: { defines: String(hash) } } } }
    }
  },
  sort: ["_score", { id: "asc" }]
})

const places = Effect.fnUntraced(function* (
  cluster: Cluster,
  met: Candidates,
  record: CollectionRecord,
  hashes: ReadonlyArray<number>,
  size: number
) {
  const answers = yield* cluster.searches(
    hashes.map((hash) => ({ index: record.passages, body: placesQuery(hash, size) }))
  )
  const current = yield* met.current<{ readonly mentions: string }>(
    record,
    answers.flatMap(({ hits }) => hits.hits as ReadonlyArray<Answer>)
  )
  const byId = new Map(current.map((one) => [one.id, one]))
  return new Map(
    hashes.flatMap((hash, at) => {
      const own = (answers[at]!.hits.hits as ReadonlyArray<Answer>)
        .flatMap(({ _source }) => {
          const one = byId.get(_source.id)
          return one === undefined
            ? []
            : unpack(bytesOf(one.mentions)).flatMap(({ entity, relation }) =>
                entity === hash
                  ? [{ relation: relations.indexOf(relation), passage: one.id, document: one.id - one.ordinal }]
                  : []
              )
        })
        .sort((a, b) => a.relation - b.relation || a.passage - b.passage)
      return own.length === 0 ? [] : [[hash, own] as const]
    })
  )
})

/** The collection's entities among these hashes, each with a bounded number of places, the defining ones first. */
export const entitiesOf = Effect.fnUntraced(function* (
  cluster: Cluster,
  met: Candidates,
  record: CollectionRecord,
  hashes: ReadonlyArray<number>
) {
  const found = yield* places(cluster, met, record, hashes, mostPlaces + 1)
  return new Map<number, Entity>(Array.from(found, ([hash, own]) => [hash, toEntity(own)]))
})

/** The documents of which each entity is the title, if it is one of not too many. */
const titled = Effect.fnUntraced(function* (
  { searches }: Cluster,
  record: CollectionRecord,
  entities: ReadonlyArray<number>
) {
  const unique = [...new Set(entities)]
  const answers = yield* searches(
    unique.map((hash) => ({
      index: record.passages,
      body: {
        size: mostDefining + 1,
        _source: ["id", "ordinal"],
        query: { bool: { filter: [{ term: { defines: String(hash) } }, { term: { ordinal: 0 } }] } }
      }
    }))
  )
  return new Map(
    unique.flatMap((hash, at): ReadonlyArray<readonly [number, ReadonlyArray<number>]> => {
      const found = (answers[at]!.hits.hits as ReadonlyArray<Answer>).map(
        ({ _source }) => (_source.id as number) - (_source.ordinal as number)
      )
      return found.length === 0 || found.length > mostDefining ? [] : [[hash, found]]
    })
  )
})

interface Expansion extends Omit<Walking, "documents"> {
  readonly asked: Searched
  readonly within: Within
  readonly scored: (asked: Compared, ids: ReadonlyArray<number>) => Effect.Effect<ReadonlyArray<Scored>, Failed | Moved>
}

/** Where the graph leads from the best hits. */
export const expand = (
  cluster: Cluster,
  met: Candidates,
  { asked, scored, within: { counts, filter, record }, ...walking }: Expansion
) => {
  const allowed = new Set<number>()
  const { vector } = asked
  return expandBy<Failed | Moved>(
    {
      entities: Effect.fnUntraced(function* (hashes) {
        const found = yield* entitiesOf(cluster, met, record, hashes)
        const reached = [...found.values()].flatMap((entity) => entity.places.map(({ passage }) => passage))
        for (const passage of filter === undefined ? reached : yield* among(cluster, record, reached, filter)) {
          allowed.add(passage)
        }
        return found
      }),
      mentions: Effect.fnUntraced(function* (passages) {
        const found = yield* met.read(passages, ["mentions"])
        return new Map(found.map(({ candidate: { id }, source: { mentions } }) => [id, unpack(bytesOf(mentions))]))
      }),
      titled: (entities) => titled(cluster, record, entities),
      score: vector && ((passages) => scored({ ...asked, vector }, passages)),
      allowed: (passage) => allowed.has(passage),
      rows: Effect.fnUntraced(function* (passages) {
        const documents = yield* met.documents(passages)
        return (yield* met.read(passages, ["part"])).map(({ candidate: { id }, source: { part } }) => {
          const { docId, source, title } = documents.get(id)!.own
          return {
            id,
            ordinal: part.ordinal,
            text: part.text,
            heading: part.heading,
            title: title ?? null,
            source: source ?? docId
          }
        })
      })
    },
    { ...walking, documents: counts.documents }
  )
}

/** Those of some passages that a query leaves. */
const among = (
  { search }: Cluster,
  { passages: index }: CollectionRecord,
  passages: ReadonlyArray<number>,
  query: Query
) =>
  Effect.map(
    search(index, {
      size: mostHits,
      _source: ["id"],
      query: all([{ terms: { id: [...new Set(passages)].slice(0, mostHits) } }, query])
    }),
    ({ hits }) => (hits.hits as ReadonlyArray<Answer>).map(({ _source }) => _source.id as number)
  )

/** Writes what passages mention; one that is gone or changed is left. */
const rewrite = Effect.fnUntraced(function* (
  { bulk }: Cluster,
  record: CollectionRecord,
  rows: ReadonlyArray<Row & { readonly said: PassageSource["said"] }>
) {
  const answers = yield* bulk(
    rows.map(({ head, said, seq, source, term }): Write => {
      const { source: from, title } = head.own
      const { ordinal, text } = source.part
      return {
        action: rewriting(record.passages, source, seq, term),
        source: {
          ...rewritten(source, vectorIn(source)),
          ...graphFields({ ordinal, text, heading: headingIn(source), title, source: from, said })
        }
      }
    }),
    { refresh: "true" }
  )
  return answers.filter(({ status }) => status < 300).length
})

/** Adds those of the next passages after an id that are not in the graph yet. */
export const extend = Effect.fnUntraced(function* (
  cluster: Cluster,
  record: CollectionRecord,
  from: number,
  limit: number
) {
  const { rows, seen, through } = yield* rowsWhere(cluster, record, after(from), limit)
  const missing = rows.filter(({ source }) => source.mentions === undefined)
  const added = yield* rewrite(
    cluster,
    record,
    missing.map((row) => ({ ...row, said: row.source.said }))
  )
  // The linkage that is kept may be of documents that were not in the graph.
  if (added > 0 && record.linkage !== undefined) yield* keepLinkage(cluster, record.name, undefined)
  return { added, seen, through: through ?? from } satisfies GraphStep
})

/** Those of the next passages after an id that a model was not asked about. */
export const unasked = Effect.fnUntraced(function* (
  cluster: Cluster,
  record: CollectionRecord,
  model: string,
  from: number,
  limit: number
) {
  const { rows, seen, through } = yield* rowsWhere(cluster, record, after(from), limit)
  return {
    seen,
    through: through ?? from,
    taken: 0,
    passages: rows
      .filter(({ source }) => source.said?.model !== model)
      .map(({ head, source }) => ({
        id: source.id,
        heading: headingIn(source),
        text: source.part.text,
        title: head.own.title
      }))
  } satisfies GraphUnasked
})

/** Stores a model's answer about a passage and adds it to the graph; false: the passage is gone. */
export const keepSaid = Effect.fnUntraced(function* (
  cluster: Cluster,
  record: CollectionRecord,
  passage: number,
  model: string,
  said: Said
) {
  if (record.asked !== true) {
    yield* change(cluster, record.name, (now) => Effect.succeed({ ...now, asked: true }))
  }
  const { rows } = yield* rowsWhere(cluster, record, { term: { id: passage } }, 1)
  const [row] = rows
  if (row === undefined) return false
  const text = { title: row.head.own.title, heading: headingIn(row.source), text: row.source.part.text }
  return (yield* rewrite(cluster, record, [{ ...row, said: answerAbout(text, model, said) }])) > 0
})

/** Passages of the graph by id: those with some ids, or the next after one. */
export const graphPassages = Effect.fnUntraced(function* (
  cluster: Cluster,
  record: CollectionRecord,
  which: ReadonlyArray<number> | { readonly after: number; readonly limit: number }
) {
  const inGraph: Query = { exists: { field: "entities" } }
  const { rows } = yield* "after" in which
    ? rowsWhere(cluster, record, all([inGraph, after(which.after)]), which.limit)
    : rowsWhere(cluster, record, all([{ terms: { id: which } }]), Math.max(1, which.length))
  return rows.map(({ head, source }): GraphPassage => {
    const { docId, line, source: from, title } = head.own
    return toGraphPassage({
      ...source.part,
      id: source.id,
      document_id: source.gen,
      crc: null,
      doc_id: docId,
      source: from ?? docId,
      title: title ?? null,
      line: line ?? null,
      mentions: bytesOf(source.mentions),
      answer: source.said?.answer ?? null
    })
  })
})

/** What begins with a text in some collections. */
export const suggest = (cluster: Cluster, known: ReadonlyArray<CollectionRecord>, typed: string, limit: number) =>
  suggestFrom(
    known as ReadonlyArray<CollectionRecord & { readonly name: CollectionName }>,
    (record): Suggesting<Failed | Moved> => ({
      titles: (prefix, most) =>
        Effect.map(
          headsWhere(
            cluster,
            record,
            { prefix: { title_key: [...prefix].slice(0, 80).join("").toLowerCase() } },
            { size: most, sort: [{ title_key: "asc" }], collapse: { field: "title_key" } }
          ),
          (heads) =>
            heads.map(({ docId, head, source }) => ({ doc_id: docId, source: source ?? null, title: head.own.title! }))
        ),
      names: Effect.fnUntraced(function* (key) {
        const { aggregations } = yield* cluster.search(record.passages, {
          size: 0,
          aggs: {
            names: { terms: { field: "names", include: beginning(key), size: mostNames, order: { _key: "asc" } } }
          }
        })
        const hashes = (aggregations.names.buckets as ReadonlyArray<{ readonly key: string }>).map(({ key }) =>
          hashOf(key)
        )
        const found = yield* places(cluster, makeCandidates(cluster), record, hashes, mostMentions)
        return Array.from(found, ([entity, own]): NamedEntity => ({ ...own[0]!, entity, mentions: own.length }))
      }),
      passages: (ids) => (ids.length === 0 ? Effect.succeed([]) : graphPassages(cluster, record, ids))
    }),
    typed,
    limit
  )

/** The share of a sample of the documents that name or link another by a name it is known by. */
const measured = Effect.fnUntraced(function* (cluster: Cluster, record: CollectionRecord) {
  const heads = yield* headsWhere(cluster, record, { exists: { field: "first" } }, { size: sampledDocuments })
  const read = heads.flatMap(({ head }) =>
    placesOf(record.passages, { ...head, passages: Math.min(passagesEach, head.passages) }).map((place) => ({
      place,
      first: head.first!
    }))
  )
  const found = yield* cluster.get(
    read.map(({ place }) => place),
    ["mentions"]
  )
  const mentions = found.map(({ _source }, at) => ({
    document: read[at]!.first,
    mentions: unpack(bytesOf(_source?.mentions))
  }))
  return yield* linkedShare(heads.length, mentions, (entities) => titled(cluster, record, entities))
})

/** The share that is kept of a collection, measured again if its documents have become more or fewer by a sixteenth. */
export const linkageOf = Effect.fnUntraced(function* (cluster: Cluster, record: CollectionRecord) {
  const kept = record.linkage
  const [{ documents } = { documents: 0 }] = yield* countsOf(cluster, [record])
  if (kept !== undefined && Math.abs(kept.documents - documents) <= documents >> 4) return kept.linkage
  const linkage = yield* measured(cluster, record)
  if (cluster.options.mode !== "readonly") {
    // What cannot be kept while writes are blocked is measured again.
    yield* Effect.catchIf(
      keepLinkage(cluster, record.name, { documents, linkage }),
      (error) => error._tag === "Failed" && error.kind === "cluster_block_exception",
      () => Effect.void
    )
  }
  return linkage
})

export const keepLinkage = (cluster: Cluster, name: CollectionName, linkage: CollectionRecord["linkage"]) =>
  change(cluster, name, (now) => Effect.succeed({ ...now, linkage }))
