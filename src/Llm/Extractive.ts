import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { type Llm, type LlmIdentity, LlmUnavailable } from "../Llm.ts"
import { withoutMarks } from "../text/citations.ts"
import { extract } from "../text/extract.ts"

const preface = "No language model wrote this; these sentences of the passages come nearest to an answer:"
const nothing = "No language model is at hand, and no sentence of the passages answers this."

const llm: LlmIdentity = { backend: "extractive" }

/**
 * Answers without a model: the sentences that answer best, quoted, each with its passage's number. A reference mark in a
 * quote, as `[12]`, gets round brackets. There is no model to choose, so that asking for one is an error.
 */
export const service: typeof Llm.Service = {
  identity: () => Effect.succeed(llm),
  answer: ({ hits, model, query }) =>
    Effect.succeed({
      llm,
      isCut: Effect.succeed(false),
      fragments: Stream.suspend(() => {
        if (model !== undefined) {
          const reason = `llm.backend is extractive, which has no model ${model}; set it to ollama or openai, or name no model`
          return Stream.fail(new LlmUnavailable({ reason }))
        }
        const quotes = extract(query, hits)
        return quotes.length === 0
          ? Stream.succeed(nothing)
          : Stream.fromIterable([preface, ...quotes.map(({ n, text }) => `\n\n“${withoutMarks(text)}” [${n}]`)])
      })
    })
}
