import * as Effect from "effect/Effect"
import { Tokenizer } from "../../packaged/Tokenizer.ts"
import type { Answer } from "../Tool.ts"

/** Default limit of a tool's answer, in tokens. */
export const defaultMaxTokens = 8000

/** Tokens of an answer in the longer of its two forms: some clients give the model one, some the other. */
const tokensOf = (count: (text: string) => number, { structured, text }: Answer<unknown>): number =>
  Math.max(count(text.join("\n")), count(JSON.stringify(structured)))

/** The answer with as many of its first parts as fit into the budget in both forms. */
export const fitting = <O>(
  parts: ReadonlyArray<Answer<unknown>>,
  maxTokens: number,
  answerWith: (shown: number) => Answer<O>
) =>
  Effect.gen(function* () {
    const { count } = yield* (yield* Tokenizer).load
    let shown = 0
    for (let tokens = 0; shown < parts.length; shown++) {
      tokens += tokensOf(count, parts[shown]!)
      if (tokens > maxTokens) break
    }
    for (; shown > 0; shown--) {
      const answer = answerWith(shown)
      if (tokensOf(count, answer) <= maxTokens) return answer
    }
    return answerWith(0)
  })

/** How many of the first texts fit into the budget together. */
export const countFitting = (texts: ReadonlyArray<string>, maxTokens: number) =>
  Effect.gen(function* () {
    const { count } = yield* (yield* Tokenizer).load
    let tokens = 0
    let fit = 0
    for (const text of texts) {
      tokens += count(text)
      if (tokens > maxTokens) break
      fit++
    }
    return fit
  })
