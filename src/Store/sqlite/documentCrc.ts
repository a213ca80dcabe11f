import { crc32 } from "../crc.ts"
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
