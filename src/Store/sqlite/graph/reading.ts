import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { DocumentId } from "../../../model/Document.ts"
import { rising } from "../../../model/Damaged.ts"
import type { GraphPassage } from "../../../model/Graph.ts"
import { fragment } from "../../../model/Locator.ts"
import { unpack } from "../../../entities/pack.ts"
import { fromStored } from "../../../entities/said.ts"
import { type CheckedRow, checkPassage } from "../documentCrc.ts"
import { locatorOf } from "../passage.ts"
import { inList, list } from "../rows.ts"
import { nameOf } from "./name.ts"

interface Row extends CheckedRow {
  readonly doc_id: DocumentId
  readonly source: string
  readonly title: string | null
  readonly line: number | null
  readonly mentions: Uint8Array
  readonly answer: string | null
}

/** Finds the line of an offset if the file has the passage as it is stored; else the passage's first line. */
const linesOf = ({ end_line, line, locator, start_line, text }: Row): ((at: number) => number) => {
  if (line !== null) return () => line
  const ends: Array<number> = []
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) ends.push(at)
  if (locator !== null || ends.length !== end_line - start_line) return () => start_line
  return (at) => {
    const next = ends.findIndex((end) => end >= at)
    return start_line + (next < 0 ? ends.length : next)
  }
}

const mentionsOf = (row: Row): GraphPassage["mentions"] => {
  const lineAt = linesOf(row)
  return unpack(row.mentions).map((mention) => ({
    entity: mention.entity,
    relation: mention.relation,
    name: nameOf(mention, row),
    line: lineAt(mention.start)
  }))
}

const toPassage = (row: Row): GraphPassage => {
  checkPassage(row)
  return {
    id: row.id,
    docId: row.doc_id,
    source: row.source,
    title: row.title ?? undefined,
    ordinal: row.ordinal,
    startLine: row.line ?? row.start_line,
    text: row.text,
    ...(row.locator === null ? {} : { locator: fragment(locatorOf(row.locator)) }),
    mentions: mentionsOf(row),
    said: Option.match(Option.flatMap(Option.fromNullable(row.answer), fromStored), {
      onNone: () => [],
      onSome: ({ relations }) => relations
    })
  }
}

const select = `SELECT p.*, d.doc_id, coalesce(d.source, d.doc_id) AS source, d.title, d.line, g.mentions, a.answer
  FROM graph_passages AS g CROSS JOIN passages AS p ON p.id = g.passage_id CROSS JOIN documents AS d ON d.id = p.document_id
    LEFT JOIN graph_answers AS a ON a.passage_id = p.id`

const rows = (sql: SqlClient.SqlClient, where: string, params: ReadonlyArray<string | number>) =>
  Effect.map(sql.unsafe<Row>(`${select} ${where}`, params), (found) => found.map(toPassage))

/** The next passages after an id. */
export const page = (
  sql: SqlClient.SqlClient,
  collection: number,
  after: number,
  limit: number
): Effect.Effect<ReadonlyArray<GraphPassage>, SqlError> =>
  Effect.map(
    rows(sql, "WHERE g.passage_id > ? AND d.collection_id = ? ORDER BY g.passage_id LIMIT ?", [
      after,
      collection,
      limit
    ]),
    (found) => rising(found, after, "passages of the graph")
  )

/** The passages with these ids. */
export const passages = (
  sql: SqlClient.SqlClient,
  collection: number,
  ids: ReadonlyArray<number>
): Effect.Effect<ReadonlyArray<GraphPassage>, SqlError> =>
  rows(sql, `WHERE g.passage_id ${inList} AND d.collection_id = ? ORDER BY g.passage_id`, [list(ids), collection])
