import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { availableParallelism } from "node:os"
import { Answer } from "./Answer.ts"
import { Benchmark } from "./measuring/Benchmark.ts"
import { Judgements } from "./measuring/Judgements.ts"
import { Judging } from "./measuring/Judging.ts"
import { layerPermitting } from "./Caller.ts"
import { Chunker } from "./Chunker.ts"
import { Collections } from "./Collections.ts"
import { fail, ok } from "./model/Check.ts"
import * as Config from "./Config.ts"
import { keyVariables, noApiKeys } from "./Config/Env.ts"
import { type Configured, exists, inOpenSearch, inPostgres, opensearch, platform, postgres } from "./Configured.ts"
import { Settings, type SettingsEncoded } from "./Config/Settings.ts"
import { Doctor } from "./upkeep/Doctor.ts"
import * as FileEvents from "./files/FileEvents/Node.ts"
import * as Embedding from "./Embedder/Configured.ts"
import { FileIndexer } from "./files/FileIndexer.ts"
import { Graph } from "./Graph.ts"
import * as Files from "./files/Loader/Files.ts"
import { formats } from "./files/Loader/formats.ts"
import { Llm } from "./Llm.ts"
import type { Purpose } from "./OpenIndex.ts"
import { Prompt } from "./Prompt.ts"
import { Rebuilder } from "./upkeep/Rebuilder.ts"
import * as RateLimiter from "./RateLimiter.ts"
import { Reindexer } from "./upkeep/Reindexer.ts"
import { Reranker } from "./Reranker.ts"
import { Search } from "./Search.ts"
import { Speed } from "./measuring/Speed.ts"
import * as SqliteExaminer from "./Store/SqliteExaminer.ts"
import * as SqliteBackups from "./Store/SqliteBackups.ts"
import * as SqliteThreaded from "./Store/SqliteThreaded.ts"
import { Tokenizer } from "./packaged/Tokenizer.ts"
import { Transfer } from "./upkeep/Transfer.ts"
import { Watcher } from "./files/Watcher.ts"
import * as WatchLock from "./files/WatchLock/Sqlite.ts"
import { Indexer } from "./Indexer.ts"
import * as Sqlite from "./Store/Sqlite.ts"

/** The embedders, for new collections and for each that records its own. */
const embedders = (staged: boolean) => Embedding.layer({ keyVariable: keyVariables.embedding, staged })

const modelOf = Effect.fnUntraced(function* (config: Config.LlmConfig["Type"]) {
  switch (config.backend) {
    case "auto":
      return yield* (yield* Effect.promise(() => import("./Llm/Auto.ts"))).make(config)
    case "openai": {
      const { make } = yield* Effect.promise(() => import("./Llm/OpenAi.ts"))
      const { layer } = yield* Effect.promise(() => import("@effect/platform/FetchHttpClient"))
      return yield* Effect.provide(make({ ...config, keyVariable: keyVariables.llm }), layer)
    }
    default:
      return (yield* Effect.promise(() => import("./Llm/Ollama.ts"))).make(config)
  }
})

/** The model for answers; each backend's code is loaded on demand. */
const llm = Layer.scoped(
  Llm,
  Effect.gen(function* () {
    const config = yield* Config.LlmConfig
    if (config.backend === "extractive") return (yield* Effect.promise(() => import("./Llm/Extractive.ts"))).service
    const { guarded } = yield* Effect.promise(() => import("./Llm/guarded.ts"))
    return yield* guarded(yield* modelOf(config), `${config.model} at ${config.url}`)
  })
)

/** The reranker, if one is configured; its code is loaded only then. */
const reranker = Layer.unwrapEffect(
  Effect.gen(function* () {
    const config = yield* Config.RerankConfig
    if (config.backend === "none") return Layer.empty
    if (config.backend === "onnx") {
      const { make } = yield* Effect.promise(() => import("./Reranker/Onnx.ts"))
      return Layer.scoped(Reranker, make({ ...config, folder: config.model! }))
    }
    const { make } = yield* Effect.promise(() => import("./Reranker/OpenAi.ts"))
    const { layer } = yield* Effect.promise(() => import("@effect/platform/FetchHttpClient"))
    return Layer.effect(Reranker, make({ ...config, keyVariable: keyVariables.rerank })).pipe(Layer.provide(layer))
  })
)

const loader = Layer.unwrapEffect(
  Effect.map(Effect.all([Config.LimitsConfig, Config.StoreConfig]), ([{ maxFileBytes, ...extraction }, { path }]) =>
    Files.layer({ formats, maxFileBytes, extraction, index: path })
  )
)

interface Opening {
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
      Effect.map(opensearch, ({ layer }) => layer({ ...inOpenSearch(configured), graph, mode: how }))
    )
  }
  if (Config.isInPostgres(settings.store)) {
    return Layer.unwrapEffect(
      Effect.map(postgres, ({ layer }) => layer({ ...inPostgres(settings), vectors, graph, mode: how }))
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
  ).pipe(Layer.provide(Rebuilder.Default))

const changes = ({ pooled = false, staged = false }: Opening) =>
  pooled && staged ? Layer.scopedDiscard(Effect.flatMap(Reindexer, ({ inBackground }) => inBackground)) : Layer.empty

const watcher = ({ store, store: { path } }: Settings, mode: Sqlite.DatabaseOptions["mode"] | "memory") =>
  Watcher.Default.pipe(
    Layer.provide(FileEvents.layer),
    Layer.provide(
      mode === "memory"
        ? WatchLock.layerFree
        : WatchLock.layer(
            Config.isInPostgres(store)
              ? `${path}.${store.schema}`
              : Config.isInOpenSearch(store)
                ? `${path}.${store.indexPrefix}`
                : path
          )
    )
  )

/** The whole program without its interfaces, on one index. */
export const layer = ({
  apiKeys,
  pooled = false,
  settings,
  staged = false,
  store
}: Configured & Opening & { readonly store: Sqlite.DatabaseOptions["mode"] | "memory" }) => {
  return Layer.mergeAll(
    Benchmark.Default,
    Judgements.Default,
    Judging.Default,
    Speed.Default,
    Answer.Default,
    Layer.provideMerge(changes({ pooled, staged }), Reindexer.Default),
    Graph.Default,
    Transfer.Default,
    watcher(settings, store),
    upkeep(store, { pooled })
  ).pipe(
    Layer.provideMerge(Layer.merge(Prompt.Default, llm)),
    Layer.provideMerge(Layer.merge(FileIndexer.Default, Layer.provideMerge(Search.Default, reranker))),
    Layer.provideMerge(Indexer.Default),
    Layer.provideMerge(Layer.merge(Chunker.Default, Collections.Default)),
    Layer.provideMerge(
      Layer.mergeAll(
        Layer.provide(layerPermitting, database({ apiKeys, settings }, store, { pooled })),
        embedders(staged),
        loader,
        Tokenizer.Default
      )
    ),
    Layer.provideMerge(Config.layer({ settings, apiKeys })),
    Layer.provide(platform)
  )
}

/**
 * The program with these settings over the defaults, for a program with its own configuration. Without `store.path` the
 * index is in memory.
 */
export const layerOf = (given: Omit<SettingsEncoded, "store"> & { readonly store?: SettingsEncoded["store"] } = {}) =>
  Layer.unwrapEffect(
    Effect.map(decodeSettings({ ...given, store: given.store ?? { path: "/" } }), (settings) =>
      layer({ settings, apiKeys: noApiKeys, store: given.store === undefined ? "memory" : "create" })
    )
  )

const decodeSettings = Schema.decode(Settings, { onExcessProperty: "error" })

/** How a purpose opens the index, where that is all there is to it. */
const modes = { write: "create", change: "existing", shrink: "shrink", readonly: "readonly" } as const

/** The program on the configured index, or on the one that the purpose requires. */
export const layerFor = Effect.fnUntraced(function* (
  { apiKeys, settings: given }: Configured,
  purpose: Purpose,
  { exact = given.vector.exact, ...opening }: Opening & { readonly exact?: boolean } = {}
) {
  const settings = { ...given, vector: { ...given.vector, exact } }
  const fs = yield* FileSystem.FileSystem
  const file = settings.store.path
  const on = (store: Parameters<typeof layer>[0]["store"], where: Partial<Settings["store"]> = {}) =>
    layer({
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

const examiner = (configured: Configured) => {
  const { settings } = configured
  if (Config.isInOpenSearch(settings.store)) {
    return Layer.unwrapEffect(
      Effect.map(
        Effect.promise(() => import("./Store/OpenSearchExaminer.ts")),
        ({ layer }) => layer({ ...inOpenSearch(configured), mode: "existing" })
      )
    )
  }
  return Config.isInPostgres(settings.store)
    ? Layer.unwrapEffect(
        Effect.map(
          Effect.promise(() => import("./Store/PostgresExaminer.ts")),
          ({ layer }) => layer({ ...inPostgres(settings), mode: "existing" })
        )
      )
    : SqliteExaminer.layer(settings.store.path)
}

/** Checks the configured index without opening it as a store. */
export const doctor = ({ apiKeys, settings }: Configured) =>
  Doctor.Default.pipe(
    Layer.provide(Layer.merge(examiner({ apiKeys, settings }), embedders(false))),
    Layer.provide(Config.layer({ settings, apiKeys })),
    Layer.provide(platform)
  )

/** Checks of what the program needs: SQLite, and the model for answers. */
export const foundations = ({ apiKeys, settings }: Configured) =>
  Effect.all([
    Effect.map(SqliteExaminer.sqliteLoads, (check) => [check]),
    Effect.flatMap(Config.LlmConfig, (config) =>
      Effect.flatMap(
        Effect.promise(() => import("./Llm/reachable.ts")),
        ({ reachable }) => Effect.map(reachable(config), (check) => [check])
      )
    ),
    Effect.provide(rerankerAnswers, reranker)
  ]).pipe(
    Effect.map((checks) => checks.flat()),
    Effect.provide(Config.layer({ settings, apiKeys }))
  )

/** A check of the reranker, where one is configured. */
const rerankerAnswers = Effect.gen(function* () {
  const service = yield* Effect.serviceOption(Reranker)
  if (Option.isNone(service)) return []
  const { backend, model, url } = yield* Config.RerankConfig
  return [
    yield* Effect.match(service.value.rerank("ready?", ["ready"]), {
      onFailure: ({ reason }) =>
        fail(
          "reranker",
          reason,
          'until then results stay in the order of the search; rerank.backend = "none" does without it'
        ),
      onSuccess: () => ok("reranker", `${backend === "onnx" ? model : url} ranks passages`)
    })
  ]
})

/** Backups of the configured index. */
export const backups = ({ settings: { store } }: Configured) =>
  Config.isInOpenSearch(store)
    ? Layer.unwrapEffect(Effect.map(opensearch, ({ backups }) => backups(store.indexPrefix)))
    : Config.isInPostgres(store)
      ? Layer.unwrapEffect(Effect.map(postgres, ({ backups }) => backups(store.schema)))
      : SqliteBackups.layer(store.path)

/** Further services of the HTTP server: its configuration and rate limiter. */
export const serving = (configured: Configured & { readonly keysFile?: Config.KeysFile | undefined }) =>
  Layer.provideMerge(RateLimiter.layerConfig, Config.layerServer(configured))
