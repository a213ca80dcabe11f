import * as Schema from "effect/Schema"

/** What a passage must contain, or must not, in addition to the filter on its document. */
export interface Demands {
  /** Phrases that its title, headings or text must contain. */
  readonly phrases: ReadonlyArray<string>
  /** Words that its title or file's name must contain. */
  readonly titles: ReadonlyArray<string>
  /** What none of its fields, or its title or file's name, may contain. */
  readonly without: ReadonlyArray<{ readonly text: string; readonly in: "any" | "phrase" | "title" }>
}

const list = (description: string) => Schema.optional(Schema.Array(Schema.String).annotations({ description }))

/** How a query with quotes, `-word` or `field:word` was read. */
export const ReadAs = Schema.Struct({
  words: Schema.String.annotations({ description: "What was searched for by words and by meaning" }),
  phrases: list("Phrases that every result contains"),
  without: list("Words and phrases that no result contains"),
  fields: list("Conditions on fields, as written in the query"),
  as_words: Schema.optional(
    Schema.String.annotations({ description: "Why quotes, dashes or fields were read as plain words" })
  ),
  unchecked: Schema.optional(
    Schema.Int.annotations({ description: "Passages with a phrase's words that were too many to check" })
  )
}).annotations({
  identifier: "ReadAs",
  description: "How quotes, -word and field:word in the query were read; absent if it has none"
})
export type ReadAs = typeof ReadAs.Type
