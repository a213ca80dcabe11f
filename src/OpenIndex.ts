import type { Answer } from "./Answer.ts"
import type { Collections } from "./Collections.ts"
import type { LimitsConfig, LogConfig, SearchConfig, StoreConfig, TelemetryConfig } from "./Config.ts"
import type { PackagedEmbedder } from "./Embedder.ts"
import type { Embedders } from "./Embedders.ts"
import type { Graph } from "./Graph.ts"
import type { Indexer } from "./Indexer.ts"
import type { Prompt } from "./Prompt.ts"
import type { Search } from "./Search.ts"
import type { Stores } from "./Store.ts"
import type { FileIndexer } from "./files/FileIndexer.ts"
import type { Loader } from "./files/Loader.ts"
import type { Watcher } from "./files/Watcher.ts"
import type { Benchmark } from "./measuring/Benchmark.ts"
import type { Judgements } from "./measuring/Judgements.ts"
import type { Judging } from "./measuring/Judging.ts"
import type { Speed } from "./measuring/Speed.ts"
import type { Tokenizer } from "./packaged/Tokenizer.ts"
import type { Reindexer } from "./upkeep/Reindexer.ts"
import type { Transfer } from "./upkeep/Transfer.ts"

/** What an index offers those who only read it: use cases, ports and their configuration. */
export type ReadIndex =
  | Answer
  | Collections
  | Embedders
  | Graph
  | LimitsConfig
  | LogConfig
  | PackagedEmbedder
  | Prompt
  | Search
  | SearchConfig
  | StoreConfig
  | Stores
  | TelemetryConfig
  | Tokenizer

/** The same with what writes and measures. */
export type OpenIndex =
  | ReadIndex
  | Benchmark
  | FileIndexer
  | Indexer
  | Judgements
  | Judging
  | Loader
  | Reindexer
  | Speed
  | Transfer
  | Watcher

/**
 * The purpose of opening the index:
 *
 * - `write` creates it if there is none;
 * - `change` and `read` need it to exist;
 * - `shrink` needs that too, and frees space on a full disk;
 * - `readonly` needs that too, and never writes;
 * - `preview` writes nothing and treats a missing index as empty;
 * - `temporary` is a new index that is deleted with the command.
 */
export type Purpose = "write" | "change" | "shrink" | "read" | "readonly" | "preview" | "temporary"
