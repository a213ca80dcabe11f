import type { Window } from "../Llm.ts"
import type { Calibration } from "./calibration.ts"
import type { ModelOptions } from "./options.ts"

/** The window of a model whose server says nothing of it: what Ollama gives every model. */
export const usualWindow = 4096

/** What may be said to a model beside what the configuration always says to it. */
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
  // An answer as long as the window would leave no room for a question.
  const answer = Math.min(maxTokens, Math.floor(contextTokens / 2))
  return { contextTokens, room: contextTokens - answer - always, countTokens: calibration.countTokens(model) }
}
