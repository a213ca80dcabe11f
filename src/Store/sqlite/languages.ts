import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { documentLanguage } from "../../terms/detect.ts"
import { isLanguage, type Language } from "../../terms/languages.ts"
import { inList, list } from "./rows.ts"

/** The language in a row; English if none was detected. */
export const languageOf = (code: string | null): Language => (code !== null && isLanguage(code) ? code : "en")

interface Row {
  readonly document: number
  readonly text: string
}

/** Passages read to detect a document's language. */
const most = 64

/** Detects the languages of documents that have none yet, by their ids. */
export const tellLanguages = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, documents: ReadonlyArray<number>) {
  const told = new Map<number, Language>()
  if (documents.length === 0) return told
  const rows = yield* sql.unsafe<Row>(
    `SELECT d.id AS document, p.text FROM documents AS d
     CROSS JOIN passages AS p ON p.id >= d.first_passage AND p.id < d.first_passage + min(d.passages, ${most})
     WHERE d.id ${inList} ORDER BY p.id`,
    [list(documents)]
  )
  const texts = new Map<number, Array<Row>>()
  for (const row of rows) texts.set(row.document, [...(texts.get(row.document) ?? []), row])
  for (const [document, own] of texts) {
    const language = documentLanguage(own)
    told.set(document, language)
    yield* sql.unsafe("UPDATE documents SET language = ? WHERE id = ?", [language, document])
  }
  return told
})
