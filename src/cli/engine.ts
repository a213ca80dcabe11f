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
import type { Backups } from "../upkeep/Backups.ts"
import type { StoreUnavailable } from "../Store.ts"

/** Collections, and a sample of sources. */
export interface Glance {
  readonly collections: ReadonlyArray<{ readonly name: string; readonly documents: number }>
  readonly sources: ReadonlyArray<string>
  /** Whether the graph joins documents. */
  readonly joined: boolean
}

export type Settings = Parameters<typeof configLayer>[0]["settings"]

type ConfigError = Layer.Layer.Error<ReturnType<typeof layerServer>>

/** The program's services for one index; loaded when first used, so that help needs none of them. */
export class Engine extends Context.Tag("clew/cli/Engine")<
  Engine,
  {
    /**
     * `pooled`: reads run in separate threads, for a long-running server. `exact`: every vector is scored, whatever the configuration says. `config`: another configuration file than that of the command line.
     */
    readonly open: (
      purpose: Purpose,
      options?: { readonly pooled?: boolean; readonly exact?: boolean; readonly config?: string | undefined }
    ) => Layer.Layer<OpenIndex, ConfigError | StoreUnavailable | PlatformError>
    /** Backups of the index, without opening it as a store. */
    readonly backups: Layer.Layer<Backups, ConfigError>
    /** Checks the index, whatever state it is in. */
    readonly doctor: Layer.Layer<Doctor, ConfigError | StoreUnavailable>
    /** Checks of what the program needs: SQLite, and the model that writes answers. */
    readonly foundations: Effect.Effect<ReadonlyArray<Check>, ConfigError>
    /** The effective configuration. */
    readonly settings: Effect.Effect<Settings, ConfigError>
    /** The HTTP server's further services, with its flags over the configuration. */
    readonly serving: (
      flags: Partial<Pick<Settings["server"], "host" | "port" | "readOnly">>
    ) => Layer.Layer<ServerConfig | RateLimiter, ConfigError>
    /** Whether there is an index. */
    readonly exists: Effect.Effect<boolean, ConfigError>
    /**
     * What the index holds, in a few milliseconds and without opening it as a store; undefined if that is impossible.
     */
    readonly glance: Effect.Effect<Glance | undefined, ConfigError>
    /** The configuration file that was read. */
    readonly configFile: Effect.Effect<Option.Option<string>, ConfigError>
  }
>() {}
