import type { Turn } from "../Llm.ts"
import { charactersOf, learned, type PerScript, tokensOf, usualRates } from "../text/tokens.ts"

interface Known {
  readonly rates: PerScript
  /** How many answers taught them. */
  readonly times: number
}

/** Models that are remembered: a caller may name any. */
const most = 32

/** Tokens that a template puts around a message. */
const aroundMessage = 12

/** Rates that are learnt are of other texts than the next. */
const margin = 1.05

/** A server that counts only what its cache does not hold, or what no tokenizer makes, teaches nothing. */
const plausible = { least: 0.4, most: 3 }

/** Counts tokens as models do, by what their servers said of what they were sent before. */
export interface Calibration {
  readonly countTokens: (model: string) => (text: string) => number
  /** Of what is sent as messages. */
  readonly countMessages: (model: string, messages: ReadonlyArray<Turn>) => number
  /** Whether a server has said how many tokens the model made of something. */
  readonly isLearned: (model: string) => boolean
  /** So many tokens the model made of these messages, all of them. */
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
    isLearned: (model) => of(model).times > 0,
    learn: (model, messages, tokens) => {
      const { rates, times } = of(model)
      const characters = charactersIn(messages)
      const text = tokens - messages.length * aroundMessage
      const expected = tokensOf(characters, rates)
      if (text < expected * plausible.least || text > expected * plausible.most) return
      known.delete(model)
      known.set(model, { rates: learned(rates, characters, text, times === 0 ? 1 : 0.3), times: times + 1 })
      for (const oldest of known.keys()) if (known.size > most) known.delete(oldest)
    }
  }
}
