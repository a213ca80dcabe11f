import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Config from "./Config.ts"
import { type Loaded, type LoadOptions, load } from "./Config/Load.ts"
import type { Settings } from "./Config/Settings.ts"
import { glance as readGlance } from "./Store/glance.ts"

// What a program asks before it opens an index, apart from App.ts: an MCP client waits for no more than this.

/** Decoded settings, and the API keys, which are in no file. */
export type Configured = Pick<Loaded, "settings" | "apiKeys">

export const platform = Layer.merge(NodeFileSystem.layer, NodePath.layer)

/** The effective configuration: flag over environment over file over default. */
export const configure = (options: LoadOptions) => Effect.provide(load(options), platform)

export const postgres = Effect.promise(() => import("./Store/Postgres.ts"))

export const opensearch = Effect.promise(() => import("./Store/OpenSearch.ts"))

export const openSearchOptions = ({ apiKeys, settings: { store } }: Configured) => ({
  urls: store.urls!,
  username: store.username,
  password: Option.getOrUndefined(apiKeys.store),
  ca: store.ca,
  prefix: store.indexPrefix,
  shards: store.shards,
  replicas: store.replicas,
  refresh: store.refresh,
  timeoutMs: store.timeoutMs
})

export const postgresOptions = ({ store: { pool, schema, url } }: Settings) => ({ pool, schema, url: url! })

/** Whether the configured index exists. */
export const exists = (configured: Configured) => {
  const { settings } = configured
  const { store } = settings
  const found: Effect.Effect<boolean, unknown, FileSystem.FileSystem> = Config.isInOpenSearch(store)
    ? Effect.flatMap(opensearch, ({ exists }) => exists({ ...openSearchOptions(configured), mode: "existing" }))
    : Config.isInPostgres(store)
      ? Effect.flatMap(postgres, ({ exists }) => exists(postgresOptions(settings)))
      : Effect.flatMap(FileSystem.FileSystem, (fs) => Effect.as(fs.access(store.path), true))
  return Effect.provide(
    Effect.orElseSucceed(found, () => false),
    platform
  )
}

/** What an index holds, at a glance. */
export const glance = (store: Settings["store"]) => (Config.isOnServer(store) ? undefined : readGlance(store.path))
