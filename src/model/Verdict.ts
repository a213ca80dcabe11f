import * as Schema from "effect/Schema"

/**
 * What a passage says of a sentence: `supported`; `not_found`, where it does not say it; `contradicted`, where it says
 * otherwise; `unclear`, where words and meaning do not tell, as in other words or another language.
 */
export const Verdict = Schema.Literal("supported", "not_found", "contradicted", "unclear")
export type Verdict = typeof Verdict.Type
