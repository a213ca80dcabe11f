import * as Effect from "effect/Effect"
import { Tokenizer } from "../../Tokenizer.ts"

/** Tokens of a tool's text where the caller names no number. */
export const defaultMaxTokens = 8000

/** Kept free for the lines around what is listed. */
const frameTokens = 150

/**
 * How many of the texts, from the first on, fit in the budget together. What is around them has its place kept, unless
 * the budget is too small for that.
 */
export const fitting = (texts: ReadonlyArray<string>, maxTokens: number) =>
  Effect.gen(function* () {
    const { count } = yield* (yield* Tokenizer).load
    const budget = maxTokens - Math.min(frameTokens, maxTokens / 4)
    let tokens = 0
    let fit = 0
    for (const text of texts) {
      tokens += count(text)
      if (tokens > budget) break
      fit++
    }
    return fit
  })
