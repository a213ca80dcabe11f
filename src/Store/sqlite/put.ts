import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Collection } from "../../model/Collection.ts"
import type { FileChange } from "../../model/File.ts"
import type { PreparedDocument, PutOutcome } from "../../model/Stored.ts"
import { segmentRows } from "../../postings/Postings.ts"
import { searchedHeading, searchedTitle } from "../../entities/naming.ts"
import type { Language } from "../../terms/languages.ts"
import * as collections from "./collections.ts"
import { cut } from "./content.ts"
import { documentCrc, headCrc, passageCrc, type PassagePart } from "./documentCrc.ts"
import { remove } from "./documents.ts"
import * as files from "./files.ts"
import { metadataRows } from "./filter.ts"
import type { Answers } from "./graph/answers.ts"
import * as answers from "./graph/answers.ts"
import * as graph from "./graph/edges.ts"
import * as keyword from "./keyword.ts"
import { languageOf } from "./languages.ts"
import { type Known, resolve, storedId } from "./references.ts"
import { insertRows } from "./rows.ts"
import * as vectors from "./vectors.ts"

/**
 * Space in the file for deleting on a full disk, which frees space only in the end: enough for the documents of an index
 * of some hundred megabytes.
 */
const keepReserve = `INSERT INTO reserve (id, body) SELECT 1, zeroblob(${256 * 1024})
  WHERE NOT EXISTS (SELECT 1 FROM reserve)`

/** Bitmaps and codes identify passages by 32-bit numbers. */
const mostPassages = 2 ** 32

/** The next free row id of a table. The caller holds the write lock, so nobody else gets it. */
const nextId = (sql: SqlClient.SqlClient, table: string): Effect.Effect<number, SqlError> =>
  Effect.map(
    sql.unsafe<{ readonly seq: number }>("SELECT seq FROM sqlite_sequence WHERE name = ?", [table]),
    ([row]) => (row?.seq ?? 0) + 1
  )

const documentColumns = [
  "id",
  "collection_id",
  "doc_id",
  "source",
  "title",
  "metadata",
  "fingerprint",
  "origin",
  "line",
  "tail",
  "passages",
  "first_passage",
  "seen_run",
  "indexed_at",
  "language",
  "crc",
  "head_crc"
]

const passageColumns = [
  "id",
  "document_id",
  "ordinal",
  "lead",
  "text",
  "heading",
  "start",
  '"end"',
  "start_line",
  "end_line",
  "locator",
  "table_header",
  "crc"
]

type PreparedPassage = PreparedDocument["passages"][number]

/** Rows for every table, as they are collected. */
interface Rows {
  readonly documents: Array<ReadonlyArray<unknown>>
  readonly metadata: Array<ReadonlyArray<unknown>>
  readonly passages: Array<ReadonlyArray<unknown>>
  readonly keyword: Array<keyword.KeywordRow>
  readonly graph: Array<graph.GraphRow>
  readonly vectors: Array<vectors.Embedded>
}

const noRows = (): Rows => ({ documents: [], metadata: [], passages: [], keyword: [], graph: [], vectors: [] })

const insertAll = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: number,
  rows: Rows,
  inGraph: boolean,
  said: Answers
) {
  yield* insertRows(sql, "documents", documentColumns, rows.documents)
  yield* insertRows(sql, "metadata_values", ["key", "kind", "value", "document_id"], rows.metadata)
  yield* insertRows(sql, "passages", passageColumns, rows.passages)
  yield* keyword.insert(sql, collection, rows.keyword)
  yield* vectors.insert(sql, collection, rows.vectors)
  if (inGraph) yield* graph.insert(sql, collection, rows.graph, said)
})

/** A passage in the form of its row. */
const partOf = (
  { end, endLine, heading, locator, start, startLine, tableHeader, text }: PreparedPassage,
  lead: string,
  ordinal: number
): PassagePart => ({
  ordinal,
  lead,
  text,
  heading: JSON.stringify(heading),
  start,
  end,
  start_line: startLine,
  end_line: endLine,
  locator: locator === undefined ? null : JSON.stringify(locator),
  table_header: tableHeader ?? null
})

function* partsOf(passages: ReadonlyArray<PreparedPassage>, leads: ReadonlyArray<string>): Generator<PassagePart> {
  for (const [ordinal, passage] of passages.entries()) yield partOf(passage, leads[ordinal]!, ordinal)
}

/** A document being stored. */
interface Storing {
  readonly document: PreparedDocument
  readonly id: number
  readonly firstPassage: number
  readonly leads: ReadonlyArray<string>
  readonly language: Language
}

/** Collects the rows of a document's passages from one to another. A function of its own is compiled sooner than `put`. */
const addPassages = (
  rows: Rows,
  { document, firstPassage, id: documentId, language, leads }: Storing,
  from: number,
  to: number
): void => {
  const { source, title } = document
  const searched = searchedTitle(title, source)
  for (let ordinal = from; ordinal < to; ordinal++) {
    const id = firstPassage + ordinal
    const passage = document.passages[ordinal]!
    const part = partOf(passage, leads[ordinal]!, ordinal)
    rows.passages.push([
      id,
      documentId,
      ordinal,
      part.lead,
      part.text,
      part.heading,
      part.start,
      part.end,
      part.start_line,
      part.end_line,
      part.locator,
      part.table_header,
      passageCrc({ ...part, id, document_id: documentId })
    ])
    const { heading, text, vector } = passage
    rows.keyword.push({ id, title: searched, heading: searchedHeading(passage), text, language })
    rows.graph.push({ id, ordinal, text, heading, title, source })
    rows.vectors.push({ id, vector })
  }
}

/** Adds or replaces documents, in the caller's transaction, one segment of passages at a time. */
export const put = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  collection: Collection,
  documents: ReadonlyArray<PreparedDocument>,
  indexedAt: number,
  {
    files: changes = [],
    inGraph = true,
    seenBy
  }: {
    readonly seenBy?: number | undefined
    readonly files?: ReadonlyArray<FileChange> | undefined
    /** Whether the passages are added to the graph. */
    readonly inGraph?: boolean | undefined
  } = {}
) {
  const found = yield* resolve(sql, collection.id, documents)
  const replaced = found.flatMap((known) => Option.toArray(Option.map(known, (stored: Known) => stored.id)))
  const said = new Map(yield* answers.ofDocuments(sql, inGraph ? replaced : []))
  for (const { passages, title } of inGraph ? documents : []) answers.carry(said, title, passages)
  yield* remove(sql, collection.id, replaced, { paths: new Set(changes.map(({ path }) => path)) })
  let documentId = yield* nextId(sql, "documents")
  let passageId = yield* nextId(sql, "passages")
  const passages = documents.reduce((sum, document) => sum + document.passages.length, 0)
  if (passageId + passages > mostPassages) {
    return yield* Effect.dieMessage("This index has used up all numbers of passages: index into another file")
  }
  let rows = noRows()
  const flush = Effect.suspend(() => {
    const full = rows
    rows = noRows()
    return insertAll(sql, collection.id, full, inGraph, said)
  })
  const outcomes: Array<PutOutcome> = []
  for (const [index, document] of documents.entries()) {
    const stored = found[index] ?? Option.none()
    const docId = storedId(document, stored)
    const { leads, tail } = cut(document.content, document.passages)
    const metadata = JSON.stringify(document.metadata)
    const language = languageOf(document.language)
    rows.documents.push([
      documentId,
      collection.id,
      docId,
      document.source ?? null,
      document.title ?? null,
      metadata,
      document.fingerprint,
      document.origin ?? null,
      document.line ?? null,
      tail,
      document.passages.length,
      document.passages.length === 0 ? null : passageId,
      greatest(seenBy, stored) ?? null,
      indexedAt,
      language,
      documentCrc(
        {
          doc_id: docId,
          title: document.title ?? null,
          metadata,
          fingerprint: document.fingerprint,
          tail,
          indexed_at: indexedAt
        },
        partsOf(document.passages, leads)
      ),
      headCrc({
        id: documentId,
        doc_id: docId,
        source: document.source ?? null,
        title: document.title ?? null,
        metadata
      })
    ])
    for (const row of metadataRows(document.metadata)) rows.metadata.push([...row, documentId])
    const storing = { document, id: documentId, firstPassage: passageId, leads, language }
    for (let from = 0; from < document.passages.length;) {
      const to = Math.min(document.passages.length, from + segmentRows - rows.passages.length)
      addPassages(rows, storing, from, to)
      from = to
      if (rows.passages.length === segmentRows) yield* flush
    }
    passageId += document.passages.length
    outcomes.push({
      docId,
      status: Option.isSome(stored) ? "updated" : "created",
      passages: document.passages.length
    })
    documentId++
  }
  yield* flush
  yield* collections.count(sql, collection.id, { documents: documents.length, passages })
  yield* sql.unsafe(keepReserve)
  const origins = new Set(documents.flatMap(({ origin }) => (origin === undefined ? [] : [origin])))
  for (const { path } of changes) origins.delete(path)
  yield* files.unfinished(sql, collection.id, [...origins], indexedAt)
  yield* files.record(sql, collection.id, changes, { run: seenBy ?? 0, now: indexedAt })
  return outcomes
})

/** The later of two runs, so that a document's last run never goes back, in whatever order runs end. */
const greatest = (seenBy: number | undefined, stored: Option.Option<Known>): number | undefined =>
  seenBy === undefined
    ? undefined
    : Math.max(seenBy, Option.getOrUndefined(Option.flatMapNullable(stored, (known) => known.seenBy)) ?? 0)
