import * as Schema from "effect/Schema"
import type { CollectionSummary, EmbedderIdentity } from "./Collection.ts"
import type { Figure, StoreStats } from "./Stored.ts"
import { Watching } from "./Watching.ts"

/** A collection's embedder, as the interfaces show it. */
export const Embedding = Schema.Struct({
  backend: Schema.String.annotations({ description: "builtin, ollama or openai" }),
  model: Schema.String.annotations({ description: "The model's name" }),
  dimensions: Schema.Int.annotations({ description: "Dimensions of a vector" })
}).annotations({ identifier: "Embedding", description: "The embedder" })

export const toEmbedding = ({ backend, dimensions, model }: EmbedderIdentity): typeof Embedding.Type => ({
  backend,
  model,
  dimensions
})

/** A collection, as the interfaces show it. */
export const CollectionInfo = Schema.Struct({
  name: Schema.String.annotations({ description: "The collection's name" }),
  documents: Schema.Int.annotations({ description: "Number of documents" }),
  chunks: Schema.Int.annotations({ description: "Number of passages" }),
  embedding: Embedding,
  created_at: Schema.Int.annotations({ description: "When it was created, in milliseconds since 1970" })
}).annotations({ identifier: "Collection", description: "A named set of documents with one embedder" })
export type CollectionInfo = typeof CollectionInfo.Type

export const toCollectionInfo = ({
  createdAt,
  documents,
  embedder,
  name,
  passages
}: CollectionSummary): CollectionInfo => ({
  name,
  documents,
  chunks: passages,
  embedding: toEmbedding(embedder),
  created_at: createdAt
})

/** The contents of an index, as in GET /stats and `info --json`. */
export const Stats = Schema.Struct({
  documents: Schema.Int.annotations({ description: "Documents of the index, or of the named collection" }),
  chunks: Schema.Int.annotations({ description: "Passages" }),
  collections: Schema.Int.annotations({ description: "Collections" }),
  database_bytes: Schema.Int.annotations({ description: "Size of the database" }),
  posting_bytes: Schema.Int.annotations({ description: "Of that, the keyword index" }),
  code_bytes: Schema.Int.annotations({
    description: "Of that, the codes by which vectors are found; 0 while there are few vectors"
  }),
  linkage: Schema.optional(
    Schema.Finite.annotations({
      description:
        "Share of the documents that name or link another, in the named collection, else in the default one; absent before that exists"
    })
  ),
  embedding: Embedding,
  read_only: Schema.Boolean.annotations({ description: "Whether writes are refused" }),
  version: Schema.String.annotations({ description: "Clew's version" }),
  uptime_seconds: Schema.Int.annotations({ description: "Since the process started" }),
  watch: Schema.optional(Watching).annotations({ description: "Present if this process follows files" })
}).annotations({ identifier: "Stats" })
export type Stats = typeof Stats.Type

/** A store that has no such figure has none of what it is of. */
const valueOf = (name: string, figures: ReadonlyArray<Figure>): number =>
  figures.find((figure) => figure.name === name)?.value ?? 0

export const toStats = (
  stats: StoreStats,
  sizes: ReadonlyArray<Figure>,
  process: Pick<Stats, "linkage" | "embedding" | "read_only" | "version" | "uptime_seconds" | "watch">
): Stats => ({
  documents: stats.documents,
  chunks: stats.passages,
  collections: stats.collections,
  database_bytes: stats.databaseBytes,
  posting_bytes: valueOf("posting_bytes", sizes),
  code_bytes: valueOf("code_bytes", sizes),
  ...process
})
