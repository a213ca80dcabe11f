import * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import * as Scope from "effect/Scope"
import { EmbeddingConfig } from "../Config.ts"
import { Embedder, EmbedderUnavailable, PackagedEmbedder } from "../Embedder.ts"
import * as Embedders from "../Embedders.ts"
import { type EmbedderIdentity, describeEmbedder } from "../model/Collection.ts"
import { packagedModel } from "../packaged/model.ts"
import { once } from "../runtime/once.ts"
import { type Turns, makeTurns } from "../runtime/Turn.ts"
import { Breakers, queryTimeout } from "./Breakers.ts"
import * as Builtin from "./Builtin.ts"
import { prefixesOf } from "./prefixes.ts"

/**
 * Ollama if it answers and has the model, else the packaged model. Chosen for each new collection, so that a later one
 * can use an Ollama started meanwhile. Existing collections open what they record.
 */
const automatic = (config: RemoteConfig, builtin: Embedder["Type"]) =>
  Effect.gen(function* () {
    const ollama = once(remote(config, "ollama"))
    const said = yield* Ref.make("")
    const picked = Effect.gen(function* () {
      const { choose } = yield* Effect.promise(() => import("../vendors/Ollama.ts"))
      return yield* choose(config, config.model ?? ollamaModel).pipe(
        Effect.zipRight(ollama),
        Effect.catchAll(({ absent, reason }) =>
          Effect.flatMap(Ref.getAndSet(said, reason), (before) => {
            // Without Ollama, no log line is needed.
            const log = absent === true ? Effect.logDebug : Effect.logInfo
            return Effect.as(
              before === reason ? Effect.void : log(`A new collection gets the packaged model: ${reason}`),
              builtin
            )
          })
        )
      )
    })
    return Embedder.of({
      identity: Effect.flatMap(picked, ({ identity }) => identity),
      patient: Effect.flatMap(picked, ({ identity, patient }) => patient ?? identity),
      forget: Effect.flatMap(picked, ({ forget }) => forget ?? Effect.void),
      embedQuery: (text) => Effect.flatMap(picked, ({ embedQuery }) => embedQuery(text)),
      knownShare: (text) => Effect.flatMap(picked, ({ knownShare }) => knownShare?.(text) ?? Effect.succeed(1)),
      embedPassages: (texts, told) => Effect.flatMap(picked, ({ embedPassages }) => embedPassages(texts, told)),
      urgent: {
        identity: Effect.flatMap(picked, ({ identity, urgent }) => urgent?.identity ?? identity),
        check: Effect.flatMap(picked, ({ identity, urgent }) => urgent?.check ?? identity)
      }
    })
  })

type Service = Embedder["Type"]

/** Options shared by remote embedders. */
interface Shared {
  /** Shared by all collections and models. */
  readonly turns: Turns
  readonly breakers: Breakers
  /** The environment variable with the API key. */
  readonly keyVariable: string
}

type RemoteConfig = EmbeddingConfig["Type"] & Shared

interface Options extends Omit<RemoteConfig, "dimensions"> {
  readonly dimensions: number | undefined
  readonly model: string
  readonly prefixes: Embedders.Prefixes
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

const isRemote = (backend: string): backend is RemoteName => Object.hasOwn(remotes, backend)

/** The default model for Ollama. */
const ollamaModel = "nomic-embed-text"

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

/** A folder's model in ONNX; its code is loaded on demand, its runtime and weights at the first use. */
const onnx = (config: EmbeddingConfig["Type"], recorded?: EmbedderIdentity) =>
  Effect.gen(function* () {
    const { make } = yield* Effect.promise(() => import("./Onnx.ts"))
    const folder = recorded === undefined ? config.model! : folderOf(recorded)!
    return yield* make({ ...(recorded ?? config), folder, threads: config.threads })
  })

/** A model folder's identity ends in a hash of its weights. */
const folderOf = ({ model }: EmbedderIdentity): string | undefined =>
  model === packagedModel ? undefined : model.replace(/@[0-9a-f]{8}$/, "")

/** The embedder if it has the configured dimensions; it cannot reduce them. */
const ofWidth = (embedder: Embedder["Type"], dimensions: number | undefined): Embedder["Type"] =>
  dimensions === undefined
    ? embedder
    : {
        ...embedder,
        identity: Effect.filterOrFail(
          embedder.identity,
          (identity) => identity.dimensions === dimensions,
          (identity) =>
            new EmbedderUnavailable({
              reason: `embedding.dimensions is ${dimensions}, but ${describeEmbedder(identity)} gives ${identity.dimensions} and cannot reduce them: remove the setting`
            })
        )
      }

/**
 * The configured embedder, for new collections, and the embedders that collections record. `staged`: the process makes a
 * slow embedder's vectors in the background. Beside them, the packaged model.
 */
export const layer = ({ keyVariable, staged }: Pick<Shared, "keyVariable"> & { readonly staged: boolean }) =>
  Layer.unwrapScoped(
    Effect.gen(function* () {
      const given = yield* EmbeddingConfig
      const config = { ...given, keyVariable, turns: makeTurns(given.concurrency), breakers: yield* Breakers }
      const { backend, model, passagePrefix, queryPrefix } = config
      const path = yield* Path.Path
      const isFolder = backend === "builtin" || (model !== undefined && path.isAbsolute(model))
      const made = yield* Builtin.make({ folder: isFolder ? model : undefined, queryPrefix, passagePrefix })
      const builtin = backend === "builtin" ? ofWidth(made, config.dimensions) : made
      const isPlain = !isFolder && [queryPrefix, passagePrefix].every((it) => (it ?? "") === "")
      const packaged = isPlain ? made : yield* Builtin.make()
      const scope = yield* Effect.scope
      const configured = isRemote(backend)
        ? yield* remote(config, backend)
        : backend === "onnx"
          ? yield* onnx(config)
          : backend === "builtin" || isFolder
            ? builtin
            : yield* automatic(config, builtin)

      const isBuiltin = (recorded: EmbedderIdentity) =>
        folderOf(recorded) === (isFolder ? model : undefined) &&
        recorded.queryPrefix === (queryPrefix ?? "") &&
        recorded.passagePrefix === (passagePrefix ?? "") &&
        recorded.making === undefined
      const open = (recorded: EmbedderIdentity): Effect.Effect<Embedder["Type"]> =>
        isRemote(recorded.backend)
          ? remote(config, recorded.backend, recorded)
          : recorded.backend === "onnx"
            ? Effect.provideService(onnx(config, recorded), Scope.Scope, scope)
            : isBuiltin(recorded)
              ? Effect.succeed(builtin)
              : Builtin.make({ ...recorded, folder: folderOf(recorded) })
      return Layer.provide(
        Embedders.layer({
          insists: backend !== "auto",
          meanwhile: staged && backend === "onnx" ? packaged : undefined,
          // It needs no server, whatever embeds new collections.
          opensRecorded: (recorded) => recorded.backend === "builtin" && backend !== "builtin",
          prefixesOf: (recorded) => {
            if (isRemote(recorded.backend)) return prefixesOf(recorded.model, config)
            // A transformer's folder names its own, which the collection has recorded.
            const own = recorded.backend === "onnx" ? recorded : { queryPrefix: "", passagePrefix: "" }
            return { query: queryPrefix ?? own.queryPrefix, passage: passagePrefix ?? own.passagePrefix }
          },
          open
        }),
        Layer.succeed(Embedder, configured)
      ).pipe(Layer.merge(Layer.succeed(PackagedEmbedder, packaged)))
    })
  ).pipe(Layer.provide(Breakers.Default))
