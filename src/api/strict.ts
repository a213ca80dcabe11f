import { mustBeObject } from "../model/kinds.ts"

/** Unknown fields are errors, and all faults of a request are reported at once. */
export const strict = {
  parseOptions: { onExcessProperty: "error", errors: "all" },
  message: mustBeObject("the body")
} as const
