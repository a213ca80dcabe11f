import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { LlmConfig } from "../Config.ts"
import type { Check } from "../model/Check.ts"
import { choose } from "../vendors/Ollama.ts"
import { endpoint } from "../vendors/OpenAi.ts"

const name = "model"

const ok = (detail: string): Check => ({ name, status: "ok", detail })

/** Longest wait for a server, in milliseconds. */
const within = 3000

/** Checks the model for answers; the reason says what to start or to pull. */
export const reachable = ({ apiKey, backend, headers, model, url }: LlmConfig["Type"]): Effect.Effect<Check> => {
  const ollama = choose({ url, headers }, model)
  switch (backend) {
    case "extractive":
      return Effect.succeed(ok("answers quote the passages found; no language model is needed"))
    case "auto":
      return Effect.match(ollama, {
        onFailure: ({ reason }) =>
          ok(`answers quote the passages found, since no language model can be used: ${reason}`),
        onSuccess: () => ok(`${model} of Ollama writes answers`)
      })
    case "ollama":
      return Effect.match(ollama, {
        onFailure: ({ reason }): Check => ({
          name,
          status: "fail",
          detail: reason,
          next: "until then `clew ask` and POST /ask fail; searching needs no model"
        }),
        onSuccess: () => ok(`${model} of Ollama writes answers`)
      })
    case "openai":
      return Effect.tryPromise((signal) =>
        fetch(endpoint(url, "models"), {
          signal,
          headers: {
            ...Option.match(apiKey, {
              onNone: () => ({}),
              onSome: (key) => ({ authorization: `Bearer ${Redacted.value(key)}` })
            }),
            ...headers
          }
        })
      ).pipe(
        Effect.timeout(within),
        Effect.match({
          onFailure: (): Check => ({
            name,
            status: "fail",
            detail: `no server answers at ${url}`,
            next: "start it, or set llm.url"
          }),
          onSuccess: ({ status }): Check =>
            status === 401 || status === 403
              ? { name, status: "fail", detail: `${url} refuses the key (${status})`, next: "set CLEW_LLM_API_KEY" }
              : ok(`a server answers at ${url}`)
        })
      )
  }
}
