/** The position of a stretch of text in a file that is not text; cells are from 1, times in milliseconds. */
export type Locator =
  | { readonly _tag: "Page"; readonly page: number }
  | { readonly _tag: "Slide"; readonly slide: number }
  | { readonly _tag: "Sheet"; readonly sheet: string; readonly cell: string }
  | { readonly _tag: "Cell"; readonly cell: number }
  | { readonly _tag: "Time"; readonly time: number }
  | { readonly _tag: "Part"; readonly part: string }

/** The start of a stretch of extracted text from another place of its file: a locator, or a line from 1. */
export interface Mark {
  readonly start: number
  readonly locator?: Locator | undefined
  readonly line?: number | undefined
}

/** A file's extracted text as Markdown: headings, lists, tables and code. */
export interface Extracted {
  readonly text: string
  readonly title?: string | undefined
  /** Strings, numbers, booleans, and lists of them. */
  readonly metadata: Readonly<Record<string, unknown>>
  /** Ordered by start. */
  readonly marks: ReadonlyArray<Mark>
  /** Its words are those of links. */
  readonly isLinks?: boolean | undefined
  /** The files attached to it, or packed in it. */
  readonly attachments?: ReadonlyArray<Attachment> | undefined
}

export interface Attachment {
  readonly name: string
  readonly bytes: Uint8Array
}

/** Why a file of a known format has no text: encrypted, scanned, damaged, or beyond a limit. */
export class NotExtracted extends Error {
  constructor(
    message: string,
    readonly isLimit = false
  ) {
    super(message)
  }
}

/** Most characters of text that a file may give: what it says once may be shown many times, as the names of columns. */
export const mostText = 300_000_000

export const tooMuchText = (most: number) => new NotExtracted(`it holds more than ${most} characters of text`, true)
