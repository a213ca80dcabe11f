import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { availableParallelism } from "node:os"
import { Answer } from "../Answer.ts"
import { layerPermitting } from "../Caller.ts"
import { Collections } from "../Collections.ts"
import * as Config from "../Config.ts"
import { keyVariables } from "../Config/Env.ts"
import {
  type Configured,
  exists,
  openSearchOptions,
  postgresOptions,
  opensearch,
  platform,
  postgres
} from "../Configured.ts"
import * as Embedding from "../Embedder/Configured.ts"
import { Graph } from "../Graph.ts"
import { Llm } from "../Llm.ts"
import type { Purpose } from "../OpenIndex.ts"
import { Prompt } from "../Prompt.ts"
import { Reranker } from "../Reranker.ts"
import { Search } from "../Search.ts"
import * as Sqlite from "../Store/Sqlite.ts"
import * as SqliteThreaded from "../Store/SqliteThreaded.ts"
import { stacked } from "../runtime/stacked.ts"
import { Tokenizer } from "../packaged/Tokenizer.ts"
import { Rebuilder } from "../upkeep/Rebuilder.ts"

// What answers questions, apart from App.ts: commands that only read load nothing else.

/** The embedders, for new collections and for each that records its own. */
export const embedders = (staged: boolean) => Embedding.layer({ keyVariable: keyVariables.embedding, staged })

const modelOf = Effect.fnUntraced(function* (config: Config.LlmConfig["Type"]) {
  switch (config.backend) {
    case "auto":
      return yield* (yield* Effect.promise(() => import("../Llm/Auto.ts"))).make(config)
    case "openai": {
      const { make } = yield* Effect.promise(() => import("../Llm/OpenAi.ts"))
      const { layer } = yield* Effect.promise(() => import("@effect/platform/FetchHttpClient"))
      return yield* Effect.provide(make({ ...config, keyVariable: keyVariables.llm }), layer)
    }
    default:
      return (yield* Effect.promise(() => import("../Llm/Ollama.ts"))).make(config)
  }
})

/** The model for answers; each backend's code is loaded on demand. */
const llm = Layer.scoped(
  Llm,
  Effect.gen(function* () {
    const config = yield* Config.LlmConfig
    if (config.backend === "extractive") return (yield* Effect.promise(() => import("../Llm/Extractive.ts"))).service
    const { guarded } = yield* Effect.promise(() => import("../Llm/guarded.ts"))
    return yield* guarded(yield* modelOf(config), config)
  })
)

/** The reranker, if one is configured; its code is loaded only then. */
export const reranker = Layer.unwrapEffect(
  Effect.gen(function* () {
    const config = yield* Config.RerankConfig
    if (config.backend === "none") return Layer.empty
    if (config.backend === "onnx") {
      const { make } = yield* Effect.promise(() => import("../Reranker/Onnx.ts"))
      return Layer.scoped(Reranker, make({ ...config, folder: config.model! }))
    }
    const { make } = yield* Effect.promise(() => import("../Reranker/OpenAi.ts"))
    const { layer } = yield* Effect.promise(() => import("@effect/platform/FetchHttpClient"))
    return Layer.effect(Reranker, make({ ...config, keyVariable: keyVariables.rerank })).pipe(Layer.provide(layer))
  })
)

export interface Opening {
  /** A slow embedder's vectors are made after the passages are stored, in the background of a server. */
  readonly staged?: boolean
  /** Reads run in `vector.workers` separate threads, for long-running servers. */
  readonly pooled?: boolean
}

const database = (
  configured: Configured,
  mode: Sqlite.DatabaseOptions["mode"] | "memory",
  { pooled = false }: Opening
) => {
  const { settings } = configured
  const {
    graph: { enabled: graph },
    store: { path: filename, synchronous },
    vector
  } = settings
  // Only a process that runs for long has the time to make finer codes.
  const vectors = pooled ? { ...vector, finerBytes: vector.finerMb * 1024 * 1024 } : vector
  if (mode === "memory") return Sqlite.layer({ filename: ":memory:", mode: "create", graph })
  const how = mode === "create" || mode === "readonly" ? mode : "existing"
  if (Config.isInOpenSearch(settings.store)) {
    return Layer.unwrapEffect(
      Effect.map(opensearch, ({ layer }) => layer({ ...openSearchOptions(configured), graph, mode: how }))
    )
  }
  if (Config.isInPostgres(settings.store)) {
    return Layer.unwrapEffect(
      Effect.map(postgres, ({ layer }) => layer({ ...postgresOptions(settings), vectors, graph, mode: how }))
    )
  }
  const options = { filename, mode, synchronous, vectors, graph }
  if (pooled) {
    const readers = vectors.workers === "auto" ? availableParallelism() : vectors.workers
    return SqliteThreaded.layerPooled({ ...options, readers })
  }
  return mode === "readonly" ? Sqlite.layer(options) : SqliteThreaded.layer(options)
}

/** Rebuilds what another version built: in the background of a server, else only as far as it is quick. */
const upkeep = (mode: Sqlite.DatabaseOptions["mode"] | "memory", { pooled = false }: Opening) =>
  Layer.scopedDiscard(
    Effect.flatMap(Rebuilder, ({ beforeAnswering, inBackground }) =>
      pooled && mode !== "readonly" ? inBackground : beforeAnswering({ writable: mode !== "readonly" })
    )
  )

/** What is opened, and how. */
export interface Opened extends Configured, Opening {
  readonly store: Sqlite.DatabaseOptions["mode"] | "memory"
}

/** The use cases that read an index, and what they need. */
export const layer = ({ apiKeys, pooled = false, settings, staged = false, store }: Opened) =>
  stacked(
    platform,
    Config.layer({ settings, apiKeys }),
    Tokenizer.Default,
    embedders(staged),
    database({ apiKeys, settings }, store, { pooled }),
    layerPermitting,
    Collections.Default,
    reranker,
    Search.Default,
    Prompt.Default,
    llm,
    Answer.Default,
    Graph.Default,
    Rebuilder.Default,
    upkeep(store, { pooled })
  )

/** How a purpose opens the index, where that is all there is to it. */
const modes = { write: "create", change: "existing", shrink: "shrink", readonly: "readonly" } as const

/** How the configured index is opened, or the one that the purpose requires. */
export const openingFor = Effect.fnUntraced(function* (
  { apiKeys, settings: given }: Configured,
  purpose: Purpose,
  { exact = given.vector.exact, ...opening }: Opening & { readonly exact?: boolean } = {}
) {
  const settings = { ...given, vector: { ...given.vector, exact } }
  const fs = yield* FileSystem.FileSystem
  const file = settings.store.path
  const on = (store: Opened["store"], where: Partial<typeof settings.store> = {}): Opened => ({
    ...opening,
    staged: purpose === "write",
    apiKeys,
    settings: { ...settings, store: { ...settings.store, ...where } },
    store
  })
  const isRemote = Config.isOnServer(settings.store)
  switch (purpose) {
    case "read": {
      if (isRemote) return on("readonly")
      // Migrate an older index if it is writable; an index on a read-only disk can still be searched.
      const settled = yield* Effect.orElseSucceed(
        Effect.try(() => Sqlite.isSettled(file)),
        () => false
      )
      return on(!settled && (yield* Effect.isSuccess(fs.access(file, { writable: true }))) ? "existing" : "readonly")
    }
    case "preview":
      return on((yield* exists({ apiKeys, settings })) ? "readonly" : "memory")
    case "temporary":
      return on("create", {
        backend: "sqlite",
        path: `${yield* fs.makeTempDirectoryScoped({ prefix: "clew-" })}/index.db`
      })
    default:
      return on(modes[purpose])
  }
}, Effect.provide(platform))

/** The same on the index that a purpose opens. */
export const layerFor = (...how: Parameters<typeof openingFor>) => Effect.map(openingFor(...how), layer)
