import type * as Option from "effect/Option"
import type { DocumentId, Format } from "./Document.ts"
import type { Mark } from "./Locator.ts"
import type { PreparedDocument, StoredRef } from "./Stored.ts"

/** A document about to be indexed. */
export interface Draft extends Omit<PreparedDocument, "language" | "passages" | "mentions"> {
  readonly format: Format
  /** The places in the file that stretches of an extracted text come from. */
  readonly marks?: ReadonlyArray<Mark> | undefined
}

/** A draft and the stored document of the same name. */
export interface Compared {
  readonly draft: Draft
  readonly stored: Option.Option<StoredRef>
  readonly status: "created" | "updated" | "unchanged"
}

/** What became of a draft. */
export interface IndexedDocument {
  readonly docId: DocumentId
  readonly source: string | undefined
  readonly status: "created" | "updated" | "unchanged"
  readonly passages: number
}

/** What became of a caller's document; skipped: it holds no text, and what was stored under its name is deleted. */
export interface Outcome extends Omit<IndexedDocument, "status"> {
  readonly status: IndexedDocument["status"] | "skipped"
}
