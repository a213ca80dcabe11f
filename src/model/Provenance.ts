import * as Schema from "effect/Schema"
import { Fusion, Mode } from "./Query.ts"
import { ReadAs } from "./ReadAs.ts"

/** How passages were found. */
export interface Found {
  /** The legs that answered. */
  readonly mode: Mode
  /** How the legs were fused. */
  readonly fusion?: Fusion | undefined
  /** What the search lacked, and why. */
  readonly degraded?: string | undefined
  /** Similarly spelled words that replaced words of the query without a match. */
  readonly alsoSearched?: ReadonlyArray<string> | undefined
  /** How the query was read, if it has quotes, `-word` or `field:value`. */
  readonly readAs?: ReadAs | undefined
  /** Set if no hit is likely to answer. */
  readonly weak?: boolean | undefined
  /** Where nothing was found, what about the filter may be why. */
  readonly hint?: string | undefined
}

/** Where nothing was found, what about the filter may be why. */
export const Hint = Schema.String.annotations({ description: "A possible reason why nothing was found" })

/** How passages were found, as every door says it. */
export const provenance = {
  mode: Mode,
  fusion: Schema.optional(Fusion.annotations({ description: "How the legs of hybrid search were fused" })),
  degraded: Schema.optional(Schema.String.annotations({ description: "What the search lacked, and why" })),
  also_searched: Schema.optional(
    Schema.Array(Schema.String).annotations({ description: "Similar spellings that were also searched for" })
  ),
  read_as: Schema.optional(ReadAs),
  weak: Schema.optional(Schema.Boolean.annotations({ description: "True if no result is likely to answer" })),
  hint: Schema.optional(Hint)
}
const Provenance = Schema.Struct(provenance)
export type Provenance = typeof Provenance.Type

/** What there is nothing to say of is absent. */
export const toProvenance = ({ alsoSearched, degraded, fusion, hint, mode, readAs, weak }: Found): Provenance => ({
  mode,
  ...(fusion === undefined ? {} : { fusion }),
  ...(degraded === undefined ? {} : { degraded }),
  ...(alsoSearched === undefined ? {} : { also_searched: alsoSearched }),
  ...(readAs === undefined ? {} : { read_as: readAs }),
  ...(weak === undefined ? {} : { weak }),
  ...(hint === undefined ? {} : { hint })
})
