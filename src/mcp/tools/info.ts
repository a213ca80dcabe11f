import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { orEmpty } from "../../Collections.ts"
import { Embedders } from "../../Embedders.ts"
import { CollectionName, defaultCollection, describeEmbedder } from "../../model/Collection.ts"
import { CollectionInfo, Embedding, toCollectionInfo, toEmbedding } from "../../model/Stats.ts"
import { Store } from "../../Store.ts"
import type { Settings } from "../Tool.ts"
import { optional, plural } from "./request.ts"

const count = (description: string) => Schema.Int.annotations({ description })

export const IndexInfo = Schema.Struct({
  documents: count("Documents of the index, or of the named collection"),
  chunks: count("Passages of these documents"),
  database_bytes: count("Size of the database"),
  model: Schema.optional(Schema.String.annotations({ description: "Name of the embedding model" })),
  embedding: Schema.optional(Embedding),
  collections: Schema.Array(CollectionInfo),
  read_only: Schema.Boolean,
  version: Schema.String.annotations({ description: "Clew's version" })
})
export type IndexInfo = typeof IndexInfo.Type

/** The contents of the index or of one collection. An embedder that does not answer is left out. */
export const indexInfo = Effect.fn("mcp.indexInfo")(function* (settings: Settings, collection?: CollectionName) {
  const store = yield* Store
  const all = yield* store.collections
  const stats = yield* orEmpty(collection ?? defaultCollection, {
    documents: 0,
    passages: 0,
    databaseBytes: (yield* store.stats()).databaseBytes
  })(store.stats(collection))
  const recorded = all.find(({ name }) => name === (collection ?? defaultCollection))?.embedder
  // Only asked if nothing is recorded: a remote embedder that is down may take long to fail.
  const configured = Effect.option((yield* Embedders).configured.identity)
  const embedder = recorded ?? Option.getOrUndefined(yield* configured)
  return {
    documents: stats.documents,
    chunks: stats.passages,
    database_bytes: stats.databaseBytes,
    ...optional("model", embedder?.model),
    ...optional("embedding", embedder === undefined ? undefined : toEmbedding(embedder)),
    collections: all.map(toCollectionInfo),
    read_only: settings.readOnly,
    version: settings.version,
    describe: embedder === undefined ? "not available now" : describeEmbedder(embedder)
  }
})

/** Most collections in an answer. */
const mostNamed = 50

const sizeText = (bytes: number): string =>
  bytes < 1e6 ? `${(bytes / 1e3).toFixed(0)} KB` : `${(bytes / 1e6).toFixed(1)} MB`

export const infoText = (info: Effect.Effect.Success<ReturnType<typeof indexInfo>>, collection?: string): string =>
  [
    `${collection === undefined ? "The index" : `Collection ${collection}`} holds ${plural(info.documents, "document")} in ${plural(info.chunks, "passage")}; the database takes ${sizeText(info.database_bytes)}.`,
    `Embedder: ${info.describe}.`,
    ...(info.collections.length === 0
      ? ["There is no collection yet; the first document creates `default`."]
      : [
          "Collections:",
          ...info.collections
            .slice(0, mostNamed)
            .map(
              ({ chunks, documents, name }) =>
                `- ${name}: ${plural(documents, "document")}, ${plural(chunks, "passage")}`
            ),
          ...(info.collections.length > mostNamed ? [`- and ${info.collections.length - mostNamed} more`] : [])
        ]),
    ...(info.read_only ? ["The index is open read-only."] : [])
  ].join("\n")
