import type { Mark } from "../../../model/Locator.ts"

/** The text of a file that is not read as it is written, as Markdown: headings, lists, tables and code. */
export interface Extracted {
  readonly text: string
  readonly title?: string | undefined
  /** Strings, numbers, booleans, and lists of them. */
  readonly metadata: Readonly<Record<string, unknown>>
  /** In order of their start. */
  readonly marks: ReadonlyArray<Mark>
}

export interface Attachment {
  readonly name: string
  readonly bytes: Uint8Array
}

/** What is in a file, and the files that it carries. */
export interface Read extends Extracted {
  readonly attachments?: ReadonlyArray<Attachment> | undefined
}

/** Why a file of a known format gives no text: encrypted, scanned, damaged. */
export class NotExtracted extends Error {}
