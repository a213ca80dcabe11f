import { defaultCollection } from "../src/model/Collection.ts"
import { DocumentId } from "../src/model/Document.ts"
import type { Hit } from "../src/model/SearchResult.ts"

/** A hit, as far as a test cares what it is. */
export const hit = ({
  heading = [],
  language,
  line = 1,
  lines = 1,
  score = 0.5,
  source = "docs/a.md",
  text,
  title
}: {
  readonly text: string
  readonly source?: string
  readonly title?: string | undefined
  readonly heading?: ReadonlyArray<string>
  readonly language?: string
  readonly score?: number
  readonly line?: number
  readonly lines?: number
}): Hit => ({
  score,
  language,
  passage: { text, heading, start: 0, end: text.length, startLine: line, endLine: line + lines - 1, ordinal: 0 },
  collection: defaultCollection,
  document: { docId: DocumentId.make(source.trim() || "x"), source, title, metadata: {}, indexedAt: 0 }
})
