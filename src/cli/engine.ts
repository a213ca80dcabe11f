import type { PlatformError } from "@effect/platform/Error"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import type { OpenIndex } from "../OpenIndex.ts"
import type { layer as configLayer, layerServer, ServerConfig } from "../Config.ts"
import type { Doctor } from "../upkeep/Doctor.ts"
import type { Check } from "../model/Check.ts"
import type { RateLimiter } from "../RateLimiter.ts"
import type { Purpose } from "../model/Purpose.ts"
import type { Snapshots } from "../upkeep/Snapshots.ts"
import type { StoreUnavailable } from "../Store.ts"

/** Collections, and sources from all over the index. */
export interface Glance {
  readonly collections: ReadonlyArray<{ readonly name: string; readonly documents: number }>
  readonly sources: ReadonlyArray<string>
  /** Whether the graph joins documents. */
  readonly joined: boolean
}

export type Settings = Parameters<typeof configLayer>[0]["settings"]

type ConfigError = Layer.Layer.Error<ReturnType<typeof layerServer>>

/** The program's parts, put together for one index; loaded when first asked for, so that help needs none of them. */
export class Engine extends Context.Tag("clew/cli/Engine")<
  Engine,
  {
    /**
     * `pooled`: reads run in threads of their own, for a door that answers many and for long. `exact`: every vector is
     * scored, whatever the configuration says. `config`: another configuration file than that of the command line.
     */
    readonly open: (
      purpose: Purpose,
      options?: { readonly pooled?: boolean; readonly exact?: boolean; readonly config?: string | undefined }
    ) => Layer.Layer<OpenIndex, ConfigError | StoreUnavailable | PlatformError>
    /** Backups of the index, which is not opened for it. */
    readonly snapshots: Layer.Layer<Snapshots, ConfigError>
    /** What looks the index over, whatever state it is in. */
    readonly doctor: Layer.Layer<Doctor, ConfigError | StoreUnavailable>
    /** Whether what the program stands on is there: SQLite, and what writes answers. */
    readonly foundations: Effect.Effect<ReadonlyArray<Check>, ConfigError>
    /** The configuration as it holds. */
    readonly settings: Effect.Effect<Settings, ConfigError>
    /** What the HTTP server needs besides, with what its flags say over the configuration. */
    readonly serving: (
      flags: Partial<Pick<Settings["server"], "host" | "port" | "readOnly">>
    ) => Layer.Layer<ServerConfig | RateLimiter, ConfigError>
    /** Whether there is an index. */
    readonly exists: Effect.Effect<boolean, ConfigError>
    /** What the index holds, in a few milliseconds and without opening it as a store; undefined where it cannot be read so. */
    readonly glance: Effect.Effect<Glance | undefined, ConfigError>
    /** The configuration file that was read. */
    readonly configFile: Effect.Effect<Option.Option<string>, ConfigError>
  }
>() {}
