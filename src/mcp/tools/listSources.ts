import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { CollectionName, defaultCollection } from "../../model/Collection.ts"
import { DocumentId } from "../../model/Document.ts"
import { Filter } from "../../model/Filter.ts"
import type { DocumentSummary } from "../../model/Stored.ts"
import { Store } from "../../Store.ts"
import { oneLine } from "../../text/prompt.ts"
import { invalidParams } from "../RpcError.ts"
import { make } from "../Tool.ts"
import { defaultMaxTokens, fitting } from "./budget.ts"
import { maxTokens, optional, orEmpty, plural } from "./request.ts"

const defaultLimit = 100

const ListArguments = Schema.Struct({
  filter: Schema.optional(Filter),
  limit: Schema.optional(Schema.Int.pipe(Schema.between(1, 1000)).annotations({ description: "Documents on a page" })),
  cursor: Schema.optional(DocumentId.annotations({ description: "next_cursor of the page before" })),
  collection: Schema.optional(CollectionName),
  maxTokens
})

const ListAnswer = Schema.Struct({
  sources: Schema.Array(
    Schema.Struct({
      source: Schema.String.annotations({ description: "The document's source, or its doc_id when it has none" }),
      doc_id: Schema.String,
      title: Schema.optional(Schema.String),
      chunks: Schema.Int.annotations({ description: "Its passages" })
    })
  ).annotations({ description: "By source" }),
  next_cursor: Schema.optional(Schema.String.annotations({ description: "There is more: the next page's cursor" }))
})

const line = ({ docId, passages, source, title }: DocumentSummary): string => {
  const name = oneLine(source ?? docId)
  const about = title === undefined || title === source ? "" : ` (${oneLine(title)})`
  return `- ${name}${about}, ${plural(passages, "passage")}`
}

export const listSources = make({
  name: "list_sources",
  title: "List the documents",
  description: () =>
    'Name the indexed documents by source, a page at a time: what there is to search. Narrow it by filter, e.g. {"source": "*/docs/*"} (sources are mostly absolute paths). ' +
    "To find where something is said, use search instead; to read one of them, get_document. Where more follow, the answer gives the next page's cursor.",
  input: ListArguments,
  output: ListAnswer,
  defaults: () => ({ limit: defaultLimit, max_tokens: defaultMaxTokens }),
  run: ({ collection = defaultCollection, cursor, filter, limit = defaultLimit, maxTokens = defaultMaxTokens }) =>
    Effect.gen(function* () {
      const store = yield* Store
      if (cursor !== undefined) {
        const [known = Option.none()] = yield* orEmpty(
          collection,
          []
        )(store.lookup(collection, [{ docId: cursor, derivedId: cursor }]))
        if (Option.isNone(known)) {
          return yield* invalidParams([
            {
              path: "cursor",
              message: `cursor: the document ${JSON.stringify(cursor)} is gone; start again without a cursor`
            }
          ])
        }
      }
      const found = yield* orEmpty(
        collection,
        [] as ReadonlyArray<DocumentSummary>
      )(store.list(collection, { limit: limit + 1, after: cursor, filter }))
      const page = found.slice(0, limit)
      const fit = Math.max(
        Math.min(1, page.length),
        yield* fitting(
          page.map((document) => `${line(document)} ${document.docId}`),
          maxTokens
        )
      )
      const shown = page.slice(0, fit)
      const next = shown.length < found.length ? shown.at(-1)?.docId : undefined
      return {
        structured: {
          sources: shown.map(({ docId, passages, source, title }) => ({
            source: source ?? docId,
            doc_id: docId,
            ...optional("title", title),
            chunks: passages
          })),
          ...optional("next_cursor", next)
        },
        text: [
          [
            shown.length === 0
              ? `No ${cursor === undefined ? "" : "further "}document${filter === undefined ? "" : " matches the filter"} in collection ${collection}.`
              : `${plural(shown.length, "document")} of collection ${collection}, by source:`,
            ...shown.map(line),
            ...(next === undefined ? [] : [`More follow: call list_sources again with cursor ${JSON.stringify(next)}.`])
          ].join("\n")
        ]
      }
    })
})
