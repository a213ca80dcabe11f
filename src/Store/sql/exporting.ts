import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import { crcOf } from "../crc.ts"
import { toVector } from "./codes.ts"
import * as graph from "./graph/edges.ts"
import { fewEnough, toExported } from "../core/document.ts"
import type { StoredAnswer } from "../core/graph.ts"
import { type CheckedRow, type DocumentRow, type TextRow, checkDocument, toText } from "../core/passage.ts"
import { dialectOf } from "./dialect.ts"
import { type Sql, inList, list, textColumns } from "./rows.ts"
import { Damaged, damaged as fail } from "../../model/Damaged.ts"
import type { DocumentId } from "../../model/Document.ts"
import { type EmbeddedPassage, type ExportPage, type ExportPosition, positionAfter } from "../../model/Stored.ts"
import { vectorTable } from "./vectorTable.ts"

interface ExportedRow extends CheckedRow, Omit<StoredAnswer, "model"> {
  readonly vector: Uint8Array | null
  readonly vector_crc: number | null
  readonly vectorless: number
  readonly model: string | null
}

/** A damaged or missing vector would be imported as if it were right. */
const checkVector = ({ id, vector, vector_crc, vectorless }: ExportedRow): void => {
  if (vector === null && vectorless === 0) fail(`the vector of passage ${id} is missing`)
  if (vector !== null && vector_crc !== null && crcOf(vector, id) !== vector_crc)
    fail(`the vector of passage ${id} has changed`)
}

/**
 * The next documents in the form that `put` takes, in the order of their passages' ids: what depends on that order is
 * then alike where they are stored again.
 */
export const exported = Effect.fnUntraced(function* (
  sql: Sql,
  collection: number,
  { from = { isBare: false, after: 0 }, limit }: { readonly limit: number; readonly from?: ExportPosition | undefined }
) {
  const rows = yield* sql.unsafe<DocumentRow>(
    from.isBare
      ? `SELECT * FROM documents INDEXED BY documents_passages
         WHERE collection_id = ? AND first_passage IS NULL AND passages = 0 AND id > ? ORDER BY id LIMIT ?`
      : `SELECT * FROM documents INDEXED BY documents_passages
         WHERE collection_id = ? AND first_passage > ? ORDER BY first_passage LIMIT ?`,
    [collection, from.after, limit]
  )
  const hasAnswers = yield* graph.isAnyAnswered(sql)
  const [answers, joined] = hasAnswers
    ? ["a.model, a.asked, a.answer", "LEFT JOIN graph_answers AS a ON a.passage_id = p.id"]
    : ["NULL AS model", ""]
  const read = yield* Effect.forEach(rows, (row) =>
    Effect.map(
      sql.unsafe<ExportedRow>(
        `SELECT p.*, v.vector, v.crc AS vector_crc, ${answers},
           EXISTS (SELECT 1 FROM vectorless WHERE passage_id = p.id AND generation = 'current') AS vectorless
         FROM passages AS p LEFT JOIN ${vectorTable(sql).of(collection)} AS v ON v.passage_id = p.id ${joined}
         WHERE p.document_id = ? ORDER BY p.ordinal`,
        [row.id]
      ),
      (passages) =>
        Either.try({
          try: () => {
            checkDocument(row, passages)
            passages.forEach(checkVector)
            return toExported(
              row,
              passages.map(({ answer, asked, model, vector, ...part }) => ({
                part,
                vector: Option.map(Option.fromNullable(vector), toVector),
                said: model === null ? undefined : { asked, model, answer }
              }))
            )
          },
          catch: (error) => {
            if (!(error instanceof Damaged)) throw error
            return { name: row.source ?? row.doc_id, reason: error.message }
          }
        })
    )
  )
  const last = rows.length === limit ? rows.at(-1) : undefined
  const [damaged, documents] = Arr.separate(read)
  return { documents, damaged, next: positionAfter(from, last && (last.first_passage ?? last.id)) } satisfies ExportPage
})

/** Passages of these documents, and of one document per fingerprint, with their vectors, except damaged ones. */
export const embeddings = Effect.fnUntraced(function* (
  sql: Sql,
  collection: number,
  of: { readonly docIds: ReadonlyArray<DocumentId>; readonly fingerprints: ReadonlyArray<string> }
) {
  const documents = yield* sql.unsafe<{ readonly id: number; readonly passages: number }>(
    `SELECT id, passages FROM documents WHERE id IN (
       SELECT id FROM documents WHERE collection_id = ? AND doc_id ${inList}
       UNION SELECT (
         SELECT id FROM documents
         WHERE collection_id = ? AND substr(fingerprint, 1, 12) = substr(asked.value, 1, 12) AND fingerprint = asked.value
         LIMIT 1
       ) FROM ${dialectOf(sql).texts("asked")}
     )`,
    [collection, list(of.docIds), collection, list(of.fingerprints)]
  )
  const read = fewEnough(documents)
  if (read.length === 0) return []
  const rows = yield* sql.unsafe<TextRow & { readonly vector: Uint8Array; readonly crc: number | null }>(
    `SELECT ${textColumns}, v.vector, v.crc
     FROM json_each(?) AS asked CROSS JOIN documents AS d ON d.id = asked.value
     CROSS JOIN passages AS p ON p.document_id = d.id
     CROSS JOIN ${vectorTable(sql).of(collection)} AS v ON v.passage_id = p.id`,
    [list(read.map(({ id }) => id))]
  )
  return rows
    .filter(({ crc, id, vector }) => crc === null || crcOf(vector, id) === crc)
    .map((row): EmbeddedPassage => ({ ...toText(row), vector: toVector(row.vector) }))
})
