import * as Effect from "effect/Effect"
import type { Llm } from "../Llm.ts"
import * as OllamaServer from "../vendors/Ollama.ts"
import * as Extractive from "./Extractive.ts"
import * as Ollama from "./Ollama.ts"
import type { ModelOptions } from "./options.ts"

/**
 * Ollama where it answers and has the model, else extractive; asked each time, so that an Ollama that comes or goes is
 * noticed. Who names a model wants that model: then it is Ollama in any case.
 */
export const make = (options: ModelOptions): typeof Llm.Service => {
  const ollama = Ollama.make(options)
  const pick = (model: string | undefined) =>
    model === undefined
      ? Effect.map(OllamaServer.has(options.url, options.model), (there) => (there ? ollama : Extractive.service))
      : Effect.succeed(ollama)
  return {
    identity: (model) => Effect.flatMap(pick(model), (llm) => llm.identity(model)),
    answer: (question) => Effect.flatMap(pick(question.model), (llm) => llm.answer(question))
  }
}
