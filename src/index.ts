/**
 * Clew as a library: the ports, their layers, and the use cases, for Effect programs that index and search in their own
 * process. docs/library.md begins with a complete program.
 */
export { Answer, type Answering, type AskRequest, type Verdict } from "./Answer.ts"
export { layer, layerOf } from "./App.ts"
export { configure } from "./Configured.ts"
export { Benchmark } from "./measuring/Benchmark.ts"
export { Chunker } from "./Chunker.ts"
export {
  EmbeddingConfig,
  LimitsConfig,
  LogConfig,
  layerOf as layerConfig,
  LlmConfig,
  PipelineConfig,
  SearchConfig,
  StoreConfig
} from "./Config.ts"
export { Embedder, EmbedderUnavailable } from "./Embedder.ts"
export { layer as layerBuiltin, layerDirectory as layerModel2Vec } from "./Embedder/Builtin.ts"
export { Embedders, layer as layerEmbedders, layerSingle as layerSingleEmbedder } from "./Embedders.ts"
export type { FileEvent } from "./files/FileEvent.ts"
export { FileIndexer, type FileRun } from "./files/FileIndexer.ts"
export { Indexer } from "./Indexer.ts"
export type { IndexedDocument } from "./model/Draft.ts"
export {
  type FileFormat,
  type LoadedDocument,
  Loader,
  type SourceFile,
  Unreadable,
  Unsupported
} from "./files/Loader.ts"
export { type Generation, Llm, type LlmIdentity, LlmUnavailable, type Question } from "./Llm.ts"
export { layer as layerFiles } from "./files/Loader/Files.ts"
export { formats } from "./files/Loader/formats.ts"
export {
  type Collection,
  CollectionName,
  type CollectionSummary,
  defaultCollection,
  describeEmbedder,
  EmbedderIdentity
} from "./model/Collection.ts"
export { DocumentId, DocumentInput, DocumentMetadata, type Metadata, Source } from "./model/Document.ts"
export { type Condition, Filter } from "./model/Filter.ts"
export { limits } from "./model/Limits.ts"
export { type Passage, type Span, type Vector } from "./model/Passage.ts"
export { Alpha, Fusion, Mode, QueryText, SearchRequest, TopK } from "./model/Query.ts"
export { type Hit, SearchResponse, SearchResult, toSearchResult } from "./model/SearchResult.ts"
export { BudgetTooSmall, Prompt, type PromptOutcome } from "./Prompt.ts"
export { Reindexer } from "./upkeep/Reindexer.ts"
export { Search, type SearchOutcome } from "./Search.ts"
export { Store } from "./Store.ts"
export * from "./Store/port/errors.ts"
export { type DatabaseOptions, layer as layerSqlite, layerMemory as layerSqliteMemory } from "./Store/Sqlite.ts"
export { Tokenizer } from "./packaged/Tokenizer.ts"
export { version } from "./version.ts"
