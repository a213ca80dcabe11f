import * as Effect from "effect/Effect"
import { type Facet, type Facets, type OwnFacet, facetLimits } from "../../model/Facets.ts"
import { MetadataValues, ofCollections, ownValues, type Values } from "../core/facetValues.ts"
import type { Answer } from "./client.ts"
import type { Cluster } from "./Cluster.ts"
import { type Query, all, isHead, keyPattern, readTerm } from "./filter.ts"
import type { Within } from "./within.ts"

/** Values that are counted; of more, the most frequent ones. */
const most = 10_000

/** How documents are found by the values of a facet: the field of their heads, and a name and time with that value. */
const own: Readonly<
  Record<Exclude<OwnFacet, "collection">, { readonly field: string; readonly as: (value: string) => [string, number] }>
> = {
  folder: { field: "folder", as: (folder) => [folder, 0] },
  format: { field: "endings", as: (ending) => [ending, 0] },
  indexed: { field: "month", as: (month) => ["", Date.parse(`${month}-01T00:00:00Z`)] }
}

const isOwn = (name: string): name is keyof typeof own => Object.hasOwn(own, name)

interface Bucket {
  readonly key: string
  readonly doc_count: number
}

/** What a facet asks of the cluster, which is told its buckets. `numbersOf` gives the values of a bucket. */
const counting = (aggregation: Query, values: Values, numbersOf: (key: string) => ReadonlyArray<number>) => {
  const counts: Array<number> = []
  return {
    aggregation: { terms: { ...aggregation, size: most } },
    add: ({ doc_count: count, key }: Bucket) => {
      for (const number of numbersOf(key)) counts[number] = (counts[number] ?? 0) + count
    },
    facet: () => values.facet(Uint32Array.from({ length: values.size }, (_, at) => counts[at] ?? 0))
  }
}

const counterOf = (name: string) => {
  if (isOwn(name)) {
    const { as, field } = own[name]
    const values = ownValues[name]()
    return counting({ field }, values, (key) => values.of(...as(key)))
  }
  const values = new MetadataValues(name)
  return counting({ field: "meta", include: keyPattern(name) }, values, (key) => {
    const value = readTerm(key)
    return typeof value === "string" && value.length > facetLimits.characters ? [] : [values.numberOf(value)]
  })
}

/** Most documents that a query of passages leaves to be counted. */
const mostKeys = 65_536

/** The documents of which a query of passages leaves any, as a query of documents; none: all. */
const documentsOf = Effect.fnUntraced(function* ({ search }: Cluster, { filter, record }: Within) {
  if (filter === undefined) return []
  const { aggregations } = yield* search(record.passages, {
    size: 0,
    query: filter,
    aggs: { keys: { terms: { field: "key", size: mostKeys } } }
  })
  return [{ terms: { key: aggregations.keys.buckets.map(({ key }: Bucket) => key) } } satisfies Query as Query]
})

/** The documents that the filter leaves, or the demands if there is none, counted by facets. */
export const facetsOf = Effect.fnUntraced(function* (
  cluster: Cluster,
  within: ReadonlyArray<Within>,
  names: ReadonlyArray<string>,
  filter: Query | undefined
) {
  const counters = new Map(names.filter((name) => name !== "collection").map((name) => [name, counterOf(name)]))
  const inCollections: Array<Facet["values"][number]> = []
  for (const each of within) {
    const left = filter === undefined ? yield* documentsOf(cluster, each) : [filter]
    const answer: Answer = yield* cluster.search(each.record.documents, {
      size: 0,
      track_total_hits: true,
      query: all([isHead, ...left]),
      aggs: Object.fromEntries([...counters.values()].map(({ aggregation }, at) => [`f${at}`, aggregation]))
    })
    for (const [at, counter] of [...counters.values()].entries()) {
      for (const bucket of answer.aggregations?.[`f${at}`].buckets ?? []) counter.add(bucket)
    }
    const count = answer.hits.total.value as number
    if (count > 0) inCollections.push({ value: each.record.name, count })
  }
  const facetOf = (name: string): Facet =>
    name === "collection" ? ofCollections(inCollections) : counters.get(name)!.facet()
  return Object.fromEntries(names.map((name) => [name, facetOf(name)])) satisfies Facets as Facets
})
