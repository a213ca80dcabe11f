import * as Effect from "effect/Effect"
import { PromptResponse } from "../../model/SearchResult.ts"
import { Prompt } from "../../Prompt.ts"
import { make } from "../Tool.ts"
import { defaultMaxTokens } from "./budget.ts"
import { optional, plural, SearchArguments } from "./request.ts"

const defaultTopK = 3

export const getPrompt = make({
  name: "get_prompt",
  title: "Search and write a prompt",
  description: () =>
    "Search the user's indexed documents and get the passages as one ready prompt: an instruction, numbered context with scores and sources, and the question. " +
    "Use it to answer a question from the documents with citations [1], [2], …, or to hand a grounded prompt to another model; to explore, use search. " +
    "Takes the same arguments as search. max_tokens bounds the prompt; what did not fit is counted in it.",
  input: SearchArguments,
  output: PromptResponse,
  defaults: () => ({ top_k: defaultTopK, hybrid: true, max_tokens: defaultMaxTokens }),
  run: ({ maxTokens = defaultMaxTokens, ...request }) =>
    Effect.gen(function* () {
      const { degraded, hits, mode, omitted, prompt, queryTimeMs } = yield* (yield* Prompt).run({
        ...request,
        topK: request.topK ?? defaultTopK,
        hybrid: request.hybrid ?? true,
        maxTokens
      })
      const notes = [
        ...(degraded === undefined ? [] : [`Degraded: ${degraded}. The passages are by ${mode} search alone.`]),
        ...(omitted === 0
          ? []
          : [
              `${plural(omitted, "passage was", "passages were")} left out to keep to max_tokens=${maxTokens}; raise it to have them in.`
            ])
      ]
      return {
        structured: {
          prompt,
          sources: hits.map(({ document }) => document.source),
          query_time_ms: queryTimeMs,
          mode,
          ...optional("degraded", degraded),
          ...optional("omitted", omitted === 0 ? undefined : omitted)
        },
        text: [prompt, ...(notes.length === 0 ? [] : [notes.join("\n")])]
      }
    })
})
