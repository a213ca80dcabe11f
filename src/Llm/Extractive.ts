import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { type Llm, type LlmIdentity, LlmUnavailable, noUsage } from "../Llm.ts"
import { isCode, openFence, withoutCitations } from "../citations/citations.ts"
import { extract } from "../citations/extractive.ts"
import { fence } from "../citations/prompt.ts"
import type { Hit, Quote } from "../model/SearchResult.ts"

const nothing = "Nothing in these documents answers this in so many words."

/** A quote with the line breaks that it has in the passage. */
const inLines = (quote: string, text: string): string => {
  const [letters, wanted] = [text, quote].map((each) => each.replace(/\s+/g, ""))
  const first = letters!.indexOf(wanted!)
  if (first < 0) return quote
  const places = [...text.matchAll(/\S/g)].map(({ index }) => index)
  const start = places[first]!
  const indent = /[ \t]{0,80}$/.exec(text.slice(Math.max(0, start - 80), start))?.[0] ?? ""
  return indent + text.slice(start, places[first + wanted!.length - 1]! + 1)
}

/** A quote with its passage's number; after code, the mark is on a separate line. */
const quoted = ({ isVerbatim, n, text }: Quote, hit: Hit | undefined): string => {
  const shown = withoutCitations(text)
  const hasMarks = shown !== text && hit !== undefined && (isCode(hit) || hit.fence !== undefined)
  // A fence that a quote leaves open would turn the code of the next one into text, and its text into code.
  if (hasMarks || openFence(shown) !== undefined) {
    const code = hit === undefined ? text : inLines(text, hit.passage.text)
    const marks = fence(code)
    return `${marks}\n${code}\n${marks}\n[${n}]`
  }
  return text.includes("\n") ? `${shown}\n[${n}]` : `${isVerbatim ? `“${shown}”` : shown} [${n}]`
}

const llm: LlmIdentity = { backend: "extractive" }

/**
 * Answers without a model: the sentences that answer best, quoted, each with its passage's number. A reference mark in
 * a quote, such as `[12]`, gets round brackets, but code gets a fence. There is no model, so requesting one is an error.
 */
export const service: typeof Llm.Service = {
  identity: () => Effect.succeed(llm),
  window: () => Effect.succeed(undefined),
  answer: ({ hits, model, query, quotes = extract(query, hits) }) =>
    Effect.succeed({
      llm,
      isCut: Effect.succeed(false),
      usage: Effect.succeed(noUsage),
      fragments: Stream.suspend(() => {
        if (model !== undefined) {
          const reason = `llm.backend is extractive, which has no model ${model}; set it to ollama or openai, or name no model`
          return Stream.fail(new LlmUnavailable({ reason }))
        }
        return quotes.length === 0
          ? Stream.succeed(nothing)
          : Stream.fromIterable(
              quotes.map((quote, at) => `${at === 0 ? "" : "\n\n"}${quoted(quote, hits[quote.n - 1])}`)
            )
      })
    })
}

/** Runs `then` with why a question that may name a model is not answered by one; undefined if it is. */
type Decide = <A, E, R>(
  model: string | undefined,
  then: (why: string | undefined) => Effect.Effect<A, E, R>
) => Effect.Effect<A, E, R>

/** A model, or quotes that say why it does not answer, in `closing` too. */
export const orQuotes = (llm: typeof Llm.Service, decide: Decide, closing?: string): typeof Llm.Service => {
  const quoting = (why: string): LlmIdentity => ({ backend: "extractive", why })
  return {
    identity: (model) =>
      decide(model, (why) => (why === undefined ? llm.identity(model) : Effect.succeed(quoting(why)))),
    window: (model) => decide(model, (why) => (why === undefined ? llm.window(model) : Effect.succeed(undefined))),
    answer: (question) =>
      decide(question.model, (why) =>
        why === undefined
          ? llm.answer(question)
          : Effect.map(service.answer(question), (generation) => ({
              ...generation,
              llm: quoting(why),
              fragments:
                closing === undefined
                  ? generation.fragments
                  : Stream.concat(generation.fragments, Stream.succeed(closing))
            }))
      )
  }
}
