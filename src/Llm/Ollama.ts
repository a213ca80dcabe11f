import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { type Llm, LlmUnavailable } from "../Llm.ts"
import { type Client, client, OllamaError, toOllamaError } from "../vendors/Ollama.ts"
import { generation } from "./generation.ts"
import type { ModelOptions } from "./options.ts"

const silent = ({ timeoutMs, url }: ModelOptions, model: string) =>
  new OllamaError({
    reason: `Ollama at ${url} said nothing for ${timeoutMs} ms; ${model} may be too large for this machine, or llm.timeout_ms too short`
  })

/**
 * The fragments, with an end to silence; a model that thinks sends fragments without text meanwhile, which is none.
 * Without `return`: that would wait for the fragment under way, which closing the connection cuts short.
 */
const watched = <A>(fragments: AsyncIterable<A>, timeoutMs: number, silence: () => Error): AsyncIterable<A> => {
  const iterator = fragments[Symbol.asyncIterator]()
  const next = () =>
    new Promise<IteratorResult<A>>((resolve, reject) => {
      const timer = setTimeout(() => reject(silence()), timeoutMs)
      iterator
        .next()
        .then(resolve, reject)
        .finally(() => clearTimeout(timer))
    })
  return { [Symbol.asyncIterator]: () => ({ next }) }
}

/** Chat by Ollama's `/api/chat`, streamed. */
export const make = (options: ModelOptions): typeof Llm.Service => {
  const { contextTokens, maxTokens, timeoutMs, url } = options
  const identity = (model = options.model) => ({ backend: "ollama" as const, model })
  return {
    identity: (model) => Effect.succeed(identity(model)),
    answer: ({ history = [], model = options.model, prompt, schema, temperature = options.temperature }) => {
      const wrong = toOllamaError(url, model)
      const silence = () => silent(options, model)
      const begin = (ollama: Client) =>
        Effect.tryPromise({
          try: () =>
            ollama.chat({
              model,
              messages: [...history, { role: "user", content: prompt }],
              stream: true,
              ...(schema === undefined ? {} : { format: schema }),
              options: { temperature, num_predict: maxTokens, num_ctx: contextTokens }
            }),
          catch: wrong
        }).pipe(Effect.timeoutFail({ duration: Duration.millis(timeoutMs), onTimeout: silence }))
      const parts = Stream.unwrapScoped(
        Effect.gen(function* () {
          const answer = yield* begin(yield* client(url))
          return Stream.fromAsyncIterable(watched(answer, timeoutMs, silence), wrong)
        })
      ).pipe(
        Stream.map(({ done_reason, message }) => ({ text: message?.content ?? "", isCut: done_reason === "length" })),
        Stream.mapError(({ reason }) => new LlmUnavailable({ reason }))
      )
      return generation(identity(model), maxTokens, parts)
    }
  }
}
