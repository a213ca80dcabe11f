import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { matchExpression, splitQuery, termPunctuation, terms } from "../../text/terms.ts"
import type { Mask } from "./filter.ts"
import { passagesIn } from "./passageRanges.ts"
import type { Scored } from "./rank.ts"
import { inList, insertRows, list } from "./rows.ts"

/** Weight of a term by the field it stands in: title, heading, text. As they measured best: docs/quality.md. */
const fieldWeights = [2, 1, 1] as const

const table = (collection: number) => `keyword_${collection}`

/** FTS5 over terms that `text/terms.ts` has made; it keeps postings only, no text. */
export const create = (sql: SqlClient.SqlClient, collection: number): Effect.Effect<unknown, SqlError> =>
  Effect.zipRight(
    sql.unsafe(
      `CREATE VIRTUAL TABLE ${table(collection)} USING fts5 (
        title, heading, text, content = '', contentless_delete = 1,
        tokenize = "ascii tokenchars '${termPunctuation.replaceAll("'", "''")}'"
      )`
    ),
    sql.unsafe(`INSERT INTO ${table(collection)} (${table(collection)}, rank) VALUES ('rank', ?)`, [
      `bm25(${fieldWeights.join(",")})`
    ])
  )

export const drop = (sql: SqlClient.SqlClient, collection: number): Effect.Effect<unknown, SqlError> =>
  sql.unsafe(`DROP TABLE ${table(collection)}`)

export interface KeywordRow {
  readonly id: number
  readonly title: string
  readonly heading: string
  readonly text: string
}

export const insert = (
  sql: SqlClient.SqlClient,
  collection: number,
  rows: ReadonlyArray<KeywordRow>
): Effect.Effect<void, SqlError> => {
  // A document's passages share their title and mostly their heading.
  let title = ""
  let titleTerms = ""
  const joined = (text: string) => terms(text).join(" ")
  const prepared = rows.map((row) => {
    if (row.title !== title) [title, titleTerms] = [row.title, joined(row.title)]
    return [row.id, titleTerms, joined(row.heading), joined(row.text)]
  })
  return insertRows(sql, table(collection), ["rowid", "title", "heading", "text"], prepared)
}

/** Takes passages out by their ids. */
export const remove = (
  sql: SqlClient.SqlClient,
  collection: number,
  ids: ReadonlyArray<number>
): Effect.Effect<unknown, SqlError> => sql.unsafe(`DELETE FROM ${table(collection)} WHERE rowid ${inList}`, [list(ids)])

/**
 * The best passages by BM25 (Robertson & Zaragoza 2009; k1 1.2, b 0.75), and the scores of the `also` passages as far
 * as they match. A passage matches by any term; function words count only in a query of nothing else.
 */
export const search = (
  sql: SqlClient.SqlClient,
  collection: number,
  query: string,
  options: { readonly depth: number; readonly mask: Mask | undefined; readonly also: ReadonlyArray<number> }
): Effect.Effect<ReadonlyArray<Scored>, SqlError> => {
  const { content } = splitQuery(query)
  if (content.length === 0) return Effect.succeed([])
  const { also, depth, mask } = options
  // The unary plus keeps SQLite from probing the full-text index once for every id of the mask.
  const where = mask === undefined ? "" : ` AND +rowid ${inList}`
  const from = `FROM ${table(collection)} WHERE ${table(collection)} MATCH ?${where}`
  const params = [matchExpression(content), ...(mask === undefined ? [] : [`[${passagesIn(mask).join(",")}]`])]
  return also.length === 0
    ? sql.unsafe<Scored>(`SELECT rowid AS id, -rank AS score ${from} ORDER BY rank LIMIT ?`, [...params, depth])
    : sql.unsafe<Scored>(
        `WITH matching AS MATERIALIZED (SELECT rowid AS id, -rank AS score ${from})
         SELECT * FROM (SELECT id, score FROM matching ORDER BY score DESC, id LIMIT ?)
         UNION SELECT id, score FROM matching WHERE id ${inList}`,
        [...params, depth, list(also)]
      )
}
