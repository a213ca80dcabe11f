import * as FileSystem from "@effect/platform/FileSystem"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { availableParallelism } from "node:os"
import { Answer } from "./Answer.ts"
import { Benchmark } from "./measuring/Benchmark.ts"
import { Judgements } from "./measuring/Judgements.ts"
import { Judging } from "./measuring/Judging.ts"
import { Chunker } from "./Chunker.ts"
import { Collections } from "./Collections.ts"
import * as Config from "./Config.ts"
import { variables } from "./Config/Env.ts"
import * as Load from "./Config/Load.ts"
import { Settings, type SettingsEncoded } from "./Config/Settings.ts"
import { Doctor } from "./upkeep/Doctor.ts"
import * as FileEvents from "./files/FileEvents/Node.ts"
import * as Embedding from "./Embedder/Configured.ts"
import { FileIndexer } from "./files/FileIndexer.ts"
import { Graph } from "./Graph.ts"
import { Indexer } from "./Indexer.ts"
import * as Files from "./files/Loader/Files.ts"
import { formats } from "./files/Loader/formats.ts"
import { Llm } from "./Llm.ts"
import type { Purpose } from "./model/Purpose.ts"
import { Prompt } from "./Prompt.ts"
import { Rebuilder } from "./upkeep/Rebuilder.ts"
import * as Memory from "./RateLimiter/Memory.ts"
import { Reindexer } from "./upkeep/Reindexer.ts"
import { Reranker } from "./Reranker.ts"
import { Search } from "./Search.ts"
import { Speed } from "./measuring/Speed.ts"
import { sqliteLoads } from "./Store/sqliteLoads.ts"
import { glance as readGlance } from "./Store/glance.ts"
import * as Sqlite from "./Store/Sqlite.ts"
import * as SqliteExaminer from "./Store/SqliteExaminer.ts"
import * as SqliteBackups from "./Store/SqliteBackups.ts"
import * as SqliteThreaded from "./Store/SqliteThreaded.ts"
import { Tokenizer } from "./packaged/Tokenizer.ts"
import { Transfer } from "./upkeep/Transfer.ts"
import { Watcher } from "./files/Watcher.ts"
import * as WatchLock from "./files/WatchLock/Sqlite.ts"

/** Decoded settings, and the API keys, which are in no file. */
export type Configured = Pick<Load.Loaded, "settings" | "apiKeys">

const platform = Layer.merge(NodeFileSystem.layer, NodePath.layer)

/** The effective configuration: flag over environment over file over default. */
export const configure = (options: Load.LoadOptions) => Effect.provide(Load.load(options), platform)

/** The embedders, for new collections and for each that records its own. */
const embedders = Embedding.layer({ keyVariable: variables.embeddingApiKey })

/** The model for answers; each backend's code is loaded on demand. */
const llm = Layer.scoped(
  Llm,
  Effect.gen(function* () {
    const config = yield* Config.LlmConfig
    switch (config.backend) {
      case "auto":
        return yield* (yield* Effect.promise(() => import("./Llm/Auto.ts"))).make(config)
      case "ollama":
        return (yield* Effect.promise(() => import("./Llm/Ollama.ts"))).make(config)
      case "extractive":
        return (yield* Effect.promise(() => import("./Llm/Extractive.ts"))).service
      case "openai": {
        const { make } = yield* Effect.promise(() => import("./Llm/OpenAi.ts"))
        const { layer } = yield* Effect.promise(() => import("@effect/platform/FetchHttpClient"))
        return yield* Effect.provide(make({ ...config, keyVariable: variables.llmApiKey }), layer)
      }
    }
  })
)

/** The reranker, if one is configured; its code is loaded only then. */
const reranker = Layer.unwrapEffect(
  Effect.gen(function* () {
    const config = yield* Config.RerankConfig
    if (config.backend === "none") return Layer.empty
    const { make } = yield* Effect.promise(() => import("./Reranker/OpenAi.ts"))
    const { layer } = yield* Effect.promise(() => import("@effect/platform/FetchHttpClient"))
    return Layer.effect(Reranker, make({ ...config, keyVariable: variables.rerankApiKey })).pipe(Layer.provide(layer))
  })
)

const loader = Layer.unwrapEffect(
  Effect.map(Effect.all([Config.LimitsConfig, Config.StoreConfig]), ([{ maxFileBytes, ...extraction }, { path }]) =>
    Files.layer({ formats, maxFileBytes, extraction, index: path })
  )
)

interface Opening {
  /** Reads run in `vector.workers` separate threads, for long-running servers. */
  readonly pooled?: boolean
}

const database = (
  { graph: { enabled: graph }, store: { path: filename, synchronous }, vector: vectors }: Settings,
  mode: Sqlite.DatabaseOptions["mode"] | "memory",
  { pooled = false }: Opening
) => {
  if (mode === "memory") return Sqlite.layer({ filename: ":memory:", mode: "create", graph })
  const options = { filename, mode, synchronous, vectors, graph }
  if (pooled) {
    const readers = vectors.workers === "auto" ? availableParallelism() : vectors.workers
    const finerBytes = vectors.finerMb * 1024 * 1024
    return SqliteThreaded.layerPooled({ ...options, vectors: { ...vectors, finerBytes }, readers })
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

const watcher = ({ store: { path } }: Settings, mode: Sqlite.DatabaseOptions["mode"] | "memory") =>
  Watcher.Default.pipe(
    Layer.provide(FileEvents.layer),
    Layer.provide(mode === "memory" ? WatchLock.layerFree : WatchLock.layer(path))
  )

/** The whole program without its interfaces, on one index. */
export const layer = ({
  apiKeys,
  pooled = false,
  settings,
  store
}: Configured & Opening & { readonly store: Sqlite.DatabaseOptions["mode"] | "memory" }) => {
  return Layer.mergeAll(
    Benchmark.Default,
    Judgements.Default,
    Judging.Default,
    Speed.Default,
    Answer.Default,
    Reindexer.Default,
    Graph.Default,
    Transfer.Default,
    watcher(settings, store),
    upkeep(store, { pooled })
  ).pipe(
    Layer.provideMerge(Layer.merge(Prompt.Default, llm)),
    Layer.provideMerge(Layer.merge(FileIndexer.Default, Layer.provideMerge(Search.Default, reranker))),
    Layer.provideMerge(Indexer.Default),
    Layer.provideMerge(Layer.merge(Chunker.Default, Collections.Default)),
    Layer.provideMerge(Layer.mergeAll(database(settings, store, { pooled }), embedders, loader, Tokenizer.Default)),
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

const noApiKeys: Configured["apiKeys"] = { service: Option.none(), embedding: Option.none(), llm: Option.none() }

/** The program on the configured index, or on the one that the purpose requires. */
export const layerFor = Effect.fnUntraced(function* (
  { apiKeys, settings: given }: Configured,
  purpose: Purpose,
  { exact = given.vector.exact, ...opening }: Opening & { readonly exact?: boolean } = {}
) {
  const settings = { ...given, vector: { ...given.vector, exact } }
  const fs = yield* FileSystem.FileSystem
  const file = settings.store.path
  switch (purpose) {
    case "write":
      return layer({ ...opening, apiKeys, settings, store: "create" })
    case "change":
      return layer({ ...opening, apiKeys, settings, store: "existing" })
    case "shrink":
      return layer({ ...opening, apiKeys, settings, store: "shrink" })
    case "read": {
      // Migrate an older index if it is writable; an index on a read-only disk can still be searched.
      const settled = yield* Effect.orElseSucceed(
        Effect.try(() => Sqlite.isSettled(file)),
        () => false
      )
      const writable = !settled && (yield* Effect.isSuccess(fs.access(file, { writable: true })))
      return layer({ ...opening, apiKeys, settings, store: writable ? "existing" : "readonly" })
    }
    case "readonly":
      return layer({ ...opening, apiKeys, settings, store: "readonly" })
    case "preview":
      return layer({
        ...opening,
        apiKeys,
        settings,
        store: (yield* Effect.isSuccess(fs.access(file))) ? "readonly" : "memory"
      })
    case "temporary": {
      const folder = yield* fs.makeTempDirectoryScoped({ prefix: "clew-" })
      return layer({
        ...opening,
        apiKeys,
        settings: { ...settings, store: { ...settings.store, path: `${folder}/index.db` } },
        store: "create"
      })
    }
  }
}, Effect.provide(platform))

/** Checks the configured index without opening it as a store. */
export const doctor = ({ apiKeys, settings }: Configured) =>
  Doctor.Default.pipe(
    Layer.provide(Layer.merge(SqliteExaminer.layer(settings.store.path), embedders)),
    Layer.provide(Config.layer({ settings, apiKeys })),
    Layer.provide(platform)
  )

/** Checks of what the program needs: SQLite, and the model for answers. */
export const foundations = ({ apiKeys, settings }: Configured) =>
  Effect.all([
    Effect.map(sqliteLoads, (check) => [check]),
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
  const { reachable } = yield* Effect.promise(() => import("./Reranker/reachable.ts"))
  return [yield* reachable(yield* Config.RerankConfig, service.value)]
})

/** Backups of the configured index. */
export const backups = ({ settings }: Configured) => SqliteBackups.layer(settings.store.path)
/** Whether the configured index exists. */
export const exists = ({ store: { path } }: Settings) =>
  Effect.flatMap(FileSystem.FileSystem, (fs) => Effect.isSuccess(fs.access(path))).pipe(Effect.provide(platform))

/** What an index holds, at a glance. */
export const glance = (file: string) => readGlance(file)

/** Further services of the HTTP server: its configuration and rate limiter. */
export const serving = (configured: Configured) =>
  Layer.provideMerge(Memory.layerConfig, Config.layerServer(configured))
