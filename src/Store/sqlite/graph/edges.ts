import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { rising } from "../../../model/Damaged.ts"
import type { GraphStep } from "../../../model/Graph.ts"
import { mentionsOf, type Text } from "../../../entities/extract.ts"
import { relations } from "../../../entities/mention.ts"
import { pack, unpack } from "../../../entities/pack.ts"
import { inList, insertRows, list } from "../rows.ts"
import { headingOf } from "../passage.ts"
import * as answers from "./answers.ts"

/** A passage to add to the graph. */
export interface GraphRow extends Text {
  readonly id: number
  readonly title: string | undefined
}

/** The columns from which the graph is made. */
export interface TextRow {
  readonly id: number
  readonly ordinal: number
  readonly text: string
  readonly heading: string
  readonly title: string | null
  readonly source: string | null
}

/** Its columns, of `passages AS p` and `documents AS d`. */
export const textColumns = "p.id, p.ordinal, p.text, p.heading, d.title, d.source"

export const toGraphRow = ({ heading, id, ordinal, source, text, title }: TextRow) => ({
  id,
  ordinal,
  text,
  heading: headingOf(heading),
  title: title ?? undefined,
  source: source ?? undefined
})

/**
 * Adds passages' mentions, with what a model said about them, or about the same words in `carried`. Call it in the
 * transaction that adds the passages.
 */
export const insert = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  rows: ReadonlyArray<GraphRow>,
  carried?: answers.Answers
) {
  const said = yield* answers.take(sql, rows, carried)
  const packed: Array<ReadonlyArray<unknown>> = []
  const edges: Array<ReadonlyArray<number>> = []
  for (const row of rows) {
    const bytes = pack(mentionsOf({ ...row, said: said.get(row.id) }))
    packed.push([row.id, Buffer.from(bytes)])
    for (const { entity, relation } of unpack(bytes)) {
      edges.push([collection, entity, relations.indexOf(relation), row.id, row.ordinal])
    }
  }
  yield* insertRows(sql, "graph_passages", ["passage_id", "mentions"], packed)
  // In the order of the table, so that neighbours are written while their page is cached.
  edges.sort((a, b) => a[1]! - b[1]! || a[2]! - b[2]! || a[3]! - b[3]!)
  yield* insertRows(sql, "graph_mentions", edgeColumns, edges)
})

const edgeColumns = ["collection_id", "entity", "relation", "passage_id", "ordinal"]

/** The stored mentions of passages, by passage id; a passage that is not in the graph has none. */
export const mentionsIn = (sql: SqlClient.SqlClient, passages: ReadonlyArray<number>) =>
  Effect.map(
    sql.unsafe<{ readonly id: number; readonly mentions: Uint8Array }>(
      `SELECT passage_id AS id, mentions FROM graph_passages WHERE passage_id ${inList}`,
      [list(passages)]
    ),
    (rows) => new Map(rows.map(({ id, mentions }) => [id, unpack(mentions)]))
  )

/** Removes passages from the graph. Call it in the transaction that deletes them elsewhere. */
export const remove = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  passages: ReadonlyArray<number>
) {
  if (passages.length === 0) return
  const edges = [...(yield* mentionsIn(sql, passages))].flatMap(([id, mentions]) =>
    mentions.map(({ entity, relation }) => [entity, relations.indexOf(relation), id])
  )
  yield* sql.unsafe(
    `DELETE FROM graph_mentions WHERE (collection_id, entity, relation, passage_id) IN
       (SELECT ?, value ->> 0, value ->> 1, value ->> 2 FROM json_each(?))`,
    [collection, JSON.stringify(edges)]
  )
  yield* sql.unsafe(`DELETE FROM graph_passages WHERE passage_id ${inList}`, [list(passages)])
})

/** Adds those of the next passages after an id that are not in the graph yet. */
export const extend = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  after: number,
  limit: number
) {
  const found = yield* sql.unsafe<TextRow & { readonly known: number | null }>(
    `SELECT ${textColumns}, g.passage_id AS known
     FROM passages AS p CROSS JOIN documents AS d ON d.id = p.document_id
       LEFT JOIN graph_passages AS g ON g.passage_id = p.id
     WHERE d.collection_id = ? AND p.id > ? ORDER BY p.id LIMIT ?`,
    [collection, after, limit]
  )
  const rows = rising(found, after, "passages")
  const missing = rows.filter(({ known }) => known === null)
  yield* insert(sql, collection, missing.map(toGraphRow))
  // The stored linkage of a collection belongs to one state of it.
  if (missing.length > 0) yield* sql.unsafe("UPDATE collections SET changes = changes + 1 WHERE id = ?", [collection])
  return { added: missing.length, seen: rows.length, through: rows.at(-1)?.id ?? after } satisfies GraphStep
})
