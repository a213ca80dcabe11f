import type { DocumentId, Format, Metadata } from "../model/Document.ts"
import type { Draft } from "../model/Draft.ts"
import { isWellFormed } from "../model/kinds.ts"
import type { Mark } from "../model/Locator.ts"
import type { Steps } from "../runtime/EventLoop.ts"
import { judgingFormat } from "../chunking/format.ts"
import { derivingId, fingerprinting } from "./identity.ts"

/** The input of a draft. */
export interface Input {
  readonly content: string
  readonly source?: string | undefined
  readonly title?: string | undefined
  readonly metadata: Metadata
  readonly docId?: DocumentId | undefined
  readonly format?: Format | undefined
  readonly origin?: string | undefined
  readonly line?: number | undefined
  readonly marks?: ReadonlyArray<Mark> | undefined
}

/** UTF-8 has no lone surrogates; a replacement keeps the length, and with it every offset. */
const wellFormed = (text: string): string => (isWellFormed(text) ? text : text.replace(/\p{Surrogate}/gu, "\ufffd"))

/** Makes a draft, in steps; `settings` name what besides the text decides how it is cut. */
export function* drafting(input: Input, settings: string): Steps<Draft> {
  const content = wellFormed(input.content)
  const source = input.source === undefined ? undefined : wellFormed(input.source)
  const title = input.title === undefined ? undefined : wellFormed(input.title)
  const format = input.format ?? (yield* judgingFormat(source, content))
  return {
    ...input,
    content,
    source,
    title,
    format,
    derivedId: yield* derivingId({ source, content }),
    fingerprint: yield* fingerprinting([settings, format, title ?? "", input.metadata], content)
  }
}
