import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { DocumentId } from "../../../model/Document.ts"
import type { GraphPassage } from "../../../model/Graph.ts"
import { unpack } from "../../../text/graph/pack.ts"
import { inList, list } from "../rows.ts"
import { nameOf } from "./name.ts"

interface Row {
  readonly id: number
  readonly doc_id: DocumentId
  readonly source: string
  readonly title: string | null
  readonly ordinal: number
  readonly start_line: number
  readonly line: number | null
  readonly text: string
  readonly heading: string
  readonly mentions: Uint8Array
}

const toPassage = (row: Row): GraphPassage => ({
  id: row.id,
  docId: row.doc_id,
  source: row.source,
  title: row.title ?? undefined,
  ordinal: row.ordinal,
  startLine: row.line ?? row.start_line,
  text: row.text,
  mentions: unpack(row.mentions).map((mention) => ({
    entity: mention.entity,
    relation: mention.relation,
    name: nameOf(mention, row)
  }))
})

const select = `SELECT p.id, d.doc_id, coalesce(d.source, d.doc_id) AS source, d.title, p.ordinal, p.start_line, d.line, p.text,
    p.heading, g.mentions
  FROM graph_passages AS g CROSS JOIN passages AS p ON p.id = g.passage_id CROSS JOIN documents AS d ON d.id = p.document_id`

const rows = (sql: SqlClient.SqlClient, where: string, params: ReadonlyArray<string | number>) =>
  Effect.map(sql.unsafe<Row>(`${select} ${where}`, params), (found) => found.map(toPassage))

/** The next passages after an id. */
export const page = (
  sql: SqlClient.SqlClient,
  collection: number,
  after: number,
  limit: number
): Effect.Effect<ReadonlyArray<GraphPassage>, SqlError> =>
  rows(sql, "WHERE g.passage_id > ? AND d.collection_id = ? ORDER BY g.passage_id LIMIT ?", [after, collection, limit])

/** The passages of these ids. */
export const passages = (
  sql: SqlClient.SqlClient,
  collection: number,
  ids: ReadonlyArray<number>
): Effect.Effect<ReadonlyArray<GraphPassage>, SqlError> =>
  rows(sql, `WHERE g.passage_id ${inList} AND d.collection_id = ? ORDER BY g.passage_id`, [list(ids), collection])
