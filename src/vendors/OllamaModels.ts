import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { call, OllamaError, type OllamaServer } from "./Ollama.ts"

const Models = Schema.Struct({
  models: Schema.Array(Schema.Struct({ name: Schema.String, digest: Schema.optional(Schema.String) }))
}).annotations({
  title: "list of models"
})

/** A colon before the last slash is a port's. */
const withTag = (name: string) => (name.lastIndexOf(":") > name.lastIndexOf("/") ? name : `${name}:latest`)

/** What the first call loads, which is no part of the time that a server takes. */
const loaded = Effect.promise(async () => {
  await Promise.all([import("ollama"), fetch("data:,")])
})

/** Fails with the reason where no Ollama answers there in time, in milliseconds, or where it does not have the model. */
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

/** Whether an error says that there is no Ollama, or none with the model; not that it was slow or failed. */
export const isAbsence = ({ absent, reason }: OllamaError): boolean =>
  absent === true || reason.includes("get it with `ollama pull")

/**
 * Fails with the reason where no Ollama answers there within 300 ms, or has no such model. One that was silent gets a
 * second chance, of a second, since a busy machine is.
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

/** The digest of the weights that the model's name stands for; none where it is not told within a second. */
export const digestOf = (server: OllamaServer, model: string): Effect.Effect<string | undefined> =>
  call(server, undefined, Models, (ollama) => ollama.list()).pipe(
    Effect.map(({ models }) => models.find(({ name }) => name === withTag(model))?.digest || undefined),
    Effect.timeout(1000),
    Effect.orElseSucceed(() => undefined)
  )

/** What is known of a model's window, in tokens. */
export interface Windows {
  /** The longest that the model can have. */
  readonly longest?: number | undefined
  /** What the model's own file gives it where a request asks for none. */
  readonly own?: number | undefined
  /** What it is loaded with now, whoever asked for that. */
  readonly loaded?: number | undefined
}

const Shown = Schema.Struct({
  model_info: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Unknown })),
  parameters: Schema.optional(Schema.String)
}).annotations({ title: "description of a model" })

const Running = Schema.Struct({
  models: Schema.Array(Schema.Struct({ name: Schema.String, context_length: Schema.optional(Schema.Number) }))
}).annotations({ title: "list of running models" })

/** What Ollama says of a model's window; empty where it does not say within a second. */
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
