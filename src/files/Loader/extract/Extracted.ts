import type { Mark } from "../../../model/Locator.ts"

/** A file's extracted text as Markdown: headings, lists, tables and code. */
export interface Extracted {
  readonly text: string
  readonly title?: string | undefined
  /** Strings, numbers, booleans, and lists of them. */
  readonly metadata: Readonly<Record<string, unknown>>
  /** Ordered by start. */
  readonly marks: ReadonlyArray<Mark>
}

export interface Attachment {
  readonly name: string
  readonly bytes: Uint8Array
}

/** A file's text, and the files attached to it. */
export interface Read extends Extracted {
  readonly attachments?: ReadonlyArray<Attachment> | undefined
}

/** Why a file of a known format has no text: encrypted, scanned, damaged. */
export class NotExtracted extends Error {}
