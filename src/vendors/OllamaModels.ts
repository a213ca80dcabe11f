import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { call, OllamaError, type OllamaServer } from "./Ollama.ts"

const Models = Schema.Struct({
  models: Schema.Array(Schema.Struct({ name: Schema.String, digest: Schema.optional(Schema.String) }))
}).annotations({
  title: "list of models"
})

/** A colon before the last slash precedes a port. */
const withTag = (name: string) => (name.lastIndexOf(":") > name.lastIndexOf("/") ? name : `${name}:latest`)

/** Modules that the first call loads, so that loading does not count as the server's time. */
const loaded = Effect.promise(async () => {
  await Promise.all([import("ollama"), fetch("data:,")])
})

/** Fails with the reason if no Ollama answers within `within` milliseconds, or if it does not have the model. */
const find = (server: OllamaServer, model: string, within: number) =>
  Effect.zipRight(
    loaded,
    call(server, undefined, Models, (ollama) => ollama.list()).pipe(
      Effect.filterOrFail(
        ({ models }) => models.some(({ name }) => name === withTag(model)),
        () =>
          new OllamaError({ reason: `Ollama at ${server.url} has no ${model}; get it with \`ollama pull ${model}\`` })
      ),
      Effect.timeout(within)
    )
  )

/** Whether there is no Ollama, or none with the model; a slow or failing one does not count. */
export const isAbsence = ({ absent, reason }: OllamaError): boolean =>
  absent === true || reason.includes("get it with `ollama pull")

/**
 * Fails with the reason if no Ollama answers within 300 ms, or if it does not have the model. A silent one gets a second
 * try of one second, since the machine may be busy.
 */
export const choose = (server: OllamaServer, model: string): Effect.Effect<void, OllamaError> =>
  find(server, model, 300).pipe(
    Effect.catchTag("TimeoutException", () => find(server, model, 1000)),
    Effect.catchTag(
      "TimeoutException",
      () => new OllamaError({ reason: `Ollama at ${server.url} did not answer within 1000 ms` })
    ),
    Effect.asVoid
  )

/** The digest of the weights behind a model's name; undefined if not reported within a second. */
export const digestOf = (server: OllamaServer, model: string): Effect.Effect<string | undefined> =>
  call(server, undefined, Models, (ollama) => ollama.list()).pipe(
    Effect.map(({ models }) => models.find(({ name }) => name === withTag(model))?.digest || undefined),
    Effect.timeout(1000),
    Effect.orElseSucceed(() => undefined)
  )

/** What is known of a model's window, in tokens. */
export interface Windows {
  /** The longest window that the model supports. */
  readonly longest?: number | undefined
  /** The window from the model's own file, used if a request names none. */
  readonly own?: number | undefined
  /** The window with which it is currently loaded. */
  readonly loaded?: number | undefined
}

const Shown = Schema.Struct({
  model_info: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Unknown })),
  parameters: Schema.optional(Schema.String)
}).annotations({ title: "description of a model" })

const Running = Schema.Struct({
  models: Schema.Array(Schema.Struct({ name: Schema.String, context_length: Schema.optional(Schema.Number) }))
}).annotations({ title: "list of running models" })

/** What Ollama reports of a model's window; empty if it does not answer within a second. */
export const windowsOf = (server: OllamaServer, model: string): Effect.Effect<Windows> => {
  const shown = call(server, model, Shown, (ollama) => ollama.show({ model })).pipe(
    Effect.map(({ model_info: info = {}, parameters = "" }): Windows => {
      const longest = Object.entries(info).find(([key]) => key.endsWith(".context_length"))?.[1]
      const own = /^num_ctx +(\d{1,9})/m.exec(parameters)?.[1]
      return {
        ...(typeof longest === "number" && longest > 0 ? { longest } : {}),
        ...(own === undefined ? {} : { own: Number(own) })
      }
    })
  )
  const running = call(server, undefined, Running, (ollama) => ollama.ps()).pipe(
    Effect.map(({ models }) => models.find(({ name }) => name === withTag(model))?.context_length || undefined)
  )
  const soon = <A>(asked: Effect.Effect<A, OllamaError>) => Effect.option(Effect.timeout(asked, 1000))
  return Effect.map(Effect.all([soon(shown), soon(running)], { concurrency: 2 }), ([shown, running]) => {
    const loaded = running._tag === "Some" ? running.value : undefined
    return { ...(shown._tag === "Some" ? shown.value : {}), ...(loaded === undefined ? {} : { loaded }) }
  })
}
