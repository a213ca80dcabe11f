import * as Schema from "effect/Schema"
import { crc32, crcOf } from "../crc.ts"
import { damaged, parsed } from "../../model/Damaged.ts"
import { Locator } from "../../model/Locator.ts"
import type { DocumentId } from "../../model/Document.ts"
import type { Passage } from "../../model/Passage.ts"
import type { PreparedDocument, Unembedded } from "../../model/Stored.ts"

/** A document's columns. */
export interface DocumentRow {
  readonly id: number
  readonly collection_id: number
  readonly doc_id: DocumentId
  readonly source: string | null
  readonly title: string | null
  readonly metadata: string
  readonly fingerprint: string
  readonly origin: string | null
  readonly line: number | null
  readonly tail: string
  readonly passages: number
  readonly first_passage: number | null
  readonly seen_run: number | null
  readonly indexed_at: number
  readonly language: string | null
  readonly crc: number | null
  readonly head_crc: number | null
}

/** A passage's columns. */
export interface PassageRow {
  readonly ordinal: number
  readonly text: string
  readonly heading: string
  readonly start: number
  readonly end: number
  readonly start_line: number
  readonly end_line: number
  readonly locator: string | null
  readonly table_header: string | null
}

const isLocator = Schema.is(Locator)

/** The locator in a row, stored as JSON. */
export const locatorOf = (json: string): Locator => {
  const locator = parsed<unknown>(json, () => "the locator of a passage")
  return isLocator(locator) ? locator : damaged("the locator of a passage is invalid")
}

/** The headings above a passage. */
export const headingOf = (json: string): ReadonlyArray<string> => {
  const heading = parsed<unknown>(json, () => "the heading of a passage")
  return Array.isArray(heading) && heading.every((part) => typeof part === "string")
    ? heading
    : damaged("the heading of a passage is not a list of strings")
}

/** What is embedded of a passage. */
export interface TextRow
  extends Pick<NumberedPart, "id" | "heading" | "table_header" | "text">, Pick<DocumentRow, "title"> {}

export const toText = (row: Omit<TextRow, "id">): Omit<Unembedded, "id"> => ({
  title: row.title ?? undefined,
  heading: headingOf(row.heading),
  ...(row.table_header === null ? {} : { tableHeader: row.table_header }),
  text: row.text
})

/** `line` is the document's if all of it is on one line of its file: every passage is cited by that line. */
export const toPassage = (row: PassageRow, line: number | null): Passage & { readonly ordinal: number } => ({
  ordinal: row.ordinal,
  text: row.text,
  heading: headingOf(row.heading),
  start: row.start,
  end: row.end,
  startLine: line ?? row.start_line,
  endLine: line ?? row.end_line,
  ...(row.locator === null ? {} : { locator: locatorOf(row.locator) }),
  ...(row.table_header === null ? {} : { tableHeader: row.table_header })
})

/** The columns of a document's row in its checksum: what indexing made of it and when, not where it was found. */
type DocumentPart = Pick<DocumentRow, "doc_id" | "title" | "metadata" | "fingerprint" | "tail" | "indexed_at">

/** A passage's row without its numbers. */
export interface PassagePart extends PassageRow {
  readonly lead: string
}

/** A passage's row with its numbers. */
interface NumberedPart extends PassagePart {
  readonly id: number
  readonly document_id: number
}

const partText = ({
  end,
  end_line,
  heading,
  lead,
  locator,
  ordinal,
  start,
  start_line,
  table_header,
  text
}: PassagePart): string =>
  JSON.stringify([ordinal, lead, text, heading, start, end, start_line, end_line, locator, table_header])

/** A checksum of a passage's row. */
export const passageCrc = (part: NumberedPart): number => crcOf(partText(part), part.id, part.document_id)

/** What `partText` ends with if there is no table header: checksums from before those existed stay valid without it. */
const withoutHeader = ",null]".length

/** A checksum of a document and its passages in order; `use` gets what of each passage is in its own checksum. */
export const documentCrc = (
  { doc_id, fingerprint, indexed_at, metadata, tail, title }: DocumentPart,
  passages: Iterable<PassagePart>,
  use: (bytes: Uint8Array) => void = () => {}
): number => {
  let crc = crc32(JSON.stringify([doc_id, title, metadata, fingerprint, tail, indexed_at]))
  for (const part of passages) {
    const bytes = Buffer.from(partText(part))
    crc =
      part.table_header === null
        ? crc32("]", crc32(bytes.subarray(0, bytes.length - withoutHeader), crc))
        : crc32(bytes, crc)
    use(bytes)
  }
  return crc
}

/** The checksums of a document and of its passages, from one text of each passage; passages have consecutive ids. */
export const checksums = (
  document: DocumentPart,
  parts: ReadonlyArray<PassagePart>,
  { documentId, firstPassage }: { readonly documentId: number; readonly firstPassage: number }
): { readonly crc: number; readonly passages: ReadonlyArray<number> } => {
  const passages: Array<number> = []
  const crc = documentCrc(document, parts, (bytes) =>
    passages.push(crcOf(bytes, firstPassage + passages.length, documentId))
  )
  return { crc, passages }
}

/** A passage's whole row; one that an older version stored has no checksum. */
export interface CheckedRow extends NumberedPart {
  readonly crc: number | null
}

/** Fails if a passage differs from what was stored. */
export const checkPassage = (row: CheckedRow): void => {
  if (row.crc !== null && passageCrc(row) !== row.crc) damaged(`passage ${row.id} has changed`)
}

/** What a search shows of a document besides its passages. */
type Head = Pick<DocumentRow, "id" | "doc_id" | "source" | "title" | "metadata">

/** A checksum of a document's row as searches show it. */
export const headCrc = ({ doc_id, id, metadata, source, title }: Head): number =>
  crcOf(JSON.stringify([doc_id, source, title, metadata]), id)

/** The same for what is shown of a document. */
export const checkHead = (head: Head, crc: number | null): void => {
  if (crc !== null && headCrc(head) !== crc) damaged(`document ${head.doc_id} has changed`)
}

/** Fails if a document or one of its passages differs from what was stored, or one is missing. */
export const checkDocument = (
  row: Head & { readonly passages: number; readonly head_crc: number | null },
  passages: ReadonlyArray<CheckedRow>
): void => {
  checkHead(row, row.head_crc)
  passages.forEach(checkPassage)
  if (passages.length !== row.passages)
    damaged(`document ${row.doc_id} has ${passages.length} of its ${row.passages} passages`)
}

/**
 * A document's passages in the form of their rows, with the parts of the content that they do not contain: before each of
 * them its lead, and after the last the tail. Passages are in order of start and may overlap.
 */
export const partsOf = ({ content, passages }: Pick<PreparedDocument, "content" | "passages">) => {
  let covered = 0
  const parts = passages.map((passage, ordinal): PassagePart => {
    const { end, endLine, heading, locator, start, startLine, tableHeader, text } = passage
    const lead = content.slice(covered, Math.max(covered, start))
    covered = Math.max(covered, end)
    return {
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
    }
  })
  return { parts, tail: content.slice(covered) }
}

/** Puts together the content that `partsOf` took apart. */
export const join = (passages: ReadonlyArray<PassagePart>, tail: string): string => {
  let covered = 0
  const parts: Array<string> = []
  for (const { end, lead, start, text } of passages) {
    parts.push(lead)
    if (end > covered) parts.push(text.slice(Math.max(0, covered - start)))
    covered = Math.max(covered, end)
  }
  parts.push(tail)
  return parts.join("")
}
