import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { mostDefining, sampledDocuments } from "../../../entities/measure.ts"
import { list } from "../rows.ts"
import { mentionsIn } from "./edges.ts"

/** At most this many passages of a document are read. */
const passagesEach = 4

interface Sampled {
  readonly first: number
  readonly passages: number
}

/**
 * The collection's documents; in a large one, those at evenly spread places among their fingerprints, so that the same
 * documents are chosen in whatever order they came.
 */
const sample = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, collection: number, documents: number) {
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
       FROM json_each(?) AS asked)`,
    [collection, list(places)]
  )
})

/**
 * The share of the documents that name or link another by a name it is known by; in a large collection, of a sample.
 */
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
  readonly changes: number
  readonly documents: number
  readonly linkage: number
}

/** In a collection of any size, more changes than this are more than a little. */
const mostChanges = 64

const isStale = (before: Known, { changes, documents }: Known): boolean => {
  const few = Math.max(1, Math.min(mostChanges, before.documents >> 4))
  return Math.abs(changes - before.changes) >= few || Math.abs(documents - before.documents) > documents >> 4
}

/** The state of a collection, and its stored linkage. */
const keptOf = (sql: SqlClient.SqlClient, collection: number) =>
  Effect.map(
    sql.unsafe<Omit<Known, "linkage"> & { readonly kept: string | null }>(
      `SELECT changes, documents,
              (SELECT json_object('changes', changes, 'documents', documents, 'linkage', linkage)
               FROM graph_linkages WHERE collection_id = collections.id) AS kept
       FROM collections WHERE id = ?`,
      [collection]
    ),
    ([row]) => ({
      state: { changes: row!.changes, documents: row!.documents, linkage: 0 } satisfies Known,
      kept: row!.kept === null ? undefined : (JSON.parse(row!.kept) as Known)
    })
  )

/**
 * Measures the linkage again if the collection has changed by more than a little. Call it in the transaction that
 * changed it.
 */
export const keep = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, collection: number) {
  const { kept, state } = yield* keptOf(sql, collection)
  if (kept !== undefined && !isStale(kept, state)) return
  yield* write(sql, collection, { ...state, linkage: yield* linkageOf(sql, collection, state.documents) })
})

/** Keeps a linkage that was measured elsewhere as that of the collection's current state. */
export const keepMeasured = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  linkage: number
) {
  const { state } = yield* keptOf(sql, collection)
  yield* write(sql, collection, { ...state, linkage })
})

const write = (sql: SqlClient.SqlClient, collection: number, { changes, documents, linkage }: Known) =>
  sql.unsafe("REPLACE INTO graph_linkages (collection_id, changes, documents, linkage) VALUES (?, ?, ?, ?)", [
    collection,
    changes,
    documents,
    linkage
  ])

/** A connection's linkages: read from the index, or measured here if the stored ones are out of date. */
export class Linkages {
  private readonly known = new Map<number, Known>()

  readonly of = Effect.fnUntraced(function* (this: Linkages, sql: SqlClient.SqlClient, collection: number) {
    const { kept, state } = yield* keptOf(sql, collection)
    for (const before of [kept, this.known.get(collection)]) {
      if (before !== undefined && !isStale(before, state)) return before.linkage
    }
    const linkage = yield* linkageOf(sql, collection, state.documents)
    this.known.set(collection, { ...state, linkage })
    return linkage
  })
}
