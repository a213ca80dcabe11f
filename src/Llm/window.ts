import type { Window } from "../Llm.ts"
import type { Calibration } from "./calibration.ts"
import type { ModelOptions } from "./options.ts"

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
