import type { Turn, Window } from "../Llm.ts"
import { charactersOf, learned, type PerScript, tokensOf, usualRates } from "../tokenizer/tokens.ts"
import type { ModelOptions } from "./generation.ts"

interface Known {
  readonly rates: PerScript
  /** How many answers the rates are based on. */
  readonly times: number
}

/** Most models remembered, since a caller may name any. */
const maxModels = 32

/** Tokens that a template puts around a message. */
const aroundMessage = 12

/** A margin, since the next text differs from those the rates come from. */
const margin = 1.05

/** Ignore implausible counts, such as from servers that count only uncached tokens. */
const plausible = { least: 0.4, most: 3 }

/** Estimates the tokens of models, calibrated by the counts of their servers. */
interface Calibration {
  readonly countTokens: (model: string) => (text: string) => number
  /** The tokens of these messages, with their template. */
  readonly countMessages: (model: string, messages: ReadonlyArray<Turn>) => number
  /** Records the model's token count for all of these messages. */
  readonly learn: (model: string, messages: ReadonlyArray<Turn>, tokens: number) => void
}

export const makeCalibration = (): Calibration => {
  const known = new Map<string, Known>()
  const of = (model: string): Known => known.get(model) ?? { rates: usualRates, times: 0 }
  const charactersIn = (messages: ReadonlyArray<Turn>) =>
    charactersOf(messages.map(({ content }) => content).join("\n"))
  const count = ({ rates, times }: Known, characters: PerScript) =>
    Math.ceil(tokensOf(characters, rates) * (times > 0 ? margin : 1))
  return {
    countTokens: (model) => (text) => count(of(model), charactersOf(text)),
    countMessages: (model, messages) => count(of(model), charactersIn(messages)) + messages.length * aroundMessage,
    learn: (model, messages, tokens) => {
      const { rates, times } = of(model)
      const characters = charactersIn(messages)
      const text = tokens - messages.length * aroundMessage
      const expected = tokensOf(characters, rates)
      if (text < expected * plausible.least || text > expected * plausible.most) return
      known.delete(model)
      known.set(model, { rates: learned(rates, characters, text, times === 0 ? 1 : 0.3), times: times + 1 })
      for (const oldest of known.keys()) if (known.size > maxModels) known.delete(oldest)
    }
  }
}

/** The window of a model if its server reports none: Ollama's default. */
export const usualWindow = 4096

/** The window left beside the configured system prompt. */
export const windowOf = (
  { maxTokens, systemPrompt = "" }: ModelOptions,
  calibration: Calibration,
  model: string,
  contextTokens: number
): Window => {
  const always = calibration.countMessages(model, [
    { role: "system", content: systemPrompt },
    { role: "user", content: "" }
  ])
  // An answer limit as long as the window would leave no room for a question.
  const answer = Math.min(maxTokens, Math.floor(contextTokens / 2))
  return { contextTokens, room: contextTokens - answer - always, countTokens: calibration.countTokens(model) }
}
