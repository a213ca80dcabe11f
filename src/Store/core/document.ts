import * as Option from "effect/Option"
import { type Asked, fromStored } from "../../entities/said.ts"
import { parsed } from "../../model/Damaged.ts"
import type { Metadata } from "../../model/Document.ts"
import type { Vector } from "../../model/Passage.ts"
import type { Hit, ReadFile } from "../../model/SearchResult.ts"
import type {
  DocumentPassages,
  DocumentSummary,
  ExportedDocument,
  ListedDocument,
  SampledPassage,
  StoredDocument
} from "../../model/Stored.ts"
import { type StoredAnswer, askedOf } from "./graph.ts"
import type { Known } from "./identity.ts"
import { type DocumentRow, type PassagePart, type PassageRow, join, toPassage } from "./passage.ts"

/** What is read of any document, as every store keeps it. */
export type StoredRow = Omit<DocumentRow, "collection_id" | "language" | "crc" | "head_crc">

export type KnownRow = Pick<DocumentRow, "id" | "doc_id" | "source" | "fingerprint" | "seen_run" | "line" | "passages">

export const toKnown = (row: KnownRow): Known => ({
  id: row.id,
  docId: row.doc_id,
  source: row.source ?? undefined,
  fingerprint: row.fingerprint,
  seenBy: row.seen_run ?? undefined,
  line: row.line ?? undefined,
  passages: row.passages
})

type NamedRow = Pick<DocumentRow, "doc_id" | "source" | "title">

const namesOf = ({ doc_id, source, title }: NamedRow) => ({
  docId: doc_id,
  source: source ?? undefined,
  title: title ?? undefined
})

export type SummaryRow = NamedRow & Pick<DocumentRow, "origin" | "passages">

export const toSummary = (row: SummaryRow): DocumentSummary => ({
  ...namesOf(row),
  origin: row.origin ?? undefined,
  passages: row.passages
})

export const toListed = (
  row: SummaryRow & Pick<DocumentRow, "id" | "indexed_at"> & { readonly characters: number }
): ListedDocument => ({
  ...toSummary(row),
  characters: row.characters,
  indexedAt: row.indexed_at,
  place: row.id
})

export const toSampled = (row: NamedRow & { readonly text: string }): SampledPassage => ({
  ...namesOf(row),
  text: row.text
})

/** The metadata in a row, stored as JSON. */
export const metadataOf = ({ doc_id, metadata }: Pick<DocumentRow, "doc_id" | "metadata">): Metadata =>
  parsed<Metadata>(metadata, () => `the metadata of document ${doc_id}`)

/** What a hit shows of its document. */
export const toShown = (row: NamedRow & Pick<DocumentRow, "metadata" | "indexed_at">): Hit["document"] => ({
  docId: row.doc_id,
  source: row.source ?? row.doc_id,
  ...(row.title === null ? {} : { title: row.title }),
  metadata: metadataOf(row),
  indexedAt: row.indexed_at
})

/** Most passages that are read at once with their vectors: as many as a large document has, few enough for memory. */
const mostAtOnce = 20_000

/** The documents whose passages are few enough to be read at once, the first ones before the others. */
export const fewEnough = <Document extends { readonly passages: number }>(
  documents: ReadonlyArray<Document>
): ReadonlyArray<Document> => {
  let left = mostAtOnce
  return documents.filter(({ passages }) => {
    if (passages > left) return false
    left -= passages
    return true
  })
}

/** A complete document, with its content put together. */
export const toStored = (
  row: NamedRow & Pick<DocumentRow, "metadata" | "tail" | "indexed_at" | "line">,
  passages: ReadonlyArray<PassagePart>,
  file?: ReadFile | undefined
): StoredDocument => ({
  ...namesOf(row),
  metadata: metadataOf(row),
  content: join(passages, row.tail),
  indexedAt: row.indexed_at,
  file,
  passages: passages.map((passage) => toPassage(passage, row.line))
})

/** Some of a document's passages. */
export const toSome = (
  row: NamedRow & Pick<DocumentRow, "passages" | "line">,
  passages: ReadonlyArray<PassageRow>
): DocumentPassages => ({
  ...namesOf(row),
  total: row.passages,
  passages: passages.map((passage) => toPassage(passage, row.line))
})

/** What a model said about a passage as it is now. */
const saidOf = (stored: StoredAnswer | undefined, passage: Asked): Pick<ExportedDocument["passages"][number], "said"> =>
  Option.match(
    Option.flatMap(Option.fromNullable(stored), ({ answer, asked, model }) =>
      asked === askedOf(passage) ? Option.map(fromStored(answer), (said) => ({ ...said, model })) : Option.none()
    ),
    { onNone: () => ({}), onSome: (said) => ({ said }) }
  )

/** A document in the form that `put` takes. */
export const toExported = (
  row: StoredRow,
  passages: ReadonlyArray<{
    readonly part: PassagePart
    readonly vector: Option.Option<Vector>
    readonly said?: StoredAnswer | undefined
  }>
): ExportedDocument => {
  const names = namesOf(row)
  return {
    ...names,
    derivedId: row.doc_id,
    metadata: metadataOf(row),
    fingerprint: row.fingerprint,
    origin: row.origin ?? undefined,
    line: row.line ?? undefined,
    content: join(
      passages.map(({ part }) => part),
      row.tail
    ),
    passages: passages.map(({ part, said, vector }) => {
      const passage = toPassage(part, null)
      return { ...passage, vector, ...saidOf(said, { ...passage, title: names.title }) }
    })
  }
}
