import type { Whole } from "../../Store.ts"
import type { StoreError } from "../port/errors.ts"
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
  "putReindexed",
  "finishReindex",
  "rebuildStep",
  "extendGraph",
  "graphUnasked",
  "keepSaid",
  "deleteDocument",
  "deleteMatching",
  "deleteSource",
  "settle",
  "purge",
  "resume",
  "compact"
] as const satisfies ReadonlyArray<Name>

/** The port's reads that may take long; the others look up a few rows, which costs less than asking a thread. */
export const reads = [
  "lookup",
  "embeddings",
  "knownFiles",
  "filesBelow",
  "documentsOf",
  "unembedded",
  "get",
  "list",
  "recent",
  "sample",
  "metadataKeys",
  "rank",
  "find",
  "written",
  "sizes",
  "linkage",
  "graphPage",
  "graphPassages",
  "graphEntities"
] as const satisfies ReadonlyArray<Name>

export type Write = (typeof writes)[number]
export type Read = (typeof reads)[number]
export type Method = Read | Write

/** What a thread knows from its start. */
export interface ThreadData extends DatabaseOptions {
  /** Holds the id of the call that is to be given up. */
  readonly cancelled: Int32Array<SharedArrayBuffer>
  /** Changes with each step of a call. */
  readonly steps: Int32Array<SharedArrayBuffer>
  /** What all threads share: memory, for one. */
  readonly shared?: unknown
}

/** A call of the port: what structured cloning carries over. */
export interface Call {
  /** From 1 up. */
  readonly id: number
  readonly method: Method
  readonly args: ReadonlyArray<unknown>
  /** The names of the spans that are to come back; unset: all. */
  readonly spans?: ReadonlySet<string> | undefined
}

/** What came of a call, or of the start; a failure stands as its schema encodes it. */
export type Outcome =
  | { readonly value: unknown }
  | { readonly failure: typeof StoreError.Encoded }
  | { readonly defect: string }

export interface Reply {
  /** The call's; 0 for the start. */
  readonly id: number
  readonly outcome: Outcome
  readonly spans: ReadonlyArray<RecordedSpan>
}
