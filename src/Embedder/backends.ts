import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { EmbeddingConfig } from "../Config.ts"
import type { Embedder } from "../Embedder.ts"
import type { EmbedderIdentity } from "../model/Collection.ts"
import type { Turns } from "../runtime/Turn.ts"
import { type Breakers, queryTimeout } from "./Breakers.ts"
import { type Prefixes, prefixesOf } from "./prefixes.ts"

type Service = Embedder["Type"]

/** What embedders behind a network share. */
export interface Shared {
  /** Of all collections together, whatever their models. */
  readonly turns: Turns
  readonly breakers: Breakers
  /** The environment variable that holds the key of an API. */
  readonly keyVariable: string
}

export type RemoteConfig = EmbeddingConfig["Type"] & Shared

interface Options extends Omit<RemoteConfig, "dimensions"> {
  readonly dimensions: number | undefined
  readonly model: string
  readonly prefixes: Prefixes
}

/**
 * The embedders behind a network, by the names that `embedding.backend` and collections have for them. A client is
 * loaded only where it is asked for.
 */
const remotes = {
  ollama: (options: Options): Effect.Effect<Service, never, Scope.Scope> =>
    Effect.flatMap(
      Effect.promise(() => import("./Ollama.ts")),
      ({ make }) => make(options)
    ),
  openai: (options: Options): Effect.Effect<Service, never, Scope.Scope> =>
    Effect.gen(function* () {
      const { make } = yield* Effect.promise(() => import("./OpenAi.ts"))
      const { layer } = yield* Effect.promise(() => import("@effect/platform/FetchHttpClient"))
      return yield* Effect.provide(make(options), layer)
    })
}

type RemoteName = keyof typeof remotes

export const isRemote = (backend: string): backend is RemoteName => Object.hasOwn(remotes, backend)

/** The model that Ollama is asked for unless another is named. */
export const ollamaModel = "nomic-embed-text"

/** An embedder behind a network: of the configuration, or as a collection records it. */
export const remote = (
  config: RemoteConfig,
  backend: RemoteName,
  recorded?: EmbedderIdentity
): Effect.Effect<Service> =>
  Effect.gen(function* () {
    const model = recorded?.model ?? config.model ?? ollamaModel
    const given = recorded ?? config
    const width = given.dimensions === undefined ? "" : ` (${given.dimensions})`
    return yield* config.breakers.guard({
      name: `${backend} ${model}${width}`,
      patience: Math.min(queryTimeout, config.timeoutMs),
      // A collection keeps the width that it records.
      embedder: remotes[backend]({
        ...config,
        model,
        prefixes: prefixesOf(model, given),
        dimensions: config.dimensions === undefined ? undefined : given.dimensions
      })
    })
  })
