import * as Schema from "effect/Schema"

/**
 * How a passage supports a sentence: `supported`; `not_found` if it does not say it; `contradicted` if it says
 * otherwise; `unclear` if words and meaning do not decide, such as in a paraphrase or another language.
 */
export const Verdict = Schema.Literal("supported", "not_found", "contradicted", "unclear")
export type Verdict = typeof Verdict.Type
