import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { type Llm, LlmUnavailable } from "../Llm.ts"
import { client, OllamaError, toOllamaError } from "../Ollama.ts"
import type { ModelOptions } from "./options.ts"

/** Without `return`: that would wait for the fragment under way, which closing the connection cuts short. */
const nextOnly = <A>(fragments: AsyncIterable<A>): AsyncIterable<A> => {
  const iterator = fragments[Symbol.asyncIterator]()
  return { [Symbol.asyncIterator]: () => ({ next: () => iterator.next() }) }
}

const silent = ({ timeoutMs, url }: ModelOptions, model: string) =>
  new OllamaError({
    reason: `Ollama at ${url} said nothing for ${timeoutMs} ms; ${model} may be too large for this machine, or llm.timeout_ms too short`
  })

/** Chat by Ollama's `/api/chat`, streamed. */
export const make = (options: ModelOptions): typeof Llm.Service => {
  const { contextTokens, maxTokens, timeoutMs, url } = options
  const identity = (model = options.model) => ({ backend: "ollama" as const, model })
  return {
    identity: (model) => Effect.succeed(identity(model)),
    answer: ({ model = options.model, prompt, temperature = options.temperature }) => {
      const wrong = toOllamaError(url, model)
      const messages = Effect.map(client(url), (ollama) =>
        Effect.tryPromise({
          try: () =>
            ollama.chat({
              model,
              messages: [{ role: "user", content: prompt }],
              stream: true,
              options: { temperature, num_predict: maxTokens, num_ctx: contextTokens }
            }),
          catch: wrong
        }).pipe(Effect.map((answer) => Stream.fromAsyncIterable(nextOnly(answer), wrong)))
      )
      const fragments = Stream.unwrapScoped(Effect.flatten(messages)).pipe(
        // A model that thinks sends fragments without text meanwhile: that is no silence.
        Stream.timeoutFail(() => silent(options, model), Duration.millis(timeoutMs)),
        Stream.map(({ message }) => message?.content ?? ""),
        Stream.filter((text) => text !== ""),
        Stream.mapError(({ reason }) => new LlmUnavailable({ reason }))
      )
      return Effect.succeed({ llm: identity(model), fragments })
    }
  }
}
