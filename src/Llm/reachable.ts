import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { LlmConfig } from "../Config.ts"
import { type Check, fail, ok as isOk } from "../model/Check.ts"
import { choose } from "../vendors/Ollama.ts"
import { endpoint } from "../vendors/OpenAi.ts"
import { redirectOf, shown } from "../vendors/redirect.ts"

const name = "model"

const ok = (detail: string): Check => isOk(name, detail)

/** Longest wait for a server, in milliseconds. */
const within = 3000

/** Checks the model for answers; the reason says what to start or to pull. */
export const reachable = ({
  apiKey,
  backend,
  headers,
  model,
  url
}: Pick<LlmConfig["Type"], "apiKey" | "backend" | "headers" | "model" | "url">): Effect.Effect<Check> => {
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
        onFailure: ({ reason }) =>
          fail(name, reason, "until then `clew ask` and POST /ask fail; searching needs no model"),
        onSuccess: () => ok(`${model} of Ollama writes answers`)
      })
    case "openai":
      return Effect.tryPromise((signal) =>
        fetch(endpoint(url, "models"), {
          signal,
          redirect: "manual",
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
          onFailure: () => fail(name, `no server answers at ${shown(url)}`, "start it, or set llm.url"),
          onSuccess: ({ headers, status }) => {
            const redirect = redirectOf(status, headers.get("location"), endpoint(url, "models"), "/models")
            if (redirect !== undefined)
              return fail(name, `${shown(url)} answered ${status}: ${redirect}`, "set llm.url")
            return status === 401 || status === 403
              ? fail(name, `${shown(url)} refuses the key (${status})`, "set CLEW_LLM_API_KEY")
              : ok(`a server answers at ${shown(url)}`)
          }
        })
      )
  }
}
