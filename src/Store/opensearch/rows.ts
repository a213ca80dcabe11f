import * as Effect from "effect/Effect"
import { makeCandidates } from "./Candidates.ts"
import type { Answer } from "./client.ts"
import { type Cluster, mostHits } from "./Cluster.ts"
import { type Query, all } from "./filter.ts"
import type { CollectionRecord } from "./records.ts"
import type { Head, PassageSource } from "./sources.ts"

/** A passage as it is in its index, with its document's head, and what it takes to write it again. */
export interface Row {
  readonly source: PassageSource
  readonly head: Head
  readonly seq: number
  readonly term: number
}

/** The current passages among the first so many that a query finds, by id; how many were seen, and the last of them. */
export const rowsWhere = Effect.fnUntraced(function* (
  cluster: Cluster,
  record: CollectionRecord,
  query: Query,
  size = mostHits
) {
  const met = makeCandidates(cluster)
  yield* cluster.latest(record.passages)
  const { hits } = yield* cluster.search(record.passages, {
    size: Math.min(mostHits, size),
    seq_no_primary_term: true,
    query,
    sort: [{ id: "asc" }]
  })
  const found = hits.hits as ReadonlyArray<Answer>
  const current = yield* met.current(record, found)
  const heads = yield* met.documents(current.map(({ id }) => id))
  return {
    seen: found.length,
    through: found.at(-1)?._source.id as number | undefined,
    rows: found.flatMap(({ _primary_term, _seq_no, _source }): ReadonlyArray<Row> => {
      const head = heads.get(_source.id)
      return head === undefined ? [] : [{ source: _source, head, seq: _seq_no, term: _primary_term }]
    })
  }
})

export const after = (id: number): Query => ({ range: { id: { gt: id } } })

/** The next current passages after an id that match a query; none only at the end. */
export const rowsAfter = Effect.fnUntraced(function* (
  cluster: Cluster,
  record: CollectionRecord,
  begin: number,
  limit: number,
  matching: ReadonlyArray<Query> = []
) {
  for (let from = begin; ;) {
    const { rows, through } = yield* rowsWhere(cluster, record, all([after(from), ...matching]), limit)
    if (rows.length > 0 || through === undefined) return rows
    from = through
  }
})
