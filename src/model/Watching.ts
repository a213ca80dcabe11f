import * as Schema from "effect/Schema"

/** The state of a watcher. */
export interface WatchStatus {
  readonly paths: ReadonlyArray<string>
  /** `waiting`: another process watches. */
  readonly state: "waiting" | "starting" | "events" | "polling"
  /** When the last scan ended, in milliseconds since 1970. */
  readonly lastScanAt?: number | undefined
  readonly lastScanMs?: number | undefined
  /** Changed files that have not been scanned yet. */
  readonly waiting: number
  readonly failed: number
  /** Paths whose documents are kept because they are missing or have lost most of their files. */
  readonly held: ReadonlyArray<string>
}

/** How the serving process follows files. */
export const Watching = Schema.Struct({
  paths: Schema.Array(Schema.String).annotations({ description: "The watched files and folders" }),
  state: Schema.Literal("waiting", "starting", "events", "polling").annotations({
    description:
      "events: the system reports changes; polling: it does not, and files are scanned now and then; waiting: another process watches this index"
  }),
  last_scan_at: Schema.optional(Schema.Int).annotations({
    description: "Time of the last scan, in milliseconds since 1970"
  }),
  last_scan_ms: Schema.optional(Schema.Int).annotations({ description: "Duration of that scan" }),
  waiting: Schema.Int.annotations({ description: "Changed files that have not been scanned yet" }),
  failed: Schema.Int.annotations({ description: "Files that could not be read or indexed" }),
  held: Schema.Array(Schema.String).annotations({
    description: "Paths whose documents are kept because they are missing or have lost most of their files"
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
