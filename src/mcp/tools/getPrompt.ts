import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { toProvenance } from "../../model/Provenance.ts"
import { PromptResponse } from "../../model/SearchResult.ts"
import { BudgetTooSmall } from "../../Prompt.ts"
import { Search } from "../../Search.ts"
import { bounded, formatPrompt, sourceCharacters } from "../../citations/prompt.ts"
import { Tokenizer } from "../../packaged/Tokenizer.ts"
import { make } from "../Tool.ts"
import { defaultMaxTokens } from "./budget.ts"
import { Notice } from "./quoted.ts"
import { emptyHanded, optional, plural, remarksOn, SearchArguments, told } from "./request.ts"

const defaultTopK = 3

/** A budget of 0: its error names the least that is needed. */
const nothingFits = (countTokens: (text: string) => number) => ({ maxTokens: 0, countTokens })

const PromptAnswer = Schema.Struct({
  ...PromptResponse.fields,
  read_as: Schema.optional(told),
  notice: Schema.optional(Notice)
})

export const getPrompt = make({
  name: "get_prompt",
  title: "Search and build a prompt",
  description: () =>
    "Search as search does, and get the passages as one ready prompt: an instruction, numbered context with scores and sources, and the question. " +
    "Use it to answer with citations [1], [2], …, or to hand a grounded prompt to another model.",
  input: SearchArguments,
  output: PromptAnswer,
  defaults: () => ({ top_k: defaultTopK, hybrid: true, max_tokens: defaultMaxTokens }),
  run: ({ maxTokens = defaultMaxTokens, ...request }, settings) =>
    Effect.gen(function* () {
      const found = yield* (yield* Search).run({
        ...request,
        topK: request.topK ?? defaultTopK,
        hybrid: request.hybrid ?? true
      })
      const { hits, queryTimeMs } = found
      const { count } = yield* (yield* Tokenizer).load
      const nothing = hits.length === 0 ? [yield* emptyHanded(request, settings, found)] : []
      const answerWith = (budget: number) => {
        const { included, prompt } = formatPrompt(
          request.query,
          hits,
          { maxTokens: budget, countTokens: count },
          { fullSources: true }
        )
        const omitted = hits.length - included
        const notices = [
          ...nothing,
          ...remarksOn(found),
          ...(omitted === 0
            ? []
            : [
                `${plural(omitted, "passage was", "passages were")} left out to fit max_tokens=${maxTokens}; raise it to include them.`
              ])
        ]
        return {
          included,
          structured: {
            prompt,
            sources: hits.slice(0, included).map(({ document }) => bounded(document.source, sourceCharacters)),
            query_time_ms: queryTimeMs,
            ...toProvenance(found),
            ...optional("omitted", omitted === 0 ? undefined : omitted),
            ...optional("notice", notices.length === 0 ? undefined : notices.join(" "))
          },
          text: [prompt, ...(notices.length === 0 ? [] : [notices.join("\n")])]
        }
      }
      let budget = maxTokens
      let answer = answerWith(budget)
      const sizeOf = ({ structured, text }: typeof answer) =>
        Math.max(count(text.join("\n")), count(JSON.stringify(structured)))
      // Each round leaves out at least one passage.
      for (let over = sizeOf(answer) - maxTokens; over > 0 && answer.included > 0; over = sizeOf(answer) - maxTokens) {
        const before = answer.included
        while (answer.included === before && budget > 0) answer = answerWith((budget -= Math.max(over, 1)))
      }
      if (answer.included === 0 && (hits.length > 0 || sizeOf(answer) > maxTokens)) {
        const best = answerWith(formatPrompt(request.query, hits, nothingFits(count), { fullSources: true }).least)
        return yield* new BudgetTooSmall({ maxTokens, least: sizeOf(best) })
      }
      return answer
    })
})
