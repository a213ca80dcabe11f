import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { rising } from "../../model/Damaged.ts"
import type { Finding, Told } from "../../upkeep/Examiner.ts"
import { type CheckedRow, documentCrc, headCrc, passageCrc } from "../sqlite/documentCrc.ts"
import { metadataRows } from "../sqlite/filter.ts"
import { headingOf } from "../sqlite/passage.ts"
import { documentLanguage } from "../../terms/detect.ts"
import { inList, list } from "../sqlite/rows.ts"
import { isPresent, leaving } from "../sqlite/sweep.ts"
import { fail, ok, some, warn } from "./finding.ts"

/** A document's row, as this check reads it. */
export interface DocumentRow {
  readonly id: number
  readonly collection_id: number
  readonly doc_id: string
  readonly source: string | null
  readonly title: string | null
  readonly metadata: string
  readonly fingerprint: string
  readonly tail: string
  readonly indexed_at: number
  readonly passages: number
  readonly first_passage: number | null
  readonly crc: number | null
  readonly head_crc: number | null
  readonly language: string | null
}

/** A passage's row, as this check reads it. */
export type PassageRow = CheckedRow

export const passageColumns =
  'id, document_id, ordinal, lead, text, heading, start, "end", start_line, end_line, locator, table_header, crc'

/** Documents read at a time. */
const page = 50

/** Whether the passages match the document's count, and follow each other without a gap. */
const isInOrder = (row: DocumentRow, passages: ReadonlyArray<PassageRow>): boolean =>
  passages.length === row.passages &&
  (passages[0]?.id ?? null) === row.first_passage &&
  passages.every(({ id, ordinal }, place) => ordinal === place && id === row.first_passage! + place)

/** Whether spans match the texts, and texts and leads add up to the content. */
const isWhole = (passages: ReadonlyArray<PassageRow>): boolean => {
  let covered = 0
  return passages.every(({ end, end_line, lead, start, start_line, text }) => {
    const fits =
      end - start === text.length &&
      lead.length === Math.max(0, start - covered) &&
      start_line >= 1 &&
      end_line >= start_line
    covered = Math.max(covered, end)
    return fits
  })
}

const attempt = <A>(use: () => A): A | undefined => {
  try {
    return use()
  } catch {
    return undefined
  }
}

const metadataOf = (json: string) =>
  attempt(() => {
    const value: unknown = JSON.parse(json)
    return value !== null && typeof value === "object" && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  })

/** Whether texts, title, headings, spans, lines and metadata are as they were stored. */
const isSame = (row: DocumentRow, passages: ReadonlyArray<PassageRow>): boolean =>
  metadataOf(row.metadata) !== undefined &&
  passages.every(({ heading }) => attempt(() => headingOf(heading)) !== undefined) &&
  isWhole(passages) &&
  (row.crc === null || documentCrc(row, passages) === row.crc) &&
  (row.head_crc === null || headCrc(row) === row.head_crc) &&
  passages.every((passage) => passage.crc === null || passageCrc(passage) === passage.crc)

/** Passages that decide a document's language if it was stored before languages were. */
const deciding = 64

/** Whether the language of a document is what its passages decide, or undecided. */
const isInLanguage = ({ language }: DocumentRow, passages: ReadonlyArray<PassageRow>): boolean =>
  language === null ||
  language === documentLanguage(passages) ||
  language === documentLanguage(passages.slice(0, deciding))

/** Whether a document is complete, in its place and as it was stored. */
export const isIntact = (row: DocumentRow, passages: ReadonlyArray<PassageRow>): boolean =>
  isInOrder(row, passages) && isSame(row, passages)

/** Every document and passage of the index: counts, texts, spans, metadata. */
export const documents = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, told: Told) {
  const [counted] = yield* sql.unsafe<{ readonly count: number }>(
    `SELECT coalesce(sum(documents), 0) AS count FROM collections WHERE ${isPresent}`
  )
  const altered: Array<DocumentRow> = []
  const misplaced: Array<string> = []
  const listed: Array<string> = []
  const mistaken: Array<DocumentRow> = []
  const miscounted: Array<string> = []
  let unprotected = 0
  let total = 0
  for (let after = 0; ;) {
    const rows = yield* sql.unsafe<DocumentRow>(
      `SELECT id, collection_id, doc_id, source, title, metadata, fingerprint, tail, passages, first_passage, indexed_at, crc, head_crc, language
       FROM documents NOT INDEXED WHERE id > ? AND collection_id NOT IN (${leaving}) ORDER BY id LIMIT ${page}`,
      [after]
    )
    const last = rising(rows, after, "documents").at(-1)
    if (last === undefined) break
    after = last.id
    yield* told("documents", { done: total, total: counted!.count })
    const ids = list(rows.map(({ id }) => id))
    const passages = new Map<number, Array<PassageRow>>(rows.map(({ id }) => [id, []]))
    for (const row of yield* sql.unsafe<PassageRow>(
      `SELECT ${passageColumns}
       FROM passages WHERE document_id ${inList} ORDER BY document_id, ordinal`,
      [ids]
    )) {
      passages.get(row.document_id)!.push(row)
    }
    const values = new Map<number, Set<string>>(rows.map(({ id }) => [id, new Set()]))
    for (const { document_id, key, kind, value } of yield* sql.unsafe<{
      readonly document_id: number
      readonly key: string
      readonly kind: string
      readonly value: unknown
    }>(`SELECT document_id, key, kind, value FROM metadata_values WHERE document_id ${inList}`, [ids])) {
      values.get(document_id)!.add(JSON.stringify([key, kind, value]))
    }
    for (const row of rows) {
      total++
      const name = row.source ?? row.doc_id
      const own = passages.get(row.id)!
      const metadata = metadataOf(row.metadata)
      if (!isSame(row, own)) altered.push(row)
      if (row.crc === null) unprotected++
      if (!isInOrder(row, own)) misplaced.push(name)
      if (!isInLanguage(row, own)) mistaken.push(row)
      const wanted = metadataRows(metadata ?? {}).map((value) => JSON.stringify(value))
      const held = values.get(row.id)!
      if (metadata !== undefined && (wanted.length !== held.size || !wanted.every((value) => held.has(value)))) {
        listed.push(name)
      }
    }
  }
  for (const { name } of yield* sql.unsafe<{ readonly name: string }>(
    `SELECT name FROM collections AS c WHERE ${isPresent} AND (documents <>
       (SELECT count(*) FROM documents WHERE collection_id = c.id) OR passages <> (SELECT count(*) FROM passages AS p JOIN documents AS d ON d.id = p.document_id
                       WHERE d.collection_id = c.id))`
  )) {
    miscounted.push(name)
  }
  const rows = { _tag: "Rows" } as const
  const findings: Array<Finding> = []
  if (altered.length > 0) {
    findings.push(
      fail(
        "texts",
        `${altered.length} documents differ from what was stored: ${some(altered.map(({ doc_id, source }) => source ?? doc_id))}`,
        "run `clew doctor --fix` and index their files again",
        { _tag: "Replace", documents: altered.map(({ id }) => id) }
      )
    )
  }
  if (misplaced.length > 0)
    findings.push(fail("passages", `missing or misplaced passages: ${some(misplaced)}`, undefined, rows))
  if (listed.length > 0)
    findings.push(
      fail("metadata", `filters use metadata that differ from the documents': ${some(listed)}`, undefined, rows)
    )
  if (mistaken.length > 0) {
    findings.push(
      fail(
        "languages",
        `documents are recorded in another language than their text's: ${some(mistaken.map(({ doc_id, source }) => source ?? doc_id))}`,
        undefined,
        { _tag: "Languages", documents: mistaken.map(({ id }) => id) }
      )
    )
  }
  if (miscounted.length > 0)
    findings.push(fail("counters", `wrong counts of collections: ${some(miscounted)}`, undefined, rows))
  if (unprotected > 0) {
    findings.push(
      warn(
        "checksums",
        `${unprotected} documents were stored by a version without checksums: doctor cannot notice a changed letter in them`
      )
    )
  }
  return findings.some(({ status }) => status === "fail")
    ? findings
    : [ok("documents", `${total} documents, their passages, spans and metadata are consistent`), ...findings]
})
