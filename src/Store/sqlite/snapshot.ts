import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { parsed } from "../../model/Damaged.ts"
import type { DocumentId } from "../../model/Document.ts"
import type { Hit } from "../../model/SearchResult.ts"
import type { RankRequest } from "../../model/Stored.ts"
import { learned } from "../../postings/stemmers.ts"
import { rank as rankIn } from "../../ranking/rank.ts"
import type { Place, Shown, Snapshot } from "../../ranking/Snapshot.ts"
import type { CollectionNotFound, EmbedderChanged } from "../../Store.ts"
import { searched, union } from "./asked.ts"
import type { Searching } from "./Database.ts"
import { type CheckedRow, checkHead, checkPassage } from "./documentCrc.ts"
import { expand } from "./graph/expand.ts"
import * as keyword from "./keyword.ts"
import { languageOf } from "./languages.ts"
import { toPassage } from "./passage.ts"
import { inList, list } from "./rows.ts"
import { thinned } from "./ties.ts"
import * as vectors from "./vectors.ts"

/** The columns that a hit shows, by passage id. */
interface HitRow extends CheckedRow {
  readonly head_crc: number | null
  readonly collection_id: number
  readonly doc_id: DocumentId
  readonly source: string | null
  readonly title: string | null
  readonly metadata: string
  readonly line: number | null
  readonly language: string | null
}

/** Fails if it differs from what was stored. */
const toShown = (row: HitRow): Shown => {
  checkPassage(row)
  checkHead({ ...row, id: row.document_id }, row.head_crc)
  return {
    collection: row.collection_id,
    language: languageOf(row.language),
    hit: {
      passage: toPassage(row, row.line),
      document: {
        docId: row.doc_id,
        source: row.source ?? row.doc_id,
        ...(row.title === null ? {} : { title: row.title }),
        metadata: parsed<Hit["document"]["metadata"]>(row.metadata, () => `the metadata of document ${row.doc_id}`)
      }
    }
  }
}

/** Answers ranking's questions in the caller's transaction. */
const snapshotOn = (
  sql: SqlClient.SqlClient,
  searching: Searching
): Snapshot<SqlError | CollectionNotFound | EmbedderChanged> => ({
  searched: (request) => searched(sql, searching, request),

  matching: (asked, query, options) =>
    keyword
      .search(
        sql,
        asked.map(({ id }) => id),
        query,
        { ...options, mask: union(asked), passages: asked.reduce((sum, { passages }) => sum + passages, 0) }
      )
      .pipe(Effect.flatMap((scored) => thinned(sql, scored, options.depth, options.also))),

  near: (asked, query) =>
    keyword.nearTerms(
      sql,
      asked.map(({ id }) => id),
      query
    ),

  terms: (asked, query, { most, near, passages }) =>
    keyword.termScores(
      sql,
      asked.map(({ id }) => id),
      query,
      passages,
      { mask: union(asked), near, most }
    ),

  nearest: ({ id, mask, passages }, vector, depth) =>
    vectors.search(sql, searching, id, vector, { depth, mask, passages }),

  similarity: ({ id }, vector, passages) => vectors.score(sql, searching, id, vector, passages),

  places: (passages) =>
    Effect.map(
      sql.unsafe<Place & { readonly id: number }>(
        `SELECT p.id, d.doc_id, c.name AS collection, p.ordinal FROM passages AS p
         JOIN documents AS d ON d.id = p.document_id JOIN collections AS c ON c.id = d.collection_id WHERE p.id ${inList}`,
        [list(passages)]
      ),
      (rows) => new Map(rows.map((row) => [row.id, row]))
    ),

  texts: (passages) =>
    sql.unsafe<{ readonly id: number; readonly heading: string; readonly text: string }>(
      `SELECT id, heading, text FROM passages WHERE id ${inList}`,
      [list(passages)]
    ),

  metadata: (passages, key) =>
    Effect.map(
      sql.unsafe<{ readonly id: number; readonly doc_id: DocumentId; readonly metadata: string }>(
        `SELECT p.id, d.doc_id, d.metadata FROM passages AS p JOIN documents AS d ON d.id = p.document_id
         WHERE p.id ${inList} AND instr(d.metadata, ?) > 0`,
        [list(passages), JSON.stringify(key)]
      ),
      (rows) =>
        new Map(
          rows.flatMap(({ doc_id: docId, id, metadata }): ReadonlyArray<readonly [number, unknown]> => {
            const found = parsed<Hit["document"]["metadata"]>(metadata, () => `the metadata of document ${docId}`)
            return Object.hasOwn(found, key) ? [[id, found[key]]] : []
          })
        )
    ),

  beside: (passages) =>
    Effect.map(
      sql.unsafe<{ readonly id: number; readonly beside: number }>(
        `SELECT p.id, n.id AS beside FROM json_each(?) AS asked CROSS JOIN passages AS p ON p.id = asked.value
         CROSS JOIN passages AS n ON n.id IN (p.id - 1, p.id + 1) AND n.document_id = p.document_id`,
        [list(passages)]
      ),
      (rows) => {
        const found = new Map<number, Array<number>>()
        for (const { beside, id } of rows) found.set(id, [...(found.get(id) ?? []), beside])
        return found
      }
    ),

  homes: (passages) =>
    Effect.map(
      sql.unsafe<{ readonly id: number; readonly collection: number }>(
        `SELECT p.id, d.collection_id AS collection FROM passages AS p JOIN documents AS d ON d.id = p.document_id
         WHERE p.id ${inList}`,
        [list(passages)]
      ),
      (rows) => new Map(rows.map(({ collection, id }) => [id, collection]))
    ),

  expand: ({ documents, id: collection, mask, vector }, graph, hits) =>
    expand(sql, searching, { ...graph, collection, documents, mask, vector, hits }),

  shown: (passages) =>
    Effect.flatMap(
      sql.unsafe<HitRow>(
        `SELECT p.*, d.head_crc, d.collection_id, d.doc_id, d.source, d.title, d.metadata, d.line, d.language
         FROM passages AS p JOIN documents AS d ON d.id = p.document_id WHERE p.id ${inList}`,
        [list(passages)]
      ),
      (rows) => {
        const shown = new Map(rows.map((row) => [row.id, toShown(row)]))
        return Effect.as(learned(Array.from(shown.values(), ({ language }) => language)), shown)
      }
    )
})

/** The hits of a request. Run it in one snapshot. */
export const rank = (sql: SqlClient.SqlClient, searching: Searching, request: RankRequest) =>
  rankIn(snapshotOn(sql, searching), request)
