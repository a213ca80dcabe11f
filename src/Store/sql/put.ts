import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { CollectionSummary } from "../../model/Collection.ts"
import type { PreparedDocument, PutOptions, PutOutcome, Embedded } from "../../model/Stored.ts"
import { segmentRows } from "../../postings/Postings.ts"
import { type Mention, searchedHeading, searchedTitle } from "../../entities/mention.ts"
import { languageNamed } from "../../terms/languages.ts"
import type { Language } from "../../terms/languages.ts"
import * as collections from "./collections.ts"
import * as files from "./files.ts"
import * as graph from "./graph/edges.ts"
import { dialectOf } from "./dialect.ts"
import { type Sql, insertRows } from "./rows.ts"
import { type PassagePart, checksums, headCrc, partsOf } from "../core/passage.ts"
import { type Known, storedId } from "../core/identity.ts"
import { remove, resolve } from "./documents.ts"
import { metadataRows } from "./filter.ts"
import * as vectors from "./vectors.ts"
import * as keyword from "./keyword.ts"

/** Bitmaps and codes identify passages by 32-bit numbers. */
const mostPassages = 2 ** 32

/** Rows for every table, as they are collected. */
const noRows = () => ({
  documents: [] as Array<object>,
  metadata: [] as Array<object>,
  passages: [] as Array<object>,
  keyword: [] as Array<keyword.KeywordRow>,
  graph: [] as Array<graph.GraphRow>,
  vectors: [] as Array<Embedded>
})

/** Collects the rows of some of a document's passages. A function of its own is compiled sooner than `put`. */
const addPassages = (
  rows: ReturnType<typeof noRows>,
  { passages, source, title }: PreparedDocument,
  parts: ReadonlyArray<PassagePart>,
  crcs: ReadonlyArray<number>,
  {
    documentId: document_id,
    firstPassage,
    from,
    language,
    mentions,
    to
  }: Record<"documentId" | "firstPassage" | "from" | "to", number> & {
    readonly language: Language
    readonly mentions: ReadonlyArray<ReadonlyArray<Mention>>
  }
): void => {
  const searched = searchedTitle(title, source)
  for (let ordinal = from; ordinal < to; ordinal++) {
    const id = firstPassage + ordinal
    const passage = passages[ordinal]!
    rows.passages.push({ id, document_id, ...parts[ordinal]!, crc: crcs[ordinal]! })
    const { heading, text, vector } = passage
    rows.keyword.push({ id, title: searched, heading: searchedHeading(passage), text, language })
    rows.graph.push({ id, ordinal, text, heading, title, source, mentions: mentions[ordinal] })
    rows.vectors.push({ id, vector })
  }
}

/** Adds or replaces documents, in the caller's transaction, one segment of passages at a time. */
export const put = Effect.fnUntraced(function* (
  sql: Sql,
  collection: CollectionSummary,
  documents: ReadonlyArray<PreparedDocument>,
  indexedAt: number,
  /** With whether the passages are added to the graph. */
  { files: changes = [], inGraph, seenBy }: PutOptions & { readonly inGraph: boolean }
) {
  const found = yield* resolve(sql, collection.id, documents)
  const replaced = found.flatMap((known) => Option.toArray(Option.map(known, (stored: Known) => stored.id)))
  const said = yield* graph.carriedBy(sql, replaced, documents)
  yield* remove(sql, collection.id, replaced, { paths: new Set(changes.map(({ path }) => path)) })
  const dialect = dialectOf(sql)
  const passages = documents.reduce((sum, document) => sum + document.passages.length, 0)
  let documentId = yield* dialect.nextIds(sql, "documents", documents.length)
  let passageId = yield* dialect.nextIds(sql, "passages", passages)
  if (passageId + passages > mostPassages) {
    return yield* Effect.dieMessage("This index has used up all numbers of passages: index into another file")
  }
  let rows = noRows()
  const flush = Effect.suspend(() => {
    const full = rows
    rows = noRows()
    return Effect.gen(function* () {
      yield* insertRows(sql, "documents", full.documents)
      yield* insertRows(sql, "metadata_values", full.metadata)
      yield* insertRows(sql, "passages", full.passages)
      yield* keyword.insert(sql, collection.id, full.keyword)
      yield* vectors.insert(sql, collection.id, full.vectors)
      // What a model said is kept for a graph to come.
      yield* inGraph
        ? graph.insert(sql, collection.id, full.graph, said, collection.passages)
        : graph.saidAbout(sql, full.graph, said)
    })
  })
  const outcomes: Array<PutOutcome> = []
  for (const [index, document] of documents.entries()) {
    const stored = found[index] ?? Option.none()
    const { parts, tail } = partsOf(document)
    const language = languageNamed(document.language)
    const row = {
      id: documentId,
      collection_id: collection.id,
      doc_id: storedId(document, stored),
      source: document.source ?? null,
      title: document.title ?? null,
      metadata: JSON.stringify(document.metadata),
      fingerprint: document.fingerprint,
      origin: document.origin ?? null,
      line: document.line ?? null,
      tail,
      passages: parts.length,
      first_passage: parts.length === 0 ? null : passageId,
      seen_run: greatest(seenBy, stored) ?? null,
      indexed_at: indexedAt,
      language
    }
    const crcs = checksums(row, parts, { documentId, firstPassage: passageId })
    rows.documents.push({ ...row, crc: crcs.crc, head_crc: headCrc(row) })
    for (const value of metadataRows(dialect, document.metadata)) {
      rows.metadata.push({ ...value, document_id: documentId })
    }
    const mentions =
      document.mentions === undefined ? [] : (JSON.parse(document.mentions) as ReadonlyArray<ReadonlyArray<Mention>>)
    for (let from = 0; from < parts.length;) {
      const to = Math.min(parts.length, from + segmentRows - rows.passages.length)
      const which = { documentId, firstPassage: passageId, from, language, mentions, to }
      addPassages(rows, document, parts, crcs.passages, which)
      from = to
      if (rows.passages.length === segmentRows) yield* flush
    }
    passageId += parts.length
    outcomes.push({
      docId: row.doc_id,
      status: Option.isSome(stored) ? "updated" : "created",
      passages: parts.length
    })
    documentId++
  }
  yield* flush
  yield* collections.addToCounts(sql, collection.id, { documents: documents.length, passages })
  if (dialect.reserve !== undefined) yield* sql.unsafe(dialect.reserve)
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
