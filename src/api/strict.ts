import { mustBeObject } from "../model/kinds.ts"

/** What a request brings has to be known, and everything that is wrong with it is told at once. */
export const strict = {
  parseOptions: { onExcessProperty: "error", errors: "all" },
  message: mustBeObject("the body")
} as const
