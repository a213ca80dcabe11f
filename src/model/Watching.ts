import * as Schema from "effect/Schema"

/** How a watcher is doing. */
export interface WatchStatus {
  readonly paths: ReadonlyArray<string>
  /** `waiting`: another process watches. */
  readonly state: "waiting" | "starting" | "events" | "polling"
  /** When the last scan ended, in milliseconds since 1970. */
  readonly lastScanAt?: number | undefined
  readonly lastScanMs?: number | undefined
  /** Files told of that have not been looked at since. */
  readonly waiting: number
  readonly failed: number
  /** Paths of which nothing is forgotten, because they are missing or have lost most of their files. */
  readonly held: ReadonlyArray<string>
}

/** How files are followed, in the process that answers. */
export const Watching = Schema.Struct({
  paths: Schema.Array(Schema.String).annotations({ description: "The watched files and folders" }),
  state: Schema.Literal("waiting", "starting", "events", "polling").annotations({
    description:
      "events: the system tells of changes; polling: it does not, and files are looked at now and then; waiting: another process watches for this index"
  }),
  last_scan_at: Schema.optional(Schema.Int).annotations({
    description: "When files were last looked at, in milliseconds since 1970"
  }),
  last_scan_ms: Schema.optional(Schema.Int).annotations({ description: "How long that took" }),
  waiting: Schema.Int.annotations({ description: "Files told of that have not been looked at since" }),
  failed: Schema.Int.annotations({ description: "Files that could not be read or indexed" }),
  held: Schema.Array(Schema.String).annotations({
    description: "Paths of which nothing is forgotten, because they are missing or have lost most of their files"
  })
}).annotations({ identifier: "Watching", description: "How files are followed" })
export type Watching = typeof Watching.Type

export const toWatching = ({ failed, held, lastScanAt, lastScanMs, paths, state, waiting }: WatchStatus): Watching => ({
  paths,
  state,
  ...(lastScanAt === undefined ? {} : { last_scan_at: lastScanAt }),
  ...(lastScanMs === undefined ? {} : { last_scan_ms: lastScanMs }),
  waiting,
  failed,
  held
})
