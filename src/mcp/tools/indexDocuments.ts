import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { IndexResponse, toIndexResponse } from "../../api/Documents.ts"
import { Indexer } from "../../Indexer.ts"
import { CollectionName, defaultCollection } from "../../model/Collection.ts"
import { DocumentInput } from "../../model/Document.ts"
import { bounded } from "../../citations/prompt.ts"
import { make } from "../Tool.ts"
import { described, plural } from "./request.ts"

const maxDocuments = 100

const IndexArguments = Schema.Struct({
  documents: Schema.Array(DocumentInput).pipe(
    Schema.minItems(1),
    Schema.maxItems(maxDocuments),
    Schema.annotations({ description: `1 to ${maxDocuments} documents` })
  ),
  collection: Schema.optional(described(CollectionName, "Created if it is new (default: default)"))
})

export const indexDocuments = make({
  name: "index_documents",
  title: "Add documents to the index",
  description: () =>
    "Add documents to the user's index, so that later searches find them; only when the user asks to save or index something. " +
    `Takes 1 to ${maxDocuments} documents: content (Markdown is split at its headings) and metadata (source: a unique path or label, to cite and replace it by; title; any keys of your own, to filter by).`,
  input: IndexArguments,
  output: IndexResponse,
  writes: true,
  run: ({ collection: name = defaultCollection, documents: inputs }, _settings, { progress }) =>
    Effect.gen(function* () {
      const indexer = yield* Indexer
      const [took, outcomes] = yield* Effect.timed(
        indexer.index(inputs, name, (done) =>
          progress(done, inputs.length, `Indexed ${done} of ${plural(inputs.length, "document")}`)
        )
      )
      const structured = toIndexResponse(outcomes, Duration.toMillis(took))
      const text = [
        `Indexed ${plural(structured.indexed, "document")} in ${plural(structured.chunks, "passage")}, ${structured.unchanged} unchanged (${structured.index_time_ms} ms). They can be searched now.`,
        ...structured.documents.map(
          ({ chunks, doc_id, source, status }) =>
            `- ${status}: ${bounded(source ?? doc_id)} (doc_id ${doc_id}, ${plural(chunks, "passage")})`
        )
      ]
      return { structured, text: [text.join("\n")] }
    })
})
