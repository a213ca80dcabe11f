import * as Effect from "effect/Effect"
import type { Demands } from "../../model/SearchResult.ts"
import { type Finding, demandedBy, termsOf, writtenBy } from "../core/demands.ts"
import { headingOf } from "../core/passage.ts"
import { searchedHeading, searchedTitle } from "../../entities/mention.ts"
import type { Answer, Failed } from "./client.ts"
import type { Cluster } from "./Cluster.ts"
import { type Query, all, not } from "./filter.ts"
import type { CollectionRecord } from "./records.ts"
import { type Within, termQuery } from "./within.ts"
import { type Head, type PassageSource, headPlace } from "./sources.ts"

/** Finds passages as queries for them. */
const finding = (cluster: Cluster, record: CollectionRecord): Finding<Query, Failed> => ({
  holding: (terms, field) =>
    Effect.succeed(all(terms.map((term) => termQuery(term, { field: field === "title" ? "title_terms" : "terms" })))),
  both: (a, b) => all([a, b]),
  butNot: (a, b) => all([a, not(b)]),
  passing: Effect.fnUntraced(function* (among, text, { most, test }) {
    const { hits } = yield* cluster.search(record.passages, {
      size: most,
      track_total_hits: true,
      _source: ["id", "key", "part.text", "part.heading", "part.table_header"],
      query: { bool: { filter: among, should: termsOf(text).map((term) => termQuery(term)) } }
    })
    const rows = (hits.hits as ReadonlyArray<Answer>).map(({ _source }) => _source as PassageSource)
    const keys = [...new Set(rows.map(({ key }) => key))]
    const heads = yield* cluster.get(
      keys.map((key) => headPlace(record, key)),
      ["own.title", "own.source"]
    )
    const titles = new Map(
      heads.map((answer, at) => {
        // A document without either field has nothing of these.
        const own: Partial<Head["own"]> | undefined = answer._source?.own
        return [keys[at]!, searchedTitle(own?.title, own?.source)]
      })
    )
    const ids = rows.flatMap(({ id, key, part }) => {
      const heading = searchedHeading({ heading: headingOf(part.heading), tableHeader: part.table_header ?? undefined })
      return test(part.text) || test(heading) || test(titles.get(key) ?? "") ? [id] : []
    })
    return { found: { terms: { id: ids } }, count: ids.length, unread: hits.total.value - rows.length }
  })
})

/** What the filter and the demands leave of a collection: a query, its passages, and how many were left unread. */
export const demanded = Effect.fnUntraced(function* (cluster: Cluster, { filter, record }: Within, demands: Demands) {
  const { left, unchecked } = yield* demandedBy(finding(cluster, record), filter, demands)
  if (left === undefined) return { filter: undefined, count: undefined, unchecked }
  const { hits } = yield* cluster.search(record.passages, { size: 0, track_total_hits: true, query: left })
  return { filter: left, count: hits.total.value as number, unchecked }
})

/** Which words occur literally in a passage. */
export const written = (cluster: Cluster, record: CollectionRecord, words: ReadonlyArray<string>) =>
  writtenBy(finding(cluster, record), words)
