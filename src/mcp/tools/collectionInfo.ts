import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { CollectionName } from "../../model/Collection.ts"
import { make } from "../Tool.ts"
import { IndexInfo, indexInfo, infoText } from "./info.ts"

export const collectionInfo = make({
  name: "collection_info",
  title: "What the index holds",
  description: ({ tools }) =>
    "Statistics of the index: documents, passages (chunks), database size, embedding model, and the collections by name. " +
    "Use it to see whether there is anything to search, or which collections there are; it names no documents" +
    (tools.includes("list_sources") ? " (list_sources does)." : "."),
  input: Schema.Struct({ collection: Schema.optional(CollectionName) }),
  output: IndexInfo,
  run: ({ collection }, settings) =>
    Effect.map(indexInfo(settings, collection), ({ describe, ...structured }) => ({
      structured,
      text: [infoText({ describe, ...structured }, collection)]
    }))
})
