import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { DoorRequest } from "./model/Query.ts"
import type { Hit } from "./model/SearchResult.ts"
import { Search, type SearchOutcome } from "./Search.ts"
import { Store } from "./Store.ts"
import { isUnsure, openFence } from "./citations/citations.ts"
import { type Budget, formatPrompt, type Prompt as Written } from "./citations/prompt.ts"
import { Tokenizer } from "./packaged/Tokenizer.ts"
import { fault } from "./model/fault.ts"

/** A caller's `max_tokens` has no room for the instruction, the question and one passage. */
export class BudgetTooSmall extends fault<BudgetTooSmall>()(
  "BudgetTooSmall",
  400,
  { maxTokens: Schema.Int, least: Schema.Int },
  ({ least, maxTokens }) =>
    `max_tokens is ${maxTokens}, but the instruction, the question and the best passage take ${least} tokens: give at least ${least}, or leave it out for no limit`
) {
  get errors() {
    return [{ path: "max_tokens", message: this.message }]
  }
}

export interface PromptOutcome extends SearchOutcome, Written {
  /** All hits found; `hits` are those in the prompt. */
  readonly found: ReadonlyArray<Hit>
  /** Hits left out of the prompt to fit its budget; `hits` are those in it, number n being hit n. */
  readonly omitted: number
}

export interface PromptRequest extends DoorRequest {
  /** Limit of the whole prompt, in tokens of the built-in tokenizer; too few for one passage is an error. */
  readonly maxTokens?: number | undefined
  readonly fullSources?: boolean
}

/** Passages before one that are read to know whether it begins in code. */
const mostBefore = 200

/** Searches, and builds a prompt with numbered, citable passages. */
export class Prompt extends Effect.Service<Prompt>()("clew/Prompt", {
  effect: Effect.gen(function* () {
    const search = yield* Search
    const documents = yield* Store
    const tokenizer = yield* Tokenizer

    const write = (request: PromptRequest, outcome: SearchOutcome, budget?: Budget, isCited = false): PromptOutcome => {
      const written = formatPrompt(request.query, outcome.hits, budget, { ...request, isCited })
      const { included } = written
      return {
        ...outcome,
        ...written,
        hits: outcome.hits.slice(0, included),
        found: outcome.hits,
        omitted: outcome.hits.length - included
      }
    }

    const run = Effect.fn("Prompt.run")(function* (request: PromptRequest) {
      const outcome = yield* search.run(request)
      const { maxTokens } = request
      if (maxTokens === undefined) return write(request, outcome)
      const { count: countTokens } = yield* tokenizer.load
      const written = write(request, outcome, { maxTokens, countTokens })
      return written.fits ? written : yield* new BudgetTooSmall({ maxTokens, least: written.least })
    })

    /** Hits with marks, with the fence of the code that they begin in: numbers in brackets are no marks there. */
    const withFences = Effect.forEach((hit: Hit) => {
      if (!isUnsure(hit)) return Effect.succeed(hit)
      const { ordinal } = hit.passage
      const offset = Math.max(0, ordinal - mostBefore)
      return documents.passages(hit.collection, hit.document.docId, { offset, limit: ordinal - offset }).pipe(
        Effect.map(({ passages }): Hit => {
          let before = ""
          let covered = 0
          // Passages overlap, this one with those before it too.
          for (const { end, start, text } of passages) {
            before +=
              (start > covered ? "\n" : "") + text.slice(Math.max(0, covered - start), hit.passage.start - start)
            covered = end
          }
          const fence = openFence(before)
          return fence === undefined ? hit : { ...hit, fence }
        }),
        // What has been deleted meanwhile is shown as it was found.
        Effect.catchTags({
          CollectionNotFound: () => Effect.succeed(hit),
          DocumentNotFound: () => Effect.succeed(hit)
        })
      )
    })

    /** For a model whose citations are checked; `fits` says whether a passage fits into its budget. */
    const forModel = Effect.fn("Prompt.forModel")(function* (
      request: DoorRequest,
      budget: Effect.Effect<Budget | undefined>
    ) {
      const [found, room] = yield* Effect.all([search.run(request), budget], { concurrency: 2 })
      const hits = yield* withFences(found.hits)
      const further = found.further && (yield* withFences(found.further))
      return write(request, { ...found, hits, further }, room, true)
    })

    return { run, forModel }
  })
}) {}
