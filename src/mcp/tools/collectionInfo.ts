import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { CollectionName } from "../../model/Collection.ts"
import { make } from "../Tool.ts"
import { described } from "./request.ts"
import { IndexInfo, indexInfo, infoText } from "./info.ts"

export const collectionInfo = make({
  name: "collection_info",
  title: "What the index holds",
  description: ({ tools }) =>
    "What the index holds: documents, passages (chunks), database size, embedding model, collections by name; no documents" +
    (tools.includes("list_sources") ? " (list_sources does)." : "."),
  input: Schema.Struct({ collection: Schema.optional(described(CollectionName, "Only this collection")) }),
  output: IndexInfo,
  run: ({ collection }, settings) =>
    Effect.map(indexInfo(settings, collection), ({ describe, ...structured }) => ({
      structured,
      text: [infoText({ describe, ...structured }, collection)]
    }))
})
