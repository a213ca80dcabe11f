import * as Schema from "effect/Schema"
import { text } from "./fields.ts"

/** Suggestions of a request, and characters of what was typed. */
export const suggested = { usual: 8, most: 50, characters: 200 } as const

export const Suggestion = Schema.Struct({
  text: text("A title, heading or name, as a document has it"),
  kind: Schema.Literal("title", "heading", "name").annotations({ description: "What it is in the document" }),
  source: Schema.optional(text("The source of a document that has it, if that has one")),
  doc_id: text("The id of that document"),
  collection: text("The collection of that document")
}).annotations({ identifier: "Suggestion", description: "What may be meant by what was typed" })
export type Suggestion = typeof Suggestion.Type
