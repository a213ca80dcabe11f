import type { PlatformError } from "@effect/platform/Error"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import type { YieldWrap } from "effect/Utils"
import * as path from "node:path"
import type { ServerConfig, layer as configLayer, layerServer } from "../Config.ts"
import type { OpenIndex, Purpose, ReadIndex } from "../OpenIndex.ts"
import type { RateLimiter } from "../RateLimiter.ts"
import type { Backups, StoreUnavailable } from "../Store.ts"
import type { Check } from "../model/Check.ts"
import type { Doctor } from "../upkeep/Doctor.ts"
import type { Meeting } from "../mcp/meeting.ts"
import type { Globals } from "./arguments.ts"
import { printableLine } from "./terminal.ts"

/** Where and how the program was started. */
export class Place extends Context.Tag("clew/cli/Place")<
  Place,
  {
    readonly cwd: string
    readonly env: Readonly<Record<string, string | undefined>>
    readonly globals: Globals
    /** The command as typed: `clew query`. */
    readonly command: string
    /** The file of this program, as it was started. */
    readonly script?: string | undefined
    /** Where other processes join this one, if that is decided. */
    readonly meeting?: Meeting | undefined
  }
>() {}

/**
 * A path relative to the working directory, unless that is longer; anything but an absolute path stays as it is, on one
 * line.
 */
export const displayPath = (cwd: string, source: string): string => {
  const relative = path.isAbsolute(source) ? path.relative(cwd, source) || "." : source
  return printableLine(relative.length < source.length || relative === "." ? relative : source)
}

/** Collections, and a sample of sources. */
interface Glance {
  readonly collections: ReadonlyArray<{ readonly name: string; readonly documents: number }>
  readonly sources: ReadonlyArray<string>
  /** Whether the graph joins documents. */
  readonly joined: boolean
}

/** An index at another path, with an embedder as `--embedder` names it. */
export interface Copy {
  readonly path: string
  readonly backend: string
  readonly model: string | undefined
}

type Settings = Parameters<typeof configLayer>[0]["settings"]

type ConfigError = Layer.Layer.Error<ReturnType<typeof layerServer>>

/** The program's services for one index; loaded when first used, so that help needs none of them. */
export class Engine extends Context.Tag("clew/cli/Engine")<
  Engine,
  {
    readonly open: (
      purpose: Purpose,
      options?: {
        /** Reads run in separate threads, for a long-running server. */
        readonly pooled?: boolean
        /** Every vector is scored, whatever the configuration says. */
        readonly exact?: boolean
        /** Another configuration file than that of the command line. */
        readonly config?: string | undefined
        /** The index in this file; false: that of the configuration, whatever the command line says. */
        readonly db?: string | false | undefined
        /** Another index, with its own embedder in place of the configured one. */
        readonly copy?: Copy | undefined
      }
    ) => Layer.Layer<OpenIndex, ConfigError | StoreUnavailable | PlatformError>
    /** What `open("read")` has for commands that only ask, which load nothing else. */
    readonly read: Layer.Layer<ReadIndex, ConfigError | StoreUnavailable | PlatformError>
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
      flags: Partial<Pick<Settings["server"], "host" | "port" | "readOnly" | "console">>
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

// oxlint-disable-next-line typescript/no-explicit-any
export type Step = YieldWrap<Effect.Effect<any, any, any>>

/** Runs a generator's steps, as `Effect.gen` does, with the services of the open index. */
export const inIndex = <S extends Step, A>(
  purpose: Purpose,
  steps: () => Generator<S, A, never>,
  options?: Parameters<Engine["Type"]["open"]>[1]
) => Effect.flatMap(Engine, ({ open }) => Effect.provide(Effect.gen(steps), open(purpose, options)))

/** The same for those that only ask. */
export const reading = <S extends Step, A>(steps: () => Generator<S, A, never>) =>
  Effect.flatMap(Engine, ({ read }) => Effect.provide(Effect.gen(steps), read))
