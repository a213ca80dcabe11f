import type * as LogLevel from "effect/LogLevel"
import * as Schema from "effect/Schema"
import type { Whole } from "../../Store.ts"
import { StoreError } from "../port/errors.ts"
import type { DatabaseOptions } from "../sqlite/connect.ts"
import type { RecordedSpan } from "./spans.ts"

type Name = keyof Whole

/** The port's writes. */
export const writes = [
  "createCollection",
  "dropCollection",
  "put",
  "beginRun",
  "touch",
  "prune",
  "beginReindex",
  "cancelReindex",
  "putReindexed",
  "finishReindex",
  "rebuildStep",
  "extendGraph",
  "graphUnasked",
  "keepSaid",
  "keepLinkage",
  "deleteDocument",
  "deleteMatching",
  "deleteSource",
  "settle",
  "purge",
  "resume",
  "compact"
] as const satisfies ReadonlyArray<Name>

/** The port's reads that may take long. The others look up a few rows, which costs less than calling a thread. */
export const reads = [
  "lookup",
  "embeddings",
  "knownFiles",
  "filesBelow",
  "documentsOf",
  "unembedded",
  "get",
  "passages",
  "list",
  "recent",
  "sample",
  "filtered",
  "metadataKeys",
  "find",
  "written",
  "sizes",
  "linkage",
  "graphPassages",
  "graphEntities",
  "suggest"
] as const satisfies ReadonlyArray<Name>

export type Method = (typeof reads)[number] | (typeof writes)[number]

/** What a thread gets at its start. */
export interface ThreadData extends DatabaseOptions {
  /** The id of the call to cancel. */
  readonly cancelled: Int32Array<SharedArrayBuffer>
  /** Changes with each step of a call. */
  readonly steps: Int32Array<SharedArrayBuffer>
}

/** A call of the port, in a form that structured cloning can transfer. */
export interface Call {
  /** Starts at 1. */
  readonly id: number
  readonly method: Method
  readonly args: ReadonlyArray<unknown>
  /** The names of the spans to return; default: all. */
  readonly spans?: ReadonlySet<string> | undefined
}

/** A defect crosses as its message. */
const Defect = Schema.transform(Schema.String, Schema.Unknown, {
  decode: (message) => new Error(message),
  encode: (defect) => (defect instanceof Error ? defect.message : String(defect))
})

/** The outcome of a call, or of the start. */
export const Outcome = Schema.Exit({ success: Schema.Unknown, failure: StoreError, defect: Defect })

export interface Reply {
  /** The call's id; 0 for the start. */
  readonly id: number
  readonly outcome: typeof Outcome.Encoded
  readonly spans: ReadonlyArray<RecordedSpan>
}

/** What a thread has to log. */
export interface Said {
  readonly level: LogLevel.Literal
  readonly said: string
}
