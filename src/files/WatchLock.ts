import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { StoreUnavailable } from "../Store.ts"

/** Another process, or another part of this one, watches one of the paths for the same index. */
export class WatchTaken extends Data.TaggedError("WatchTaken")<{
  readonly pid: number | undefined
  readonly paths: ReadonlyArray<string>
}> {}

/** Lets one watcher at a time watch a path for an index. */
export class WatchLock extends Context.Tag("clew/WatchLock")<
  WatchLock,
  {
    /** Takes all of them, or none. Held until the scope closes or the process ends in any way. */
    readonly take: (paths: ReadonlyArray<string>) => Effect.Effect<void, WatchTaken | StoreUnavailable, Scope.Scope>
  }
>() {}
