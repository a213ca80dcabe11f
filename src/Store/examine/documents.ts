import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import { rising } from "../../model/Damaged.ts"
import type { Told } from "../../Store.ts"
import { documentLanguage } from "../../terms/detect.ts"
import { dialectOf } from "../sql/dialect.ts"
import { metadataRows } from "../sql/filter.ts"
import { mostDeciding } from "../sql/keyword.ts"
import { type CheckedRow, type DocumentRow, documentCrc, headCrc, headingOf, passageCrc } from "../core/passage.ts"
import { type Sql, inList, list, column, only } from "../sql/rows.ts"
import { isPresent, hiddenCollections } from "../sql/tables.ts"
import { mending, orOk, warn, wrongly } from "./findings.ts"

const page = 50

/** Whether the passages match the document's count, and follow each other without a gap. */
const isInOrder = (row: DocumentRow, passages: ReadonlyArray<CheckedRow>): boolean =>
  passages.length === row.passages &&
  (passages[0]?.id ?? null) === row.first_passage &&
  passages.every(({ id, ordinal }, place) => ordinal === place && id === row.first_passage! + place)

/** Whether spans match the texts, and texts and leads add up to the content. */
const isWhole = (passages: ReadonlyArray<CheckedRow>): boolean => {
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

const parsedJson = Option.liftThrowable((json: string): unknown => JSON.parse(json))

const metadataIn = (json: string) => Option.filter(parsedJson(json), Predicate.isRecord)

const hasHeading = ({ heading }: CheckedRow): boolean => Option.isSome(Option.liftThrowable(headingOf)(heading))

/** A row of metadata as a text, whatever the order of its columns. */
const identity = (row: object): string =>
  JSON.stringify(Object.entries(row).toSorted(([one], [other]) => (one < other ? -1 : 1)))

/** Whether texts, title, headings, spans, lines and metadata are as they were stored. */
const isSame = (row: DocumentRow, passages: ReadonlyArray<CheckedRow>): boolean =>
  Option.isSome(metadataIn(row.metadata)) &&
  passages.every(hasHeading) &&
  isWhole(passages) &&
  (row.crc === null || documentCrc(row, passages) === row.crc) &&
  (row.head_crc === null || headCrc(row) === row.head_crc) &&
  passages.every((passage) => passage.crc === null || passageCrc(passage) === passage.crc)

/** Whether the language of a document is what its passages decide, or undecided. */
const isInLanguage = ({ language }: DocumentRow, passages: ReadonlyArray<CheckedRow>): boolean =>
  language === null ||
  language === documentLanguage(passages) ||
  language === documentLanguage(passages.slice(0, mostDeciding))

/** Whether a document is complete, in its place and as it was stored. */
export const isIntact = (row: DocumentRow, passages: ReadonlyArray<CheckedRow>): boolean =>
  isInOrder(row, passages) && isSame(row, passages)

/** Every document and passage of the index: counts, texts, spans, metadata. */
export const documents = Effect.fnUntraced(function* (sql: Sql, told: Told) {
  const count = yield* only<number>(
    sql,
    `SELECT coalesce(sum(documents), 0) AS count FROM collections WHERE ${isPresent}`
  )
  const altered: Array<DocumentRow> = []
  const misplaced: Array<DocumentRow> = []
  const unlisted: Array<DocumentRow> = []
  const mistaken: Array<DocumentRow> = []
  let [unprotected, total] = [0, 0]
  for (let after = 0; ;) {
    const rows = yield* sql.unsafe<DocumentRow>(
      `SELECT * FROM documents NOT INDEXED
       WHERE id > ? AND collection_id NOT IN (${hiddenCollections}) ORDER BY id LIMIT ${page}`,
      [after]
    )
    const last = rising(rows, after, "documents").at(-1)
    if (last === undefined) break
    after = last.id
    yield* told("documents", { done: total, total: count })
    const ids = list(rows.map(({ id }) => id))
    const passages = new Map<number, Array<CheckedRow>>(rows.map(({ id }) => [id, []]))
    for (const row of yield* sql.unsafe<CheckedRow>(
      `SELECT * FROM passages WHERE document_id ${inList} ORDER BY document_id, ordinal`,
      [ids]
    )) {
      passages.get(row.document_id)!.push(row)
    }
    const values = new Map<number, Set<string>>(rows.map(({ id }) => [id, new Set()]))
    for (const { document_id, ...value } of yield* sql.unsafe<{ readonly document_id: number }>(
      `SELECT * FROM metadata_values WHERE document_id ${inList}`,
      [ids]
    )) {
      values.get(document_id)!.add(identity(value))
    }
    for (const row of rows) {
      total++
      const own = passages.get(row.id)!
      const metadata = Option.getOrUndefined(metadataIn(row.metadata))
      if (!isSame(row, own)) altered.push(row)
      if (row.crc === null) unprotected++
      if (!isInOrder(row, own)) misplaced.push(row)
      if (!isInLanguage(row, own)) mistaken.push(row)
      const wanted = metadataRows(dialectOf(sql), metadata ?? {}).map(identity)
      const held = values.get(row.id)!
      if (metadata !== undefined && (wanted.length !== held.size || !wanted.every((value) => held.has(value)))) {
        unlisted.push(row)
      }
    }
  }
  const miscounted = yield* column<string>(
    sql,
    `SELECT name AS what FROM collections AS c WHERE ${isPresent} AND (
       documents <> (SELECT count(*) FROM documents WHERE collection_id = c.id) OR passages <> (
         SELECT count(*) FROM passages AS p JOIN documents AS d ON d.id = p.document_id WHERE d.collection_id = c.id))`
  )
  const names = (rows: ReadonlyArray<DocumentRow>) => rows.map(({ doc_id, source }) => source ?? doc_id)
  const cures = [...new Set(mistaken.map((row) => row.collection_id))].map(
    (collection) => ({ _tag: "Rebuild", kind: "postings", collection }) as const
  )
  return [
    ...orOk(
      [
        ...wrongly(
          "texts",
          `${altered.length} documents differ from what was stored`,
          names(altered),
          { _tag: "Replace", documents: altered.map(({ id }) => id) },
          "run `clew doctor --fix` and index their files again"
        ),
        ...wrongly("passages", "missing or misplaced passages", names(misplaced), mending),
        ...wrongly("metadata", "filters use metadata that differ from the documents'", names(unlisted), mending),
        ...cures.flatMap((cure) =>
          wrongly(
            "languages",
            "documents are recorded in another language than their text's",
            names(mistaken.filter((row) => row.collection_id === cure.collection)),
            cure
          )
        ),
        ...wrongly("counters", "wrong counts of collections", miscounted, mending)
      ],
      "documents",
      `${total} documents, their passages, spans and metadata are consistent`
    ),
    ...(unprotected === 0
      ? []
      : [
          warn(
            "checksums",
            `${unprotected} documents were stored by a version without checksums: doctor cannot notice a changed letter in them`
          )
        ])
  ]
})
