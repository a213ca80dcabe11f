import * as Cause from "effect/Cause"
import * as Schema from "effect/Schema"

/** An error as a problem object of RFC 9457; `--json` prints it on standard error. */
export const Problem = Schema.Struct({
  type: Schema.String,
  title: Schema.String,
  detail: Schema.String,
  /** The typed error's name; `Defect` for a fault of the program. */
  _tag: Schema.String
}).annotations({ identifier: "Problem" })
export type Problem = typeof Problem.Type

const words = (tag: string): string =>
  tag.replace(/(?<=[a-z])(?=[A-Z])/g, " ").replace(/(?<=.)[A-Z]/g, (c) => c.toLowerCase())

/** The problem for the cause of a failed effect. */
export const problemOf = (cause: Cause.Cause<unknown>): Problem => {
  const error = Cause.squash(cause)
  const isExpected = Cause.failureOption(cause)._tag === "Some"
  const detail = error instanceof Error ? error.message : String(error)
  const named = error as { readonly _tag?: unknown }
  const tag = isExpected && typeof named._tag === "string" ? named._tag : isExpected ? "Error" : "Defect"
  return { type: "about:blank", title: words(tag), detail, _tag: tag }
}
