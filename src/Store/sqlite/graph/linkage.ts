import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { mostDefining, sampledDocuments } from "../../../text/graph/measure.ts"
import { list } from "../rows.ts"
import { mentionsIn } from "./edges.ts"

/** Of a long document only so many passages are looked at. */
const passagesEach = 4

interface Sampled {
  readonly first: number
  readonly passages: number
}

/** The collection's documents, or of many those at evenly spread places. */
const sample = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, collection: number, documents: number) {
  if (documents <= sampledDocuments) {
    return yield* sql.unsafe<Sampled>(
      "SELECT first_passage AS first, passages FROM documents WHERE collection_id = ? AND first_passage IS NOT NULL",
      [collection]
    )
  }
  const [range] = yield* sql.unsafe<{ readonly first: number; readonly last: number }>(
    `SELECT (SELECT min(first_passage) FROM documents WHERE collection_id = ?) AS first,
            (SELECT max(first_passage) FROM documents WHERE collection_id = ?) AS last`,
    [collection, collection]
  )
  const { first, last } = range!
  const places = Array.from({ length: sampledDocuments }, (_, index) =>
    Math.floor(first + (index * (last - first)) / (sampledDocuments - 1))
  )
  return yield* sql.unsafe<Sampled>(
    `SELECT DISTINCT first, passages FROM (
       SELECT (SELECT first_passage FROM documents
               WHERE collection_id = ? AND first_passage >= asked.value ORDER BY first_passage LIMIT 1) AS first
       FROM json_each(?) AS asked
     ) CROSS JOIN documents ON collection_id = ? AND first_passage = first`,
    [collection, list(places), collection]
  )
})

/** The share of the documents that name or link another by what it is known by, of a sample where there are many. */
export const linkageOf = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, collection: number, documents: number) {
  const sampled = yield* sample(sql, collection, documents)
  if (sampled.length === 0) return 0
  const documentOf = new Map(
    sampled.flatMap(({ first, passages }) =>
      Array.from({ length: Math.min(passages, passagesEach) }, (_, index) => [first + index, first] as const)
    )
  )
  const named = [...(yield* mentionsIn(sql, [...documentOf.keys()]))].flatMap(([passage, mentions]) =>
    mentions
      .filter(({ relation }) => relation !== "defines" && relation !== "heads")
      .map(({ entity }) => ({ entity, document: documentOf.get(passage)! }))
  )
  const rows = yield* sql.unsafe<{ readonly entity: number; readonly documents: string }>(
    `SELECT asked.value AS entity,
            (SELECT json_group_array(document) FROM
              (SELECT passage_id - ordinal AS document FROM graph_mentions
               WHERE collection_id = ? AND entity = asked.value AND relation = 0 LIMIT ${mostDefining + 1})) AS documents
     FROM json_each(?) AS asked`,
    [collection, list([...new Set(named.map(({ entity }) => entity))])]
  )
  const defining = new Map<number, ReadonlyArray<number>>()
  for (const { documents, entity } of rows) {
    const found = JSON.parse(documents) as ReadonlyArray<number>
    if (found.length > 0 && found.length <= mostDefining) defining.set(entity, found)
  }
  const joined = new Set<number>()
  for (const { document, entity } of named) {
    if (defining.get(entity)?.some((other) => other !== document)) joined.add(document)
  }
  return joined.size / sampled.length
})

interface Known {
  readonly documents: number
  readonly changes: number
  readonly linkage: number
}

/** In smaller collections every change may count. */
const small = 1000
const mostChanges = 64

/** A connection's linkages; one is measured anew when the collection has changed by more than a little. */
export class Linkages {
  private readonly known = new Map<number, Known>()

  readonly of = Effect.fnUntraced(function* (this: Linkages, sql: SqlClient.SqlClient, collection: number) {
    const [state] = yield* sql.unsafe<{ readonly changes: number; readonly documents: number }>(
      "SELECT changes, documents FROM collections WHERE id = ?",
      [collection]
    )
    const { changes, documents } = state!
    const before = this.known.get(collection)
    if (before !== undefined && !this.isStale(before, changes, documents)) return before.linkage
    const linkage = yield* linkageOf(sql, collection, documents)
    this.known.set(collection, { changes, documents, linkage })
    return linkage
  })

  private isStale(before: Known, changes: number, documents: number): boolean {
    if (before.changes === changes) return false
    return (
      documents < small ||
      Math.abs(changes - before.changes) >= mostChanges ||
      Math.abs(documents - before.documents) * 16 > before.documents
    )
  }
}
