import * as Schema from "effect/Schema"

/**
 * What a passage has of a sentence: `mentioned` if one of its statements has all of it, nearly word for word; `not_found` if it does not say it; `contradicted` if it says
 * otherwise; `unclear` if words and meaning do not decide, such as in a paraphrase or another language.
 */
export const Verdict = Schema.Literal("mentioned", "not_found", "contradicted", "unclear")
export type Verdict = typeof Verdict.Type
