import * as Effect from "effect/Effect"
import { EmbedderChanged } from "../../Store.ts"
import { identicalEmbedder } from "../../model/Collection.ts"
import { type Mask, type Scored, type Vector, byScoreAndId } from "../../model/Passage.ts"
import type { Asked, FindRequest, NearTerm, RankRequest } from "../../model/Stored.ts"
import { wantedTerms } from "../../postings/Postings.ts"
import { learned } from "../../terms/stemmers.ts"
import { type Wanted, counted, idf, norm } from "../../postings/score.ts"
import type { Compared, Searched, Shown, Snapshot } from "../../ranking/Snapshot.ts"
import * as ranking from "../../ranking/rank.ts"
import type { Language } from "../../terms/languages.ts"
import { metadataOf, toShown } from "../core/document.ts"
import { toPassage } from "../core/passage.ts"
import { measureBy, withBackgrounds } from "../core/direction.ts"
import { makeCandidates, candidates, columns } from "./Candidates.ts"
import type { Answer, Failed } from "./client.ts"
import type { Cluster } from "./Cluster.ts"
import { demanded } from "./demands.ts"
import type { Moved } from "./errors.ts"
import { facetsOf } from "./facets.ts"
import { type Query, all, filterQuery, isHead } from "./filter.ts"
import { expand } from "./graph.ts"
import { type CollectionRecord, type Counts, countsOf, find as findRecord, toSummary } from "./records.ts"
import { nearTerms } from "./spelling.ts"
import { type Within, frequencies, meanIn, queryLanguageOf, termQuery } from "./within.ts"
import { frequency, fromBytes, rowOf, stored } from "./sources.ts"
import { dot } from "../../model/numbers.ts"

const maskOf = (count: number): Mask => ({ bits: new Uint32Array(), count })

/** Passages beyond a list's end that may belong into it, since the cluster's similarities are not exact. */
const unsure = 24

/** The best so many, and those that tie with the last. */
const atDepth = (found: ReadonlyArray<Scored>, depth: number): ReadonlyArray<Scored> => {
  const sorted = found.toSorted(byScoreAndId)
  const last = sorted[depth - 1]?.score
  return last === undefined ? sorted : sorted.filter(({ score }) => score >= last)
}

/** What a term adds to a passage's score. */
interface Weighed extends Wanted {
  readonly weight: number
  readonly rare: number
}

type SnapshotError = Failed | Moved | EmbedderChanged | Effect.Effect.Error<ReturnType<typeof findRecord>>

/** A query's view: searches of many shards, joined by the generations that documents' heads name. */
const snapshotOf = (cluster: Cluster): Snapshot<SnapshotError> => {
  const met = makeCandidates(cluster)
  const within = new Map<number, Within>()
  const known = ({ id }: Searched): Within => within.get(id)!

  /** The language of a query, and its terms with their weights over all collections together. */
  const weigh = Effect.fnUntraced(function* (
    asked: ReadonlyArray<Searched>,
    query: string,
    near: ReadonlyArray<NearTerm> | undefined
  ) {
    const own = asked.map(known)
    const language = yield* queryLanguageOf(own, query)
    const wanted = wantedTerms(query, language, near)
    const passages = own.reduce((sum, { counts }) => sum + counts.passages, 0)
    const length = own.reduce((sum, { terms }) => sum + terms, 0)
    const { base, gain, slope } = norm(passages, length)
    const counts = yield* frequencies(
      cluster,
      own.map(({ record }) => record),
      wanted
    )
    const rarity = counts.map((count) => idf(passages, Math.min(passages, count)))
    const weights = counted(wanted, counts, rarity)
    const weighed = wanted.map((want, at): Weighed => {
      const [count, rare] = [weights[at]!, rarity[at]!]
      return { ...want, count, rare, weight: counts[at] === 0 ? 0 : count * gain * rare }
    })
    const scoreOf = (terms: string, len: number, by: ReadonlyArray<Weighed>): number =>
      by.reduce((sum, want) => {
        const f = frequency(terms, { term: want.isPrefix ? want.term : stored(want.term), isPrefix: want.isPrefix })
        return f === 0 ? sum : sum + (want.weight * f) / (f + base + slope * len)
      }, 0)
    return { weighed, counts, passages, gain, language, scoreOf }
  })

  const matching: Snapshot<SnapshotError>["matching"] = Effect.fnUntraced(function* (
    asked,
    query,
    { also, depth, near }
  ) {
    const { counts, gain, language, passages, scoreOf, weighed } = yield* weigh(asked, query, near)
    const rarity = new Map<string, number>()
    const sum = { all: 0, known: 0 }
    for (const [at, { count, isNear, rare, term }] of weighed.entries()) {
      if (isNear === true) continue
      rarity.set(term, rare)
      sum.all += count * gain * rare
      if (counts[at]! > 0) sum.known += count * gain * rare
    }
    const present = weighed.filter(({ weight }) => weight > 0)
    const share = sum.all === 0 ? 1 : sum.known / sum.all
    if (present.length === 0) return { found: [], known: share, language, rarity }
    // Lucene's weight of a term differs from Clew's for frequent ones, and a boost makes up for that.
    const clauses = present.map((want) => {
      const count = counts[weighed.indexOf(want)]!
      const lucene = Math.log(1 + (passages - count + 0.5) / (count + 0.5))
      return termQuery(want, { boost: Math.max(1e-9, (want.count * want.rare) / Math.max(1e-9, lucene)) })
    })
    const scoresOf = (ids: ReadonlyArray<number>) =>
      Effect.map(met.fill(ids, ["terms", "len"]), (those) =>
        those.map(({ id, len, terms }) => ({ id, score: scoreOf(terms!, len!, present) }))
      )
    const found: Array<Scored> = []
    for (const each of asked) {
      const { filter, record } = known(each)
      const query = { bool: { should: clauses, minimum_should_match: 1, ...(filter === undefined ? {} : { filter }) } }
      const run = (size: number) =>
        Effect.map(
          cluster.searches([
            {
              index: record.passages,
              dfs: true,
              body: { ...columns(["terms", "len"]), size, track_total_hits: false, query }
            }
          ]),
          ([answer]) => answer.hits.hits
        )
      found.push(...(yield* met.best(record, { depth, wanted: Math.max(candidates, 2 * depth) }, run, scoresOf)))
    }
    const best = atDepth(found, depth)
    const ranked = new Set(best.map(({ id }) => id))
    const others = also.filter((id) => !ranked.has(id))
    const asked_ = yield* scoresOf(others)
    return { found: [...best, ...asked_.filter(({ score }) => score > 0)], known: share, language, rarity }
  })

  const scored = Effect.fnUntraced(function* (asked: Compared, ids: ReadonlyArray<number>) {
    const { off, scale, toward } = measureBy(asked)
    const length = (vector: Vector) => Math.sqrt(dot(vector, vector))
    const norm = length(toward)
    const own = ids.filter((id) => met.of(id).record.id === asked.id)
    return (yield* met.fill(own, ["v"])).flatMap(({ id, v }): ReadonlyArray<Scored> => {
      if (v === undefined) return []
      const raw = fromBytes(v)
      const vector = off === undefined ? raw : raw.map((value, at) => value - off[at]!)
      const size = length(vector)
      return length(raw) === 0 || size === 0 || norm === 0
        ? []
        : [{ id, score: 1 - (1 - dot(vector, toward) / (size * norm)) * scale }]
    })
  })

  return {
    searched: Effect.fnUntraced(function* ({ demands, filter, others = [], ...first }: RankRequest) {
      const found: Array<{ readonly record: CollectionRecord; readonly vector: Vector | undefined }> = []
      for (const { collection, embedder, vector } of [first, ...others] as ReadonlyArray<Asked>) {
        const finding = findRecord(cluster, collection)
        const record = yield* collection === first.collection
          ? finding
          : Effect.catchTag(finding, "CollectionNotFound", () => Effect.succeed(undefined))
        if (record === undefined) continue
        if (vector !== undefined && embedder !== undefined && !identicalEmbedder(embedder, record.embedder)) {
          return yield* new EmbedderChanged({ collection })
        }
        found.push({ record, vector })
      }
      const restricted = Object.keys(filter).length > 0
      const query = filterQuery(filter)
      const records = found.map(({ record }) => record)
      const searching = cluster.searches(
        records.flatMap(({ passages }) => [
          {
            index: passages,
            body: {
              size: 0,
              track_total_hits: true,
              aggs: {
                len: { sum: { field: "len" } },
                written: { sum: { field: "_seq_no" } },
                languages: { terms: { field: "language", size: 50 } }
              }
            }
          },
          { index: passages, body: { size: 0, track_total_hits: true, query } }
        ])
      )
      const [heads, answers] = yield* Effect.all([countsOf(cluster, records), searching], { concurrency: 2 })
      const all_: Array<Searched> = []
      for (const [at, { record, vector }] of found.entries()) {
        const [whole, left] = [answers[2 * at], answers[2 * at + 1]]
        const counts: Counts = { documents: heads[at]!.documents, passages: whole.hits.total.value }
        const own: Within = {
          record,
          filter: restricted ? query : undefined,
          counts,
          terms: whole.aggregations.len.value,
          written: whole.aggregations.written.value,
          languages: new Map(
            whole.aggregations.languages.buckets.map(({ doc_count, key }: Answer) => [key as Language, doc_count])
          )
        }
        const { count, filter, unchecked } =
          demands === undefined
            ? { filter: own.filter, count: restricted ? (left.hits.total.value as number) : undefined, unchecked: 0 }
            : yield* demanded(cluster, own, demands)
        if (counts.passages === 0 || count === 0) continue
        within.set(record.id, { ...own, filter })
        all_.push({
          ...toSummary(record, counts),
          mask: count === undefined ? undefined : maskOf(count),
          unchecked,
          vector
        })
      }
      return yield* withBackgrounds(all_, (one) => meanIn(cluster, known(one)))
    }),

    matching,

    near: (asked, query) => nearTerms(cluster, asked.map(known), query),

    terms: Effect.fnUntraced(function* (asked, query, { most, near, passages }) {
      const { scoreOf, weighed } = yield* weigh(asked, query, near)
      const rows = yield* met.fill(passages, ["terms", "len"])
      return {
        terms: weighed.slice(0, most).map((want) => ({
          term: want.term,
          isPrefix: want.isPrefix,
          scores: new Map(
            rows.flatMap(({ id, len, terms }) => {
              const score = scoreOf(terms!, len!, [want])
              return score > 0 ? [[id, score] as const] : []
            })
          )
        })),
        total: weighed.length
      }
    }),

    nearest: Effect.fnUntraced(function* (asked, depth) {
      const { filter, record } = known(asked)
      if (dot(asked.vector, asked.vector) === 0) return []
      const run = (size: number) => {
        const k = Math.max(candidates, 2 * depth, size)
        const knn = { vector: [...asked.vector], k, ...(filter === undefined ? {} : { filter }) }
        return Effect.map(
          cluster.search(record.passages, {
            ...columns(["v"]),
            size,
            track_total_hits: false,
            query: { knn: { vector: knn } }
          }),
          (answer) => answer.hits.hits
        )
      }
      // The cluster has them in the order of their similarity but for its sixth digit.
      return yield* met.best(record, { depth, wanted: depth + unsure }, run, (ids) => scored(asked, ids))
    }),

    similarity: scored,

    places: (passages) =>
      Effect.sync(
        () =>
          new Map(
            passages.map((id) => {
              const { doc_id, ordinal, record } = met.of(id)
              return [id, { doc_id, collection: record.name, ordinal }]
            })
          )
      ),

    texts: (passages) =>
      Effect.map(met.read(passages, ["part"]), (found) =>
        found.map(({ candidate: { id }, source: { part } }) => ({ id, heading: part.heading, text: part.text }))
      ),

    metadata: (passages, key) =>
      Effect.map(met.documents(passages), (found) => {
        const values = new Map<number, unknown>()
        for (const [id, head] of found) {
          const metadata = metadataOf(rowOf(head))
          if (Object.hasOwn(metadata, key)) values.set(id, metadata[key])
        }
        return values
      }),

    beside: (passages) =>
      Effect.sync(
        () =>
          new Map(
            passages.flatMap((id) => {
              const beside = met.beside(id)
              return beside.length === 0 ? [] : [[id, beside] as const]
            })
          )
      ),

    homes: (passages) => Effect.sync(() => new Map(passages.map((id) => [id, met.of(id).record.id]))),

    expand: (asked, graph, hits) => expand(cluster, met, { ...graph, asked, within: known(asked), hits, scored }),

    facets: (asked, names, filter) =>
      facetsOf(cluster, asked.map(known), names, filter === undefined ? undefined : filterQuery(filter)),

    shown: Effect.fnUntraced(function* (passages) {
      const documents = yield* met.documents(passages)
      const rows = yield* met.read(passages, ["part"])
      const shown = new Map(
        rows.map(({ candidate: { id, record }, source: { part } }): readonly [number, Shown] => {
          const head = documents.get(id)!
          const row = rowOf(head)
          const hit = { passage: toPassage(part, row.line), document: toShown(row) }
          return [id, { collection: record.id, language: head.own.language, hit }]
        })
      )
      yield* learned(Array.from(shown.values(), ({ language }) => language))
      return shown
    })
  }
}

/** How often a query begins again, of whose documents some were replaced while it ran. */
const mostAttempts = 8

/** The list of a request. */
export const find = (cluster: Cluster, request: FindRequest) =>
  Effect.retry(
    Effect.suspend(() => ranking.find(snapshotOf(cluster), request)),
    { times: mostAttempts, while: ({ _tag }) => _tag === "Moved" }
  )

/** How many passages of collections a filter leaves. */
export const filteredCount = (cluster: Cluster, records: ReadonlyArray<CollectionRecord>, query: Query) =>
  Effect.map(countsOf(cluster, records, all([isHead, query])), (found) =>
    found.reduce((sum, { passages }) => sum + passages, 0)
  )
