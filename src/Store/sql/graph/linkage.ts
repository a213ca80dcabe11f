import * as Effect from "effect/Effect"
import { mostDefining, sampledDocuments } from "../../../entities/walk.ts"
import { linkedShare, passagesEach } from "../../core/graph.ts"
import { dialectOf } from "../dialect.ts"
import { type Sql, list, replaceRow } from "../rows.ts"
import { placesOf } from "./byEntity.ts"
import { mentionsIn } from "./edges.ts"

interface Sampled {
  readonly first: number
  readonly passages: number
}

/**
 * The collection's documents; in a large one, those at evenly spread places among their fingerprints, so that the same
 * documents are chosen in whatever order they came.
 */
const sample = Effect.fnUntraced(function* (sql: Sql, collection: number, documents: number) {
  if (documents <= sampledDocuments) {
    return yield* sql.unsafe<Sampled>(
      "SELECT first_passage AS first, passages FROM documents WHERE collection_id = ? AND first_passage IS NOT NULL",
      [collection]
    )
  }
  const places = Array.from({ length: sampledDocuments }, (_, index) =>
    Math.floor((index * 16 ** 12) / sampledDocuments)
      .toString(16)
      .padStart(12, "0")
  )
  return yield* sql.unsafe<Sampled>(
    `SELECT first_passage AS first, passages FROM documents WHERE first_passage IS NOT NULL AND id IN (
       SELECT (SELECT id FROM documents INDEXED BY documents_content
               WHERE collection_id = ? AND substr(fingerprint, 1, 12) >= asked.value
               ORDER BY substr(fingerprint, 1, 12), id LIMIT 1)
       FROM ${dialectOf(sql).texts("asked")})`,
    [collection, list(places)]
  )
})

/** The documents of which each entity is the title, by their first passages, if it is one of not too many. */
export const titled = (sql: Sql, collection: number, entities: ReadonlyArray<number>) =>
  Effect.map(
    placesOf(sql, collection, [...new Set(entities)], mostDefining + 1, " AND relation = 0"),
    (found) =>
      new Map(
        [...found].flatMap(([entity, places]) =>
          places.length > mostDefining ? [] : [[entity, places.map(({ document }) => document)] as const]
        )
      )
  )

/**
 * The share of the documents that name or link another by a name it is known by; in a large collection, of a sample.
 */
const measured = Effect.fnUntraced(function* (sql: Sql, collection: number, documents: number) {
  const sampled = yield* sample(sql, collection, documents)
  const documentOf = new Map(
    sampled.flatMap(({ first, passages }) =>
      Array.from({ length: Math.min(passages, passagesEach) }, (_, index) => [first + index, first] as const)
    )
  )
  const read = Array.from(yield* mentionsIn(sql, [...documentOf.keys()]), ([passage, mentions]) => ({
    document: documentOf.get(passage)!,
    mentions
  }))
  return yield* linkedShare(sampled.length, read, (entities) => titled(sql, collection, entities))
})

interface Known {
  readonly changes: number
  readonly documents: number
  readonly linkage: number
}

/** In a collection of any size, more changes than this are more than a little. */
const mostChanges = 64

const isStale = (before: Known, { changes, documents }: Omit<Known, "linkage">): boolean => {
  const few = Math.max(1, Math.min(mostChanges, before.documents >> 4))
  return Math.abs(changes - before.changes) >= few || Math.abs(documents - before.documents) > documents >> 4
}

/** The linkage that is kept of a collection. */
export const linkageOf = (sql: Sql, collection: number) =>
  Effect.map(
    sql.unsafe<Known>("SELECT changes, documents, linkage FROM graph_linkages WHERE collection_id = ?", [collection]),
    ([row]) => row?.linkage ?? 0
  )

/**
 * Keeps the linkage of a collection's current state: the one that was measured elsewhere, else the collection's, measured
 * again if it has changed by more than a little. Call it in the transaction that changed it.
 */
export const keepLinkage = Effect.fnUntraced(function* (sql: Sql, collection: number, given?: number) {
  const [state] = yield* sql.unsafe<Omit<Known, "linkage">>("SELECT changes, documents FROM collections WHERE id = ?", [
    collection
  ])
  const [kept] = yield* sql.unsafe<Known>("SELECT * FROM graph_linkages WHERE collection_id = ?", [collection])
  if (given === undefined && kept !== undefined && !isStale(kept, state!)) return
  const linkage = given ?? (yield* measured(sql, collection, state!.documents))
  yield* replaceRow(sql, "graph_linkages", "collection_id", { collection_id: collection, ...state!, linkage })
})
