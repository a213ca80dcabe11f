import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import { flag, int, list, number, text } from "./fields.ts"
import type { CollectionSummary, Model } from "./Collection.ts"
import type { Figure, StoreStats } from "./Stored.ts"

/** How the serving process follows files. */
export const Watching = Schema.Struct({
  paths: list(Schema.String, "The watched files and folders"),
  state: Schema.Literal("waiting", "starting", "events", "polling").annotations({
    description:
      "events: the system reports changes; polling: it does not, and files are scanned now and then; waiting: another process follows one of the paths for this index"
  }),
  last_scan_at: Schema.optional(Schema.Int).annotations({
    description: "Time of the last scan, in milliseconds since 1970"
  }),
  last_scan_ms: Schema.optional(Schema.Int).annotations({ description: "Duration of that scan" }),
  waiting: int("Changed files that have not been scanned yet"),
  failed: int("Files that could not be read or indexed"),
  held: list(Schema.String, "Paths whose documents are kept because they are missing or have lost most of their files")
}).annotations({ identifier: "Watching", description: "How files are followed" })
export type Watching = typeof Watching.Type

/** A collection's embedder, as the interfaces show it. */
export const Embedding = Schema.Struct({
  backend: text("builtin, onnx, ollama or openai"),
  model: text("The model's name"),
  dimensions: int("Dimensions of a vector")
}).annotations({ identifier: "Embedding", description: "The embedder" })

export const toEmbedding = (embedder: Model): typeof Embedding.Type =>
  Struct.pick(embedder, "backend", "model", "dimensions")

/** A change of embedder under way, as the interfaces show it. */
const Reindexing = Schema.Struct({
  embedding: Embedding,
  done: int("Passages with a vector of that embedder"),
  total: int("Passages of the collection")
}).annotations({
  identifier: "Reindexing",
  description: "The embedder that is making the collection's vectors; until it is done, searches use `embedding`"
})

const toReindexing = ({ next, passages }: Pick<CollectionSummary, "next" | "passages">) =>
  next === undefined
    ? {}
    : {
        reindexing: {
          embedding: toEmbedding(next.embedder),
          done: next.done,
          total: passages
        }
      }

/** A collection, as the interfaces show it. */
export const CollectionInfo = Schema.Struct({
  name: text("The collection's name"),
  documents: int("Number of documents"),
  chunks: int("Number of passages"),
  embedding: Embedding,
  reindexing: Schema.optional(Reindexing),
  created_at: int("When it was created, in milliseconds since 1970")
}).annotations({ identifier: "Collection", description: "A named set of documents with one embedder" })
export type CollectionInfo = typeof CollectionInfo.Type

export const toCollectionInfo = ({
  createdAt,
  documents,
  embedder,
  name,
  next,
  passages
}: CollectionSummary): CollectionInfo => ({
  name,
  documents,
  chunks: passages,
  embedding: toEmbedding(embedder),
  ...toReindexing({ next, passages }),
  created_at: createdAt
})

/** What a store guarantees and can do. Only these may relax what every store must pass. */
export const Capabilities = Schema.Struct({
  snapshot: flag("A search sees one state of the index in all its parts"),
  atomic_batch: flag("A batch of documents is stored whole or not at all"),
  exact_keyword: flag("Keyword scores are BM25 with exact statistics, under any filter"),
  exact_vectors: flag(
    "Vector scores are computed from the stored vectors, not from codes, and the nearest are looked for among all of them"
  ),
  purge: flag("clew compact leaves no byte of a deleted document where the index is stored"),
  backup: flag("clew backup and clew restore copy the index"),
  stale: flag("Results tell whether their file has changed since it was indexed"),
  shared: flag("Processes of several machines may use the index at once")
}).annotations({ identifier: "Capabilities", description: "What the store guarantees and can do" })
export type Capabilities = typeof Capabilities.Type

/** The store of an index, without its address. */
export const StoreInfo = Schema.Struct({
  backend: Schema.Literal("sqlite", "postgres", "opensearch").annotations({
    description: "sqlite, postgres or opensearch"
  }),
  version: text("Version of SQLite or of the server"),
  database: Schema.optional(text("The database, where the store is a server")),
  schema: Schema.optional(text("The schema in that database")),
  prefix: Schema.optional(text("How the names of its indexes begin, where the store is a search engine")),
  capabilities: Capabilities
}).annotations({ identifier: "Store", description: "What stores the index" })
export type StoreInfo = typeof StoreInfo.Type

/** The contents of an index, as in GET /stats and `info --json`. */
export const Stats = Schema.Struct({
  documents: int("Documents of the index, or of the named collection"),
  chunks: int("Passages"),
  collections: int("Collections"),
  database_bytes: int("Size of the database"),
  posting_bytes: int("Of that, the keyword index"),
  code_bytes: int("Of that, the codes by which vectors are found; 0 while there are few vectors"),
  linkage: Schema.optional(
    number(
      "Share of the documents that name or link another, in the named collection, else in the default one; absent before that exists"
    )
  ),
  store: StoreInfo,
  embedding: Embedding,
  languages: Schema.optional(
    list(Schema.String, "ISO 639 codes of the languages that the embedder's model serves, if its folder tells")
  ),
  reindexing: Schema.optional(Reindexing),
  read_only: flag("Whether writes are refused"),
  version: text("Clew's version"),
  uptime_seconds: int("Since the process started"),
  watch: Schema.optional(Watching).annotations({ description: "Present if this process follows files" })
}).annotations({ identifier: "Stats" })
export type Stats = typeof Stats.Type

/** A store that has no such figure has none of what it is of. */
const valueOf = (name: string, figures: ReadonlyArray<Figure>): number =>
  figures.find((figure) => figure.name === name)?.value ?? 0

export const toStats = (
  stats: StoreStats,
  sizes: ReadonlyArray<Figure>,
  process: Pick<
    Stats,
    "store" | "linkage" | "embedding" | "languages" | "read_only" | "version" | "uptime_seconds" | "watch"
  >,
  collection?: Pick<CollectionSummary, "next" | "passages">
): Stats => ({
  documents: stats.documents,
  chunks: stats.passages,
  collections: stats.collections,
  database_bytes: stats.databaseBytes,
  posting_bytes: valueOf("posting_bytes", sizes),
  code_bytes: valueOf("code_bytes", sizes),
  ...process,
  ...(collection && toReindexing(collection))
})
