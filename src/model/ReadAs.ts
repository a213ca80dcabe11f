import * as Schema from "effect/Schema"

/** What a passage must have, or must not, beside what the filter says of its document. */
export interface Demands {
  /** Phrases that its title, headings or text must have. */
  readonly phrases: ReadonlyArray<string>
  /** Words that its title or file's name must have. */
  readonly titles: ReadonlyArray<string>
  /** What none of its fields, or its title or file's name, may have. */
  readonly without: ReadonlyArray<{ readonly text: string; readonly in: "any" | "phrase" | "title" }>
}

const list = (description: string) => Schema.optional(Schema.Array(Schema.String).annotations({ description }))

/** How a query was read that has quotes, `-word` or `field:word`. */
export const ReadAs = Schema.Struct({
  words: Schema.String.annotations({ description: "What was searched for by words and by meaning" }),
  phrases: list("Phrases that every result has"),
  without: list("Words and phrases that no result has"),
  fields: list("Conditions on fields, as the query has them"),
  as_words: Schema.optional(
    Schema.String.annotations({ description: "Why quotes, dashes or fields were read as plain words" })
  ),
  unchecked: Schema.optional(
    Schema.Int.annotations({ description: "Passages with a phrase's words that were too many to be looked at" })
  )
}).annotations({
  identifier: "ReadAs",
  description: "How quotes, -word and field:word in the query were read; absent where it has none"
})
export type ReadAs = typeof ReadAs.Type
