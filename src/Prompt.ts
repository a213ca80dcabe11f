import * as Effect from "effect/Effect"
import type { DoorRequest } from "./model/Query.ts"
import type { Hit } from "./model/SearchResult.ts"
import { Search, type SearchOutcome } from "./Search.ts"
import { formatPrompt } from "./text/prompt.ts"
import { Tokenizer } from "./packaged/Tokenizer.ts"

export interface PromptOutcome extends SearchOutcome {
  readonly prompt: string
  /** All that was found; `hits` are those within the prompt. */
  readonly found: ReadonlyArray<Hit>
  /** Hits found and left out of the prompt to keep to its budget; `hits` are those within it, entry n being hit n. */
  readonly omitted: number
  /** False: the prompt is over its budget without any passage. */
  readonly fits: boolean
}

/** Searches, and writes what was found as a prompt with numbered, citable passages. */
export class Prompt extends Effect.Service<Prompt>()("clew/Prompt", {
  effect: Effect.gen(function* () {
    const search = yield* Search
    const tokenizer = yield* Tokenizer

    /** `maxTokens` bounds the whole prompt, in tokens of the built-in tokenizer; `isCited`: the answer's marks are read. */
    const run = Effect.fn("Prompt.run")(function* (
      request: DoorRequest & { readonly maxTokens?: number | undefined; readonly isCited?: boolean }
    ) {
      const outcome = yield* search.run(request)
      const { maxTokens } = request
      const budget = maxTokens === undefined ? undefined : { maxTokens, countTokens: (yield* tokenizer.load).count }
      const { fits, included, prompt } = formatPrompt(request.query, outcome.hits, budget, request.isCited)
      return {
        ...outcome,
        hits: outcome.hits.slice(0, included),
        found: outcome.hits,
        prompt,
        fits,
        omitted: outcome.hits.length - included
      } satisfies PromptOutcome
    })

    return {
      run,
      /** Tokens of a text, by the built-in tokenizer. */
      count: (text: string) => Effect.map(tokenizer.load, ({ count }) => count(text))
    }
  })
}) {}
