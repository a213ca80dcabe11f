import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { searchedHeading, searchedTitle } from "../../entities/mention.ts"
import * as postings from "../../postings/Postings.ts"
import type { KeywordRow } from "../../postings/build.ts"
import * as merging from "../../postings/mergeStep.ts"
import * as verifying from "../../postings/verify.ts"
import { documentLanguage } from "../../terms/detect.ts"
import { type Language, languageNamed } from "../../terms/languages.ts"
import { Cancelled } from "./Cancelled.ts"
import { type DocumentRow, type TextRow, headingOf } from "../core/passage.ts"
import { type Sql, inList, list, first } from "./rows.ts"
import { segmentsOn } from "./segments.ts"

export type { KeywordRow }

type Search = Parameters<typeof postings.search<SqlError>>

/** The best passages of collections by BM25; see `postings.search`. */
export const search = (
  sql: Sql,
  collections: ReadonlyArray<number>,
  query: string,
  options: Omit<Search[3], "isCancelled">
) =>
  Effect.flatMap(Cancelled, (isCancelled) =>
    Effect.map(postings.search(segmentsOn(sql), collections, query, { ...options, isCancelled }), ({ found }) => found)
  )

/** Adds passages, in order of their ids, which are greater than all stored ids. */
export const insert = (sql: Sql, collection: number, rows: ReadonlyArray<KeywordRow>) =>
  postings.insert(segmentsOn(sql), collection, rows)

/** Does a little of the due merging, in the caller's transaction, which holds the write lock. */
export const mergeStep = (sql: Sql, options?: merging.StepOptions) => merging.mergeStep(segmentsOn(sql), options)

/** The disagreements between a collection's postings and its passages, one sentence each. Run it in one snapshot. */
export const verify = Effect.fnUntraced(function* (
  sql: Sql,
  collection: number,
  read: { readonly pause?: Effect.Effect<void>; readonly through?: (passages: number) => Effect.Effect<void> } = {}
) {
  let count = 0
  return yield* verifying.verify(segmentsOn(sql), collection, {
    passages: yield* first<number>(sql, "SELECT passages FROM collections WHERE id = ?", [collection]),
    pause: read.pause,
    after: (passage, most) =>
      Effect.map(
        sql.unsafe<SearchedRow>(
          `SELECT ${searchedColumns}
           FROM passages AS p CROSS JOIN documents AS d ON d.id = p.document_id
           WHERE d.collection_id = ? AND p.id > ? ORDER BY p.id LIMIT ?`,
          [collection, passage, most]
        ),
        (rows) => rows.map(toKeywordRow)
      ).pipe(Effect.tap((rows) => read.through?.((count += rows.length)) ?? Effect.void))
  })
})

/** The columns of a passage and its document in which words are searched. */
export interface SearchedRow extends TextRow, Pick<DocumentRow, "source" | "language"> {}

/** Its columns, from `passages AS p` and `documents AS d`. */
export const searchedColumns = "p.id, d.title, d.source, p.heading, p.table_header, p.text, d.language"

/** The passage in the form from which its terms are made. */
export const toKeywordRow = ({
  heading,
  id,
  language,
  source,
  table_header,
  text,
  title
}: SearchedRow): KeywordRow => ({
  id,
  title: searchedTitle(title, source),
  heading: searchedHeading({ heading: headingOf(heading), tableHeader: table_header ?? undefined }),
  text,
  language: languageNamed(language)
})

interface TextOfDocument {
  readonly document: number
  readonly text: string
}

/** Passages that decide the language of a document that was stored before languages were. */
export const mostDeciding = 64

/** Detects the languages of documents that have none yet, by their ids. */
export const detectLanguages = Effect.fnUntraced(function* (sql: Sql, documents: ReadonlyArray<number>) {
  const detected = new Map<number, Language>()
  if (documents.length === 0) return detected
  const rows = yield* sql.unsafe<TextOfDocument>(
    `SELECT d.id AS document, p.text FROM documents AS d
     CROSS JOIN passages AS p ON p.id >= d.first_passage AND p.id < d.first_passage + d.passages AND p.id < d.first_passage + ${mostDeciding}
     WHERE d.id ${inList} ORDER BY p.id`,
    [list(documents)]
  )
  const texts = new Map<number, Array<TextOfDocument>>()
  for (const row of rows) texts.set(row.document, [...(texts.get(row.document) ?? []), row])
  for (const [document, own] of texts) {
    const language = documentLanguage(own)
    detected.set(document, language)
    yield* sql.unsafe("UPDATE documents SET language = ? WHERE id = ?", [language, document])
  }
  return detected
})
