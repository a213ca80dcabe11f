import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { IndexResponse } from "../../api/Documents.ts"
import { nextTurn } from "../../runtime/EventLoop.ts"
import { type Compared, Indexer, type IndexedDocument } from "../../Indexer.ts"
import { CollectionName, defaultCollection } from "../../model/Collection.ts"
import { DocumentInput } from "../../model/Document.ts"
import { bounded } from "../../text/prompt.ts"
import { make } from "../Tool.ts"
import { described, optional, plural } from "./request.ts"

const maxDocuments = 100

const IndexArguments = Schema.Struct({
  documents: Schema.Array(DocumentInput).pipe(
    Schema.minItems(1),
    Schema.maxItems(maxDocuments),
    Schema.annotations({ description: `1 to ${maxDocuments} documents` })
  ),
  collection: Schema.optional(described(CollectionName, "Made where it is new (default: default)"))
})

/** Characters that are indexed between two looks at the clock: about 20 ms of work. */
const sliceCharacters = 65_536

/** Runs of documents of about a slice's size each; a long document is alone. */
const slices = (documents: ReadonlyArray<Compared>): ReadonlyArray<ReadonlyArray<Compared>> => {
  const all: Array<Array<Compared>> = []
  let size = Infinity
  for (const document of documents) {
    const { length } = document.draft.content
    if (size + length > sliceCharacters) {
      all.push([])
      size = 0
    }
    all.at(-1)?.push(document)
    size += length
  }
  return all
}

export const indexDocuments = make({
  name: "index_documents",
  title: "Add documents to the index",
  description: () =>
    "Add documents to the user's index, so that later searches find them; only when the user asks to save or index something. " +
    `Takes 1 to ${maxDocuments} documents: content (Markdown is split at its headings) and metadata (source: a unique path or label, by which it is cited and replaced; title; any keys of your own, to filter by).`,
  input: IndexArguments,
  output: IndexResponse,
  writes: true,
  run: ({ collection: name = defaultCollection, documents: inputs }, _settings, { progress }) =>
    Effect.gen(function* () {
      const started = yield* Clock.currentTimeMillis
      const indexer = yield* Indexer
      const collection = yield* indexer.open(name)
      const drafts = yield* indexer.draftAll(inputs)
      const compared = yield* indexer.compare(name, drafts)
      const outcomes: Array<IndexedDocument> = []
      yield* progress(0, inputs.length, "Indexing")
      for (const slice of slices(compared)) {
        outcomes.push(...(yield* indexer.put(collection, yield* indexer.prepare(collection, slice))))
        yield* progress(
          outcomes.length,
          inputs.length,
          `Indexed ${outcomes.length} of ${plural(inputs.length, "document")}`
        )
        yield* nextTurn
      }
      const changed = outcomes.filter(({ status }) => status !== "unchanged")
      const structured = {
        indexed: changed.length,
        unchanged: outcomes.length - changed.length,
        chunks: changed.reduce((sum, { passages }) => sum + passages, 0),
        documents: outcomes.map(({ docId, passages, source, status }) => ({
          doc_id: docId,
          ...optional("source", source),
          status,
          chunks: passages
        })),
        index_time_ms: (yield* Clock.currentTimeMillis) - started
      }
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
