import { createHash } from "node:crypto"
import { DocumentId } from "../model/Document.ts"

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex")

/** The id of a document that is given none: 128 bits of the hash of its source, else of its content. */
export const derivedId = (input: { readonly source?: string | undefined; readonly content: string }): DocumentId =>
  DocumentId.make(
    sha256(input.source === undefined ? `content:${input.content}` : `source:${input.source}`).slice(0, 32)
  )

/** JSON with every object's keys in order, so that equal values hash alike. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    inner !== null && typeof inner === "object" && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner
  )

/** A hash of everything that passages are made from. */
export const fingerprint = (parts: ReadonlyArray<unknown>): string => sha256(canonical(parts))
