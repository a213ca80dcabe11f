import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { EmbeddingConfig } from "../Config.ts"
import type { Embedder } from "../Embedder.ts"
import type { EmbedderIdentity } from "../model/Collection.ts"
import type { Turns } from "../runtime/Turn.ts"
import { type Breakers, queryTimeout } from "./Breakers.ts"
import { type Prefixes, prefixesOf } from "./prefixes.ts"

type Service = Embedder["Type"]

/** Options shared by remote embedders. */
export interface Shared {
  /** Shared by all collections and models. */
  readonly turns: Turns
  readonly breakers: Breakers
  /** The environment variable with the API key. */
  readonly keyVariable: string
}

export type RemoteConfig = EmbeddingConfig["Type"] & Shared

interface Options extends Omit<RemoteConfig, "dimensions"> {
  readonly dimensions: number | undefined
  readonly model: string
  readonly prefixes: Prefixes
}

/** The remote embedders, by their names in `embedding.backend` and in collections. Each client is loaded on demand. */
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

/** The default model for Ollama. */
export const ollamaModel = "nomic-embed-text"

/** A remote embedder, from the configuration or as a collection records it. */
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
      // A collection keeps its recorded dimensions.
      embedder: remotes[backend]({
        ...config,
        model,
        prefixes: prefixesOf(model, given),
        dimensions: config.dimensions === undefined ? undefined : given.dimensions
      })
    })
  })
