import type { Found } from "../model/Provenance.ts"
import { asRead, besides, shortfall, weakOnly } from "../citations/remarks.ts"

/** What people are told of a search beside its results, a sentence each. */
export const remarksOn = (found: Found): ReadonlyArray<string> =>
  [shortfall(found), besides(found), asRead(found), found.weak === true ? weakOnly : undefined].filter(
    (said) => said !== undefined
  )
