import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { orEmpty } from "../../Collections.ts"
import { Embedders } from "../../Embedders.ts"
import { CollectionName, defaultCollection, describeEmbedder } from "../../model/Collection.ts"
import { CollectionInfo, toCollectionInfo, toEmbedding } from "../../model/Stats.ts"
import { Store } from "../../Store.ts"
import { version } from "../../version.ts"
import { type Settings, make } from "../Tool.ts"
import { defaultMaxTokens, described, fitting, maxTokens, plural } from "./answers.ts"

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
  const { identity, urgent } = (yield* Embedders).configured
  const configured = Effect.option(urgent?.identity ?? identity)
  const embedder = recorded ?? Option.getOrUndefined(yield* configured)
  return {
    documents: stats.documents,
    chunks: stats.passages,
    database_bytes: stats.databaseBytes,
    model: embedder?.model,
    embedding: embedder === undefined ? undefined : toEmbedding(embedder),
    collections: all.map(toCollectionInfo),
    read_only: settings.readOnly,
    version,
    describe: embedder === undefined ? "not available now" : describeEmbedder(embedder)
  }
})

const sizeText = (bytes: number): string =>
  bytes < 999_500 ? `${(bytes / 1e3).toFixed(0)} KB` : `${(bytes / 1e6).toFixed(1)} MB`

const lineOf = ({ chunks, documents, name }: CollectionInfo): string =>
  `- ${name}: ${plural(documents, "document")}, ${plural(chunks, "passage")}`

export const infoText = (
  info: Effect.Effect.Success<ReturnType<typeof indexInfo>> & { readonly omitted?: number | undefined },
  collection?: string
): string =>
  [
    `${collection === undefined ? "The index" : `Collection ${collection}`} holds ${plural(info.documents, "document")} in ${plural(info.chunks, "passage")}; the database takes ${sizeText(info.database_bytes)}.`,
    `Embedder: ${info.describe}.`,
    ...(info.collections.length === 0
      ? ["There is no collection yet; the first document creates `default`."]
      : ["Collections:", ...info.collections.map(lineOf), ...(!info.omitted ? [] : [`- and ${info.omitted} more`])]),
    ...(info.read_only ? ["The index is open read-only."] : [])
  ].join("\n")

export const collectionInfo = make({
  name: "collection_info",
  title: "What the index holds",
  description: ({ tools }) =>
    "Numbers of documents and passages (chunks), database size, embedding model, collections" +
    (tools.includes("list_sources") ? "; list_sources lists documents." : "."),
  input: Schema.Struct({
    collection: Schema.optional(described(CollectionName, "Only this one")),
    maxTokens
  }),
  unlisted: ["max_tokens"],
  run: ({ collection, maxTokens = defaultMaxTokens }, settings) =>
    Effect.gen(function* () {
      const { describe, ...info } = yield* indexInfo(settings, collection)
      return yield* fitting(
        info.collections.map((each) => ({ structured: each, text: [lineOf(each)] })),
        maxTokens,
        "the answer",
        (shown) => {
          const left = info.collections.length - shown
          const structured = {
            ...info,
            collections: info.collections.slice(0, shown),
            omitted: left === 0 ? undefined : left
          }
          return { structured, text: [infoText({ describe, ...structured }, collection)] }
        }
      )
    })
})
