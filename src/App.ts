import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import { availableParallelism } from "node:os"
import { Answer } from "./Answer.ts"
import { Benchmark } from "./measuring/Benchmark.ts"
import { Chunker } from "./Chunker.ts"
import * as Config from "./Config.ts"
import { variables } from "./Config/Env.ts"
import * as Load from "./Config/Load.ts"
import { Settings, type SettingsEncoded } from "./Config/Settings.ts"
import { Doctor } from "./upkeep/Doctor.ts"
import { Embedder } from "./Embedder.ts"
import { Breakers, queryTimeout } from "./Embedder/Breakers.ts"
import * as Builtin from "./Embedder/Builtin.ts"
import { prefixesOf } from "./Embedder/prefixes.ts"
import * as Embedders from "./Embedders.ts"
import * as FileEvents from "./files/FileEvents/Node.ts"
import { FileIndexer } from "./files/FileIndexer.ts"
import { Graph } from "./Graph.ts"
import { Indexer } from "./Indexer.ts"
import * as Files from "./files/Loader/Files.ts"
import { formats } from "./files/Loader/formats.ts"
import type { EmbedderIdentity } from "./model/Collection.ts"
import { Llm } from "./Llm.ts"
import { packagedModel } from "./packaged/model.ts"
import { Prompt } from "./Prompt.ts"
import { Rebuilder } from "./upkeep/Rebuilder.ts"
import * as Memory from "./RateLimiter/Memory.ts"
import { Reindexer } from "./upkeep/Reindexer.ts"
import { Search } from "./Search.ts"
import { Speed } from "./measuring/Speed.ts"
import { engine } from "./Store/engine.ts"
import { glance as readGlance } from "./Store/glance.ts"
import * as Sqlite from "./Store/Sqlite.ts"
import * as SqliteExaminer from "./Store/SqliteExaminer.ts"
import * as SqliteSnapshots from "./Store/SqliteSnapshots.ts"
import * as SqliteThreaded from "./Store/SqliteThreaded.ts"
import { Tokenizer } from "./packaged/Tokenizer.ts"
import { makeTurns, type Turns } from "./runtime/Turn.ts"
import { Transfer } from "./upkeep/Transfer.ts"
import { Watcher } from "./files/Watcher.ts"
import * as WatchLock from "./files/WatchLock/Sqlite.ts"

/** Decoded settings, and the keys that are in no file. */
export type Configured = Pick<Load.Loaded, "settings" | "apiKeys">

const platform = Layer.merge(NodeFileSystem.layer, NodePath.layer)

/** The configuration as it holds here: flag over environment over file over default. */
export const configure = (options: Load.LoadOptions) => Effect.provide(Load.load(options), platform)

type Embedding = Config.EmbeddingConfig["Type"]
type Service = Embedder["Type"]

const ollamaModel = "nomic-embed-text"

/** An embedder behind a network, its client loaded only where it is asked for. */
const remote = (
  config: Embedding & { readonly turns: Turns; readonly breakers: Breakers },
  backend: "ollama" | "openai",
  recorded?: EmbedderIdentity
): Effect.Effect<Service> =>
  Effect.gen(function* () {
    const model = recorded?.model ?? config.model ?? ollamaModel
    const given = recorded ?? config
    const options = { ...config, model, prefixes: prefixesOf(model, given) }
    const width = given.dimensions === undefined ? "" : ` (${given.dimensions})`
    const guarded = {
      name: `${backend} ${model}${width}`,
      patience: Math.min(queryTimeout, config.timeoutMs)
    }
    if (backend === "ollama") {
      const { make } = yield* Effect.promise(() => import("./Embedder/Ollama.ts"))
      return yield* config.breakers.guard({ ...guarded, embedder: make(options) })
    }
    const { make } = yield* Effect.promise(() => import("./Embedder/OpenAi.ts"))
    const { layer } = yield* Effect.promise(() => import("@effect/platform/FetchHttpClient"))
    const embedder = Effect.provide(make({ ...options, keyVariable: variables.embeddingApiKey }), layer)
    return yield* config.breakers.guard({ ...guarded, embedder })
  })

/**
 * Ollama where it answers and has the model, else the packaged model; asked each time, so that a collection made later
 * gets an Ollama that was started meanwhile. What a collection records is opened by that record.
 */
const whicheverAnswers = (config: Parameters<typeof remote>[0], builtin: Service) =>
  Effect.gen(function* () {
    // Uninterruptible, or one caller that goes away would leave an interruption as the answer for all.
    const ollama = yield* Effect.cached(Effect.uninterruptible(remote(config, "ollama")))
    const said = yield* Ref.make("")
    const picked = Effect.gen(function* () {
      const { choose } = yield* Effect.promise(() => import("./vendors/Ollama.ts"))
      return yield* choose(config.url, config.model ?? ollamaModel).pipe(
        Effect.zipRight(ollama),
        Effect.catchAll(({ absent, reason }) =>
          Effect.flatMap(Ref.getAndSet(said, reason), (before) => {
            // Who has no Ollama expects none.
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
      embedQuery: (text) => Effect.flatMap(picked, ({ embedQuery }) => embedQuery(text)),
      knownShare: (text) => Effect.flatMap(picked, ({ knownShare }) => knownShare?.(text) ?? Effect.succeed(1)),
      embedPassages: (texts) => Effect.flatMap(picked, ({ embedPassages }) => embedPassages(texts)),
      urgent: {
        identity: Effect.flatMap(picked, ({ identity, urgent }) => urgent?.identity ?? identity),
        check: Effect.flatMap(picked, ({ identity, urgent }) => urgent?.check ?? identity)
      }
    })
  })

/** A model folder's identity ends in a hash of its weights. */
const folderOf = ({ model }: EmbedderIdentity): string | undefined =>
  model === packagedModel ? undefined : model.replace(/@[0-9a-f]{8}$/, "")

const embedders = Layer.unwrapEffect(
  Effect.gen(function* () {
    const given = yield* Config.EmbeddingConfig
    // Of all collections together, whatever their models.
    const config = { ...given, turns: makeTurns(given.concurrency), breakers: yield* Breakers }
    const { passagePrefix, queryPrefix } = config
    const path = yield* Path.Path
    const isFolder = config.backend === "builtin" || (config.model !== undefined && path.isAbsolute(config.model))
    const builtin = yield* Builtin.make({ folder: isFolder ? config.model : undefined, queryPrefix, passagePrefix })
    const configured =
      config.backend === "ollama" || config.backend === "openai"
        ? yield* remote(config, config.backend)
        : config.backend === "builtin" || isFolder
          ? builtin
          : yield* whicheverAnswers(config, builtin)

    const isBuiltin = (recorded: EmbedderIdentity) =>
      folderOf(recorded) === (isFolder ? config.model : undefined) &&
      recorded.queryPrefix === (queryPrefix ?? "") &&
      recorded.passagePrefix === (passagePrefix ?? "")
    const open = (recorded: EmbedderIdentity): Effect.Effect<Service> =>
      recorded.backend === "ollama" || recorded.backend === "openai"
        ? remote(config, recorded.backend, recorded)
        : isBuiltin(recorded)
          ? Effect.succeed(builtin)
          : Builtin.make({ ...recorded, folder: folderOf(recorded) })
    return Layer.provide(
      Embedders.layer({
        insists: config.backend !== "auto",
        // It is here and asks nobody, whatever serves new collections.
        opensRecorded: ({ backend }) => backend === "builtin" && config.backend !== "builtin",
        open
      }),
      Layer.succeed(Embedder, configured)
    )
  })
).pipe(Layer.provide(Breakers.Default))

/** What writes answers; each kind's own code is loaded where it is asked for. */
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

const loader = Layer.unwrapEffect(
  Effect.map(Effect.all([Config.LimitsConfig, Config.StoreConfig]), ([{ maxFileBytes, ...extraction }, { path }]) =>
    Files.layer({ formats, maxFileBytes, extraction, index: path })
  )
)

interface Opening {
  /** Reads run in threads of their own, as many as `vector.workers` says; for doors that answer many and for long. */
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
    return SqliteThreaded.layerPooled({ ...options, readers })
  }
  return mode === "readonly" ? Sqlite.layer(options) : SqliteThreaded.layer(options)
}

/** What another version made is made anew: beside everything else where a door runs long, else as far as it takes no time. */
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

/** The whole program but its doors, on one index. */
export const layer = ({
  apiKeys,
  pooled = false,
  settings,
  store
}: Configured & Opening & { readonly store: Sqlite.DatabaseOptions["mode"] | "memory" }) => {
  return Layer.mergeAll(
    Benchmark.Default,
    Speed.Default,
    Answer.Default,
    Reindexer.Default,
    Graph.Default,
    Transfer.Default,
    watcher(settings, store),
    upkeep(store, { pooled })
  ).pipe(
    Layer.provideMerge(Layer.merge(Prompt.Default, llm)),
    Layer.provideMerge(Layer.merge(FileIndexer.Default, Search.Default)),
    Layer.provideMerge(Indexer.Default),
    Layer.provideMerge(Chunker.Default),
    Layer.provideMerge(Layer.mergeAll(database(settings, store, { pooled }), embedders, loader, Tokenizer.Default)),
    Layer.provideMerge(Config.layer({ settings, apiKeys })),
    Layer.provide(platform)
  )
}

/**
 * The program with the defaults but for these settings, for a program that brings its own configuration. Without
 * `store.path` the index goes with the process.
 */
export const layerOf = (given: Omit<SettingsEncoded, "store"> & { readonly store?: SettingsEncoded["store"] } = {}) =>
  Layer.unwrapEffect(
    Effect.map(decodeSettings({ ...given, store: given.store ?? { path: "/" } }), (settings) =>
      layer({ settings, apiKeys: noApiKeys, store: given.store === undefined ? "memory" : "create" })
    )
  )

const decodeSettings = Schema.decode(Settings, { onExcessProperty: "error" })

const noApiKeys: Configured["apiKeys"] = { service: Option.none(), embedding: Option.none(), llm: Option.none() }

/** What an index is opened for; see the doors that say so. */
export type Purpose = "write" | "change" | "shrink" | "read" | "readonly" | "preview" | "temporary"

/** The program on the configured index, or on the one that the purpose asks for instead. */
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
      // Whoever may write brings an older index up to date; an index on a read-only disk can still be searched.
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

/** What looks the configured index over, which need not open for it. */
export const doctor = ({ apiKeys, settings }: Configured) =>
  Doctor.Default.pipe(
    Layer.provide(Layer.merge(SqliteExaminer.layer(settings.store.path), embedders)),
    Layer.provide(Config.layer({ settings, apiKeys })),
    Layer.provide(platform)
  )

/** Whether what the program stands on is there: SQLite, and what writes answers. */
export const foundations = ({ apiKeys, settings }: Configured) =>
  Effect.all([
    engine,
    Effect.flatMap(Config.LlmConfig, (config) =>
      Effect.flatMap(
        Effect.promise(() => import("./Llm/reachable.ts")),
        ({ reachable }) => reachable(config)
      )
    )
  ]).pipe(Effect.provide(Config.layer({ settings, apiKeys })))

/** Backups of the configured index. */
export const snapshots = ({ settings }: Configured) => SqliteSnapshots.layer(settings.store.path)
/** Whether there is an index where the settings say. */
export const exists = ({ store: { path } }: Settings) =>
  Effect.flatMap(FileSystem.FileSystem, (fs) => Effect.isSuccess(fs.access(path))).pipe(Effect.provide(platform))

/** What an index holds, at a glance. */
export const glance = (file: string) => readGlance(file)

/** What the HTTP server needs besides: its own configuration, and how often each client may ask. */
export const serving = (configured: Configured) =>
  Layer.provideMerge(Memory.layerConfig, Config.layerServer(configured))
