import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Benchmark } from "./measuring/Benchmark.ts"
import { Judgements } from "./measuring/Judgements.ts"
import { Judging } from "./measuring/Judging.ts"
import { Chunker } from "./Chunker.ts"
import { fail, ok } from "./model/Check.ts"
import * as Config from "./Config.ts"
import { noApiKeys } from "./Config/Env.ts"
import { type Configured, openSearchOptions, postgresOptions, opensearch, platform, postgres } from "./Configured.ts"
import { type Opened, type Opening, embedders, layer as reading, openingFor, reranker } from "./App/reading.ts"
import { Settings, type SettingsEncoded } from "./Config/Settings.ts"
import { Doctor } from "./upkeep/Doctor.ts"
import * as FileEvents from "./files/FileEvents/Node.ts"
import { FileIndexer } from "./files/FileIndexer.ts"
import * as Files from "./files/Loader/Files.ts"
import { formats } from "./files/Loader/formats.ts"
import * as RateLimiter from "./RateLimiter.ts"
import { Reindexer } from "./upkeep/Reindexer.ts"
import { stacked } from "./runtime/stacked.ts"
import { Reranker } from "./Reranker.ts"
import { Speed } from "./measuring/Speed.ts"
import * as SqliteExaminer from "./Store/SqliteExaminer.ts"
import * as SqliteBackups from "./Store/SqliteBackups.ts"
import { Transfer } from "./upkeep/Transfer.ts"
import { Watcher } from "./files/Watcher.ts"
import * as WatchLock from "./files/WatchLock/Sqlite.ts"
import { Indexer } from "./Indexer.ts"
import { TakesMentions } from "./Indexer/mentioning.ts"
import * as Sqlite from "./Store/Sqlite.ts"

const loader = Layer.unwrapEffect(
  Effect.map(Effect.all([Config.LimitsConfig, Config.StoreConfig]), ([{ maxFileBytes, ...extraction }, { path }]) =>
    Files.layer({ formats, maxFileBytes, extraction, index: path })
  )
)

const changes = ({ pooled = false, staged = false }: Opening) =>
  pooled && staged ? Layer.scopedDiscard(Effect.flatMap(Reindexer, ({ inBackground }) => inBackground)) : Layer.empty

const watchLock = ({ store, store: { path } }: Settings, mode: Sqlite.DatabaseOptions["mode"] | "memory") =>
  mode === "memory"
    ? WatchLock.layerFree
    : WatchLock.layer(
        Config.isInPostgres(store)
          ? `${path}.${store.schema}`
          : Config.isInOpenSearch(store)
            ? `${path}.${store.indexPrefix}`
            : path
      )

/** Not in a server, whose thread has callers to answer. */
const takingMentions = ({ pooled = false, settings: { graph, store } }: Opened) =>
  Layer.succeed(TakesMentions, graph.enabled && !pooled && !Config.isInOpenSearch(store))

/** The whole program without its interfaces, on one index. */
export const layer = (opened: Opened) =>
  stacked(
    reading(opened),
    Chunker.Default,
    loader,
    takingMentions(opened),
    Indexer.Default,
    FileIndexer.Default,
    Benchmark.Default,
    Judgements.Default,
    Judging.Default,
    Speed.Default,
    Reindexer.Default,
    changes(opened),
    Transfer.Default,
    FileEvents.layer,
    watchLock(opened.settings, opened.store),
    Watcher.Default
  )

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

/** The program on the configured index, or on the one that the purpose requires. */
export const layerFor = (...how: Parameters<typeof openingFor>) => Effect.map(openingFor(...how), layer)

const examiner = (configured: Configured) => {
  const { settings } = configured
  if (Config.isInOpenSearch(settings.store)) {
    return Layer.unwrapEffect(
      Effect.map(
        Effect.promise(() => import("./Store/OpenSearchExaminer.ts")),
        ({ layer }) => layer({ ...openSearchOptions(configured), mode: "existing" })
      )
    )
  }
  return Config.isInPostgres(settings.store)
    ? Layer.unwrapEffect(
        Effect.map(
          Effect.promise(() => import("./Store/PostgresExaminer.ts")),
          ({ layer }) => layer({ ...postgresOptions(settings), mode: "existing" })
        )
      )
    : SqliteExaminer.layer(settings.store.path)
}

/** Checks the configured index without opening it as a store. */
export const doctor = ({ apiKeys, settings }: Configured) =>
  stacked(
    platform,
    Config.layer({ settings, apiKeys }),
    examiner({ apiKeys, settings }),
    embedders(false),
    Doctor.Default
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
  stacked(Config.layerServer(configured), RateLimiter.layerConfig)
