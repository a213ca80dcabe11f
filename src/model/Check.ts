import * as Schema from "effect/Schema"

/** One check of `clew doctor`. */
export const Check = Schema.Struct({
  name: Schema.String.annotations({ description: "What was checked" }),
  status: Schema.Literal("ok", "warn", "fail").annotations({
    description: "fail: answers may be wrong or missing; warn: something to know"
  }),
  detail: Schema.String.annotations({ description: "What was found" }),
  next: Schema.optional(Schema.String.annotations({ description: "What to do about it" }))
}).annotations({ identifier: "Check" })
export type Check = typeof Check.Type

export const ok = (name: string, detail: string): Check => ({ name, status: "ok", detail })

const withStatus =
  (status: "warn" | "fail") =>
  (name: string, detail: string, next?: string): Check => ({
    name,
    status,
    detail,
    next
  })

/** Each with what to do about it. */
export const warn = withStatus("warn")
export const fail = withStatus("fail")
