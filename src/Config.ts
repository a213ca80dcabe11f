import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { ConfigError } from "./Config/Problems.ts"
import { type ApiKeys, keyVariables, noApiKeys } from "./Config/Env.ts"
import { Settings, type SettingsEncoded } from "./Config/Settings.ts"
import { withHost } from "./Config/Value.ts"
import type { ServerKey } from "./model/Key.ts"

type ApiKey = Option.Option<Redacted.Redacted>

/** The embedder; `apiKey` is for an OpenAI-compatible server. */
export class EmbeddingConfig extends Context.Tag("clew/Config/Embedding")<
  EmbeddingConfig,
  Settings["embedding"] & { readonly apiKey: ApiKey }
>() {}

/** The model that writes answers; `apiKey` is for an OpenAI-compatible server. */
export class LlmConfig extends Context.Tag("clew/Config/Llm")<
  LlmConfig,
  Settings["llm"] & { readonly apiKey: ApiKey }
>() {}

/** The reranker; `apiKey` is for its server. */
export class RerankConfig extends Context.Tag("clew/Config/Rerank")<
  RerankConfig,
  Settings["rerank"] & { readonly apiKey: ApiKey }
>() {}

/** How documents are cut into passages. */
export class PipelineConfig extends Context.Tag("clew/Config/Pipeline")<PipelineConfig, Settings["pipeline"]>() {}

/** Defaults of a search. */
export class SearchConfig extends Context.Tag("clew/Config/Search")<SearchConfig, Settings["search"]>() {}

/** Where the database is; the path is absolute. */
export class StoreConfig extends Context.Tag("clew/Config/Store")<StoreConfig, Settings["store"]>() {}

/** Whether the index is in PostgreSQL. */
export const isInPostgres = ({ backend, url }: Settings["store"]): boolean =>
  backend === "postgres" || (backend === "auto" && url !== undefined)

/** Whether the index is in a cluster of OpenSearch. */
export const isInOpenSearch = ({ backend, url, urls }: Settings["store"]): boolean =>
  backend === "opensearch" || (backend === "auto" && url === undefined && urls !== undefined)

/** Whether the index is in no file of this machine. */
export const isOnServer = (store: Settings["store"]): boolean => isInPostgres(store) || isInOpenSearch(store)

/** The index as people are told of it: its file, or server and place in it, without user and password. */
export const indexName = (store: Settings["store"]): string => {
  if (isInOpenSearch(store)) {
    return `OpenSearch ${store.urls!.map((url) => new URL(url).host).join(", ")}, prefix ${store.indexPrefix}`
  }
  if (!isInPostgres(store)) return store.path
  const { host, pathname, searchParams } = new URL(withHost(Redacted.value(store.url!)))
  const where = searchParams.get("host") ?? (host === "" ? "localhost" : host)
  return `PostgreSQL ${where}${pathname === "/" ? "" : pathname}, schema ${store.schema}`
}

/** Limits on input. */
export class LimitsConfig extends Context.Tag("clew/Config/Limits")<LimitsConfig, Settings["limits"]>() {}

/** What to watch, and how soon to index changes. */
export class WatchConfig extends Context.Tag("clew/Config/Watch")<WatchConfig, Settings["watch"]>() {}

export class TelemetryConfig extends Context.Tag("clew/Config/Telemetry")<TelemetryConfig, Settings["telemetry"]>() {}

export class LogConfig extends Context.Tag("clew/Config/Log")<LogConfig, Settings["log"]>() {}

/** The keys of a configuration file, as they are now. */
export interface KeysFile {
  readonly path: string
  readonly read: Effect.Effect<ReadonlyArray<ServerKey>, ConfigError>
}

/** How the HTTP server listens; without an `apiKey`, `keys` and an issuer it is open to anyone who can reach it. */
export class ServerConfig extends Context.Tag("clew/Config/Server")<
  ServerConfig,
  Settings["server"] & {
    readonly keys: ReadonlyArray<ServerKey>
    /** Where keys are read again; undefined if there is no file. */
    readonly keysFile?: KeysFile | undefined
    readonly publicStats: boolean
    readonly rateLimitPerSecond: number
    readonly apiKey: ApiKey
  }
>() {}

/** Whether the server lets in whoever reaches it. */
export const isOpen = ({ apiKey, keys, oauthIssuer }: typeof ServerConfig.Service): boolean =>
  Option.isNone(apiKey) && keys.length === 0 && oauthIssuer === undefined

/** Decoded settings with the keys that are never in a file. */
interface Parts {
  readonly settings: Settings
  readonly apiKeys: ApiKeys
}

/** The configuration of everything but the HTTP server. */
export const layer = ({ apiKeys, settings }: Parts) =>
  Layer.succeedContext(
    Context.make(EmbeddingConfig, { ...settings.embedding, apiKey: apiKeys.embedding }).pipe(
      Context.add(LlmConfig, { ...settings.llm, apiKey: apiKeys.llm }),
      Context.add(RerankConfig, { ...settings.rerank, apiKey: apiKeys.rerank }),
      Context.add(PipelineConfig, settings.pipeline),
      Context.add(SearchConfig, settings.search),
      Context.add(StoreConfig, settings.store),
      Context.add(LimitsConfig, settings.limits),
      Context.add(WatchConfig, settings.watch),
      Context.add(TelemetryConfig, settings.telemetry),
      Context.add(LogConfig, settings.log)
    )
  )

/** The HTTP server's own configuration, apart from the rest so that only the server can fail for its key. */
export const layerServer = ({
  apiKeys,
  keysFile,
  settings
}: Parts & { readonly keysFile?: KeysFile | undefined }): Layer.Layer<ServerConfig, ConfigError> =>
  Layer.effect(
    ServerConfig,
    Effect.map(checkApiKey(apiKeys.service), (apiKey) => ({
      ...settings.server,
      keys: settings.server.keys ?? [],
      keysFile,
      publicStats: settings.publicStats,
      rateLimitPerSecond: settings.rateLimitPerSecond,
      apiKey
    }))
  )

/** An empty key would let everyone in; a key that no header can carry would let nobody in. */
const checkApiKey = (apiKey: ApiKey): Effect.Effect<ApiKey, ConfigError> => {
  const refuse = (detail: string) =>
    new ConfigError({ problems: [{ where: `environment variable ${keyVariables.service}`, detail }] })
  const value = Option.map(apiKey, Redacted.value)
  if (Option.isNone(value)) return Effect.succeed(apiKey)
  if (value.value.trim() === "") return refuse("is set, but empty; give it a value, or unset it to serve without a key")
  if (!/^[\x21-\x7e]+( +[\x21-\x7e]+)*$/.test(value.value)) {
    return refuse("must be printable ASCII without blanks around it, or no client can send it in a header")
  }
  return Effect.succeed(apiKey)
}

/** The defaults with these values over them, the server's included: for a program that brings its own configuration. */
export const layerOf = (settings: SettingsEncoded, apiKeys: Partial<ApiKeys> = {}) =>
  Layer.unwrapEffect(
    Effect.map(Schema.decode(Settings, { onExcessProperty: "error" })(settings), (settings) => {
      const parts = { settings, apiKeys: { ...noApiKeys, ...apiKeys } }
      return Layer.merge(layer(parts), layerServer(parts))
    })
  )
