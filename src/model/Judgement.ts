import * as Schema from "effect/Schema"
import { mustBeWithin, mustHaveLength } from "./kinds.ts"
import { QueryText } from "./Query.ts"

/** The greatest grade; `clew judge` gives 0 to 3. */
export const mostGrade = 100

const grades = { min: 0, max: mostGrade }
const lines = { min: 1, max: 2 ** 31 - 1 }

const whole = (name: string, bounds: typeof lines, description: string) =>
  Schema.Int.pipe(Schema.between(bounds.min, bounds.max)).annotations({
    description,
    message: mustBeWithin(name, bounds, "integer")
  })

/** How well a document, or some lines of it, answers a question. */
export const Judgement = Schema.Struct({
  query: QueryText,
  source: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(4096)).annotations({
    description: "The document's source, or the end of its path, beginning with a whole name",
    message: mustHaveLength("source", 4096)
  }),
  grade: whole("grade", grades, "0 does not answer; higher is better. clew judge gives 0 to 3"),
  start_line: Schema.optional(whole("start_line", lines, "First line judged, from 1; default: the whole document")),
  end_line: Schema.optional(whole("end_line", lines, "Last line judged"))
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

/** Where judgements are kept by default. */
export const judgementsBeside = (index: string): string => `${index}.judgements.jsonl`
