import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { DocumentId, Metadata } from "../../model/Document.ts"
import type { ExportedDocument, ExportPage, ExportPosition } from "../../model/Stored.ts"
import { fromStored } from "../../entities/said.ts"
import { damaged, parsed } from "../../model/Damaged.ts"
import { crcOf } from "../crc.ts"
import { toVector } from "./codes.ts"
import { join } from "./content.ts"
import * as answers from "./graph/answers.ts"
import { type CheckedRow, checkDocument } from "./documentCrc.ts"
import { toPassage } from "./passage.ts"
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
  readonly first_passage: number | null
  readonly passages: number
  readonly head_crc: number | null
}

interface ExportedRow extends CheckedRow {
  readonly vector: Uint8Array | null
  readonly vector_crc: number | null
  readonly silent: number
  readonly model: string | null
  readonly asked: string
  readonly answer: string
}

const columns =
  "id, doc_id, source, title, metadata, fingerprint, origin, line, tail, first_passage, passages, head_crc"

/** What a model said about a passage as it is now. */
const saidOf = (row: ExportedRow, title: string | undefined, heading: ReadonlyArray<string>) => {
  if (row.model === null || row.asked !== answers.askedOf({ title, heading, text: row.text })) return {}
  return Option.match(fromStored(row.answer), {
    onNone: () => ({}),
    onSome: (said) => ({ said: { ...said, model: row.model! } })
  })
}

/** A damaged or missing vector would be imported as if it were right. */
const checkVector = ({ id, silent, vector, vector_crc }: ExportedRow): void => {
  if (vector === null && silent === 0) damaged(`the vector of passage ${id} is missing`)
  if (vector !== null && vector_crc !== null && crcOf(vector, id) !== vector_crc)
    damaged(`the vector of passage ${id} has changed`)
}

/**
 * The next documents in the form that `put` takes, in the order of their passages' ids: what depends on that order is
 * then alike where they are stored again.
 */
export const exported = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  { from = { isBare: false, after: 0 }, limit }: { readonly limit: number; readonly from?: ExportPosition | undefined }
) {
  const rows = yield* sql.unsafe<DocumentRow>(
    from.isBare
      ? `SELECT ${columns} FROM documents INDEXED BY documents_passages
         WHERE collection_id = ? AND first_passage IS NULL AND passages = 0 AND id > ? ORDER BY id LIMIT ?`
      : `SELECT ${columns} FROM documents INDEXED BY documents_passages
         WHERE collection_id = ? AND first_passage > ? ORDER BY first_passage LIMIT ?`,
    [collection, from.after, limit]
  )
  const hasAnswers = yield* answers.isAny(sql)
  const [said, join_] = hasAnswers
    ? ["a.model, a.asked, a.answer", "LEFT JOIN graph_answers AS a ON a.passage_id = p.id"]
    : ["NULL AS model", ""]
  const documents = yield* Effect.forEach(rows, (row) =>
    Effect.map(
      sql.unsafe<ExportedRow>(
        `SELECT p.*, v.vector, v.crc AS vector_crc, ${said},
           EXISTS (SELECT 1 FROM vectorless WHERE passage_id = p.id AND generation = 'current') AS silent
         FROM passages AS p LEFT JOIN ${tableOf(collection)} AS v ON v.passage_id = p.id ${join_}
         WHERE p.document_id = ? ORDER BY p.ordinal`,
        [row.id]
      ),
      (passages): ExportedDocument => {
        checkDocument(row, passages)
        passages.forEach(checkVector)
        return {
          docId: row.doc_id,
          derivedId: row.doc_id,
          source: row.source ?? undefined,
          title: row.title ?? undefined,
          metadata: parsed<Metadata>(row.metadata, () => `the metadata of document ${row.doc_id}`),
          fingerprint: row.fingerprint,
          origin: row.origin ?? undefined,
          line: row.line ?? undefined,
          content: join(passages, row.tail),
          passages: passages.map((stored) => {
            const passage = toPassage(stored, null)
            return {
              ...passage,
              vector: Option.map(Option.fromNullable(stored.vector), toVector),
              ...saidOf(stored, row.title ?? undefined, passage.heading)
            }
          })
        }
      }
    )
  )
  const last = rows.at(-1)
  const next: ExportPosition | undefined =
    last !== undefined && rows.length === limit
      ? { isBare: from.isBare, after: last.first_passage ?? last.id }
      : from.isBare
        ? undefined
        : { isBare: true, after: 0 }
  return { documents, next } satisfies ExportPage
})
