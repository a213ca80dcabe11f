import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { Embedder } from "../Embedder.ts"
import { type OllamaServer, call, digestOf, toKeepAlive } from "../vendors/Ollama.ts"
import { Numbers, type ServerOptions, makeRemote } from "./remote.ts"

export interface OllamaOptions extends OllamaServer, ServerOptions {
  /** How long the model stays loaded, in Ollama's notation; a number is seconds. */
  readonly keepAlive?: string | undefined
}

const Embeddings = Schema.Struct({
  embeddings: Schema.Array(Numbers),
  prompt_eval_count: Schema.optional(Schema.Number)
}).annotations({ title: "list of embeddings" })

/** Embeddings by Ollama's `/api/embed`. A text longer than the model's window is cut to it. */
export const make = (options: OllamaOptions): Effect.Effect<typeof Embedder.Service, never, Scope.Scope> => {
  const { dimensions, keepAlive, model } = options

  const request = (input: ReadonlyArray<string>, truncate: boolean) =>
    call(options, model, Embeddings, (ollama) =>
      ollama.embed({
        model,
        input: [...input],
        truncate,
        ...(dimensions === undefined ? {} : { dimensions }),
        ...(keepAlive === undefined ? {} : { keep_alive: toKeepAlive(keepAlive) })
      })
    ).pipe(Effect.map(({ embeddings, prompt_eval_count }) => ({ vectors: embeddings, tokens: prompt_eval_count })))

  return makeRemote({
    ...options,
    backend: "ollama",
    digest: digestOf(options, model),
    embed: (texts) => request(texts, false),
    embedCut: (text) => request([text], true)
  })
}
