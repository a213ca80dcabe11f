import * as Effect from "effect/Effect"
import { meanOf } from "../../codes/encoder.ts"
import { learned } from "../../terms/stemmers.ts"
import { queryLanguage } from "../../terms/detect.ts"
import { fewestForMean } from "../core/direction.ts"
import type { Wanted } from "../../postings/score.ts"
import type { Language } from "../../terms/languages.ts"
import type { Answer } from "./client.ts"
import type { Cluster } from "./Cluster.ts"
import type { Query } from "./filter.ts"
import type { CollectionRecord, Counts } from "./records.ts"
import { fromBytes, stored } from "./sources.ts"

/** What a query knows of a collection that it searches. */
export interface Within {
  readonly record: CollectionRecord
  /** What the filter and the demands leave; undefined: all. */
  readonly filter: Query | undefined
  readonly counts: Counts
  /** Terms of all its passages together, and passages by language. */
  readonly terms: number
  /** Changes with each write: the sum of the sequence numbers of its passages. */
  readonly written: number
  readonly languages: ReadonlyMap<Language, number>
}

/** The language to look a query up in, chosen among those of collections, and loaded. */
export const queryLanguageOf = Effect.fnUntraced(function* (within: ReadonlyArray<Within>, query: string) {
  const all = new Map<Language, number>()
  for (const { languages } of within) {
    for (const [language, count] of languages) all.set(language, (all.get(language) ?? 0) + count)
  }
  const language = queryLanguage(query, all)
  yield* learned([language])
  return language
})

/** The query of passages that have a term in a field, or in that field a term that begins so. */
export const termQuery = (
  { isPrefix, term }: Pick<Wanted, "isPrefix" | "term">,
  { boost = 1, field = "terms" }: { readonly boost?: number; readonly field?: "terms" | "title_terms" } = {}
): Query =>
  isPrefix ? { prefix: { [field]: { value: term, boost } } } : { term: { [field]: { value: stored(term), boost } } }

/** How many passages of each collection have each term. */
export const frequencies = (
  { searches }: Cluster,
  records: ReadonlyArray<Pick<CollectionRecord, "passages">>,
  wanted: ReadonlyArray<Pick<Wanted, "isPrefix" | "term">>
) =>
  wanted.length === 0
    ? Effect.succeed([])
    : Effect.map(
        searches(
          records.map(({ passages }) => ({
            index: passages,
            body: {
              size: 0,
              aggs: { terms: { filters: { filters: wanted.map((want) => termQuery(want)) } } }
            }
          }))
        ),
        (found) =>
          wanted.map((_, at) =>
            found.reduce<number>((sum, { aggregations }) => sum + aggregations.terms.buckets[at].doc_count, 0)
          )
      )

/** Vectors from which a collection's mean is taken. */
const sampled = 1024

/** The mean of a sample of a collection's vectors, taken again when those have changed, or many have grown by a fifth. */
export const meanIn = Effect.fnUntraced(function* (
  cluster: Cluster,
  { counts: { passages }, record, written }: Within
) {
  const state = passages > 4 * sampled ? `> ${Math.floor(4 * Math.log2(passages))}` : `${passages} ${written}`
  const before = cluster.means.get(record.passages)
  if (before?.state === state) return before
  const { hits } = yield* cluster.search(record.passages, {
    size: sampled,
    _source: ["v"],
    query: {
      function_score: { query: { exists: { field: "vector" } }, random_score: { seed: 1, field: "_seq_no" } }
    }
  })
  const vectors = (hits.hits as ReadonlyArray<Answer>).flatMap(({ _source }) =>
    _source.v === undefined ? [] : [fromBytes(_source.v)]
  )
  const mean = { vector: meanOf(vectors, record.embedder.dimensions), of: vectors.length, state }
  if (vectors.length >= fewestForMean) cluster.means.set(record.passages, mean)
  return mean
})
