import { damaged } from "../../model/Damaged.ts"
import { crc32, crcOf } from "../crc.ts"
import type { PassageRow } from "./passage.ts"

/** The columns of a document's row in its checksum: what indexing made of it and when, not where it was found. */
export interface DocumentPart {
  readonly doc_id: string
  readonly title: string | null
  readonly metadata: string
  readonly fingerprint: string
  readonly tail: string
  readonly indexed_at: number
}

/** A passage's row without its numbers. */
export interface PassagePart extends PassageRow {
  readonly lead: string
}

const crcOfValues = (values: ReadonlyArray<unknown>, before: number): number =>
  crc32(Buffer.from(JSON.stringify(values)), before)

/** A checksum of a document and its passages in order. */
export const documentCrc = (document: DocumentPart, passages: Iterable<PassagePart>): number => {
  let crc = crcOfValues(
    [document.doc_id, document.title, document.metadata, document.fingerprint, document.tail, document.indexed_at],
    0
  )
  for (const { end, end_line, heading, lead, locator, ordinal, start, start_line, table_header, text } of passages) {
    const values = [ordinal, lead, text, heading, start, end, start_line, end_line, locator]
    // Keeps checksums from before table headers existed valid.
    crc = crcOfValues(table_header === null ? values : [...values, table_header], crc)
  }
  return crc
}

/** A passage's row with its numbers. */
interface NumberedPart extends PassagePart {
  readonly id: number
  readonly document_id: number
}

const partBytes = ({
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
}: PassagePart): Buffer =>
  Buffer.from(JSON.stringify([ordinal, lead, text, heading, start, end, start_line, end_line, locator, table_header]))

/** A checksum of a passage's row. */
export const passageCrc = (part: NumberedPart): number => crcOf(partBytes(part), part.id, part.document_id)

/** A passage's whole row; one that an older version stored has no checksum. */
export interface CheckedRow extends NumberedPart {
  readonly crc: number | null
}

/** Fails if a passage differs from what was stored. */
export const checkPassage = (row: CheckedRow): void => {
  if (row.crc !== null && passageCrc(row) !== row.crc) damaged(`passage ${row.id} has changed`)
}

/** What a search shows of a document besides its passages. */
interface Head extends Pick<DocumentPart, "doc_id" | "title" | "metadata"> {
  readonly id: number
  readonly source: string | null
}

/** A checksum of a document's row as searches show it. */
export const headCrc = ({ doc_id, id, metadata, source, title }: Head): number =>
  crcOf(Buffer.from(JSON.stringify([doc_id, source, title, metadata])), id)

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
