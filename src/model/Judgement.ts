import * as Schema from "effect/Schema"
import { QueryText } from "./Query.ts"

/** The greatest grade; `clew judge` gives 0 to 3. */
export const mostGrade = 100

const line = (description: string) =>
  Schema.optional(Schema.Int.pipe(Schema.between(1, 2 ** 31 - 1)).annotations({ description }))

/** How well a document, or some lines of it, answers a question. */
export const Judgement = Schema.Struct({
  query: QueryText,
  source: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(4096)).annotations({
    description: "The document's source, or the end of its path, beginning with a whole name"
  }),
  grade: Schema.Int.pipe(Schema.between(0, mostGrade)).annotations({
    description: "0 does not answer; higher is better. clew judge gives 0 to 3"
  }),
  start_line: line("First line judged, from 1; default: the whole document"),
  end_line: line("Last line judged")
})
  .pipe(
    Schema.filter(({ end_line: end, start_line: start }) =>
      (start === undefined) === (end === undefined) && (start ?? 1) <= (end ?? 1)
        ? undefined
        : {
            path: ["end_line"],
            message: "start_line and end_line must be given together, and end_line must not be before start_line"
          }
    )
  )
  .annotations({ identifier: "Judgement", description: "How well a document, or lines of it, answers a question" })
export type Judgement = typeof Judgement.Type
