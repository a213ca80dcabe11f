import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { DocumentId, Metadata } from "../../model/Document.ts"
import type { ExportedDocument } from "../../model/Stored.ts"
import { toVector } from "./codes.ts"
import { join } from "./content.ts"
import { type PassageRow, toPassage } from "./passage.ts"
import { tableOf } from "./vectors.ts"

interface DocumentRow {
  readonly id: number
  readonly doc_id: DocumentId
  readonly source: string | null
  readonly title: string | null
  readonly metadata: string
  readonly fingerprint: string
  readonly origin: string | null
  readonly line: number | null
  readonly tail: string
}

/** The next documents by doc_id, in the form that `put` takes. */
export const exported = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  page: { readonly limit: number; readonly after?: DocumentId | undefined }
) {
  const rows = yield* sql.unsafe<DocumentRow>(
    `SELECT id, doc_id, source, title, metadata, fingerprint, origin, line, tail
     FROM documents WHERE collection_id = ? AND doc_id > ? ORDER BY doc_id LIMIT ?`,
    [collection, page.after ?? "", page.limit]
  )
  return yield* Effect.forEach(rows, (row) =>
    Effect.map(
      sql.unsafe<PassageRow & { readonly lead: string; readonly vector: Uint8Array | null }>(
        `SELECT p.*, v.vector FROM passages AS p LEFT JOIN ${tableOf(collection)} AS v ON v.passage_id = p.id
         WHERE p.document_id = ? ORDER BY p.ordinal`,
        [row.id]
      ),
      (passages): ExportedDocument => ({
        docId: row.doc_id,
        derivedId: row.doc_id,
        source: row.source ?? undefined,
        title: row.title ?? undefined,
        metadata: JSON.parse(row.metadata) as Metadata,
        fingerprint: row.fingerprint,
        origin: row.origin ?? undefined,
        line: row.line ?? undefined,
        content: join(passages, row.tail),
        passages: passages.map((passage) => ({
          ...toPassage(passage, null),
          vector: Option.map(Option.fromNullable(passage.vector), toVector)
        }))
      })
    )
  )
})
