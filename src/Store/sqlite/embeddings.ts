import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import type { DocumentId } from "../../model/Document.ts"
import type { EmbeddedPassage } from "../../model/Stored.ts"
import { crcOf } from "../crc.ts"
import { toVector } from "./codes.ts"
import { headingOf } from "./passage.ts"
import { inList, list } from "./rows.ts"
import { tableOf } from "./vectors.ts"

/** Passages read at once: as many as a large document has, few enough for memory. */
const most = 20_000

interface Row {
  readonly id: number
  readonly title: string | null
  readonly heading: string
  readonly table_header: string | null
  readonly text: string
  readonly vector: Uint8Array
  readonly crc: number | null
}

/** Passages of these documents, and of one document per fingerprint, with their vectors, except damaged ones. */
export const embeddings = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
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
       ) FROM json_each(?) AS asked
     )`,
    [collection, list(of.docIds), collection, list(of.fingerprints)]
  )
  let left = most
  const read = documents.filter(({ passages }) => (passages <= left ? ((left -= passages), true) : false))
  if (read.length === 0) return []
  const rows = yield* sql.unsafe<Row>(
    `SELECT p.id, d.title, p.heading, p.table_header, p.text, v.vector, v.crc
     FROM json_each(?) AS asked CROSS JOIN documents AS d ON d.id = asked.value
     CROSS JOIN passages AS p ON p.document_id = d.id
     CROSS JOIN ${tableOf(collection)} AS v ON v.passage_id = p.id`,
    [list(read.map(({ id }) => id))]
  )
  return rows.flatMap(({ crc, heading, id, table_header, text, title, vector }): ReadonlyArray<EmbeddedPassage> =>
    crc !== null && crcOf(vector, id) !== crc
      ? []
      : [
          {
            title: title ?? undefined,
            heading: headingOf(heading),
            ...(table_header === null ? {} : { tableHeader: table_header }),
            text,
            vector: toVector(vector)
          }
        ]
  )
})
