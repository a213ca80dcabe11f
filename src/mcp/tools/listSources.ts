import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { within } from "../../model/fields.ts"
import { bounded, boundedSource } from "../../citations/line.ts"
import { orEmpty } from "../../Collections.ts"
import { filterHint } from "../../filterHint.ts"
import { CollectionName, defaultCollection } from "../../model/Collection.ts"
import { DocumentId } from "../../model/Document.ts"
import { isoTime } from "../../model/SearchResult.ts"
import { indexedSince } from "../../model/Since.ts"
import type { ListedDocument } from "../../model/Stored.ts"
import { refuse } from "../RpcError.ts"
import { Store } from "../../Store.ts"
import { make } from "../Tool.ts"
import {
  defaultMaxTokens,
  fitting,
  guard,
  quote,
  described,
  FilterArgument,
  SinceArgument,
  maxTokens,
  nothingIndexed,
  plural
} from "./answers.ts"
import { find } from "../../find.ts"

const defaultLimit = 100

/** A page's last document. Encoded, since its id may be anybody's text, and a cursor stands outside of the quoted lines. */
const Cursor = Schema.StringFromBase64Url.pipe(Schema.compose(DocumentId, { strict: false }))

const ListArguments = Schema.Struct({
  filter: FilterArgument,
  since: SinceArgument,
  limit: Schema.optional(within("limit", "ListLimit", Schema.Int, { min: 1, max: 1000 }, "Documents per page")),
  cursor: Schema.optional(described(Schema.String.pipe(Schema.maxLength(8000)), "next_cursor of the last page")),
  collection: Schema.optional(described(CollectionName, "Default: default")),
  maxTokens
})

const decodeCursor = Schema.decodeOption(Cursor)
const encodeCursor = Schema.encodeSync(Cursor)

const line = (document: ListedDocument, isDated: boolean): string => {
  const { docId, passages, source, title } = document
  const name = boundedSource(source ?? docId)
  const about = title === undefined || title === source ? "" : ` (${bounded(title)})`
  return `${name}${about}, ${plural(passages, "passage")}${isDated ? `, indexed ${isoTime(document.indexedAt)}` : ""}`
}

const toSource = ({ docId, indexedAt, passages, source, title }: ListedDocument) => ({
  source: boundedSource(source ?? docId),
  doc_id: docId,
  title: title === undefined ? undefined : bounded(title),
  chunks: passages,
  indexed_at: isoTime(indexedAt)
})

export const listSources = make({
  name: "list_sources",
  title: "List the documents",
  description: () =>
    "List the indexed documents by source, page by page, with the time of indexing; narrow by filter, or by since to what is new.",
  input: ListArguments,
  defaults: () => ({ limit: defaultLimit, max_tokens: defaultMaxTokens }),
  unlisted: ["max_tokens"],
  run: (
    {
      collection = defaultCollection,
      cursor,
      filter: given,
      limit = defaultLimit,
      maxTokens = defaultMaxTokens,
      since
    },
    settings
  ) =>
    Effect.gen(function* () {
      const store = yield* Store
      const filter = indexedSince(since, yield* Clock.currentTimeMillis, given)
      const lineOf = (document: ListedDocument) => line(document, since !== undefined)
      const docId = cursor === undefined ? undefined : Option.getOrUndefined(decodeCursor(cursor))
      const after = docId && (yield* orEmpty(collection, undefined)(find([collection], { docId })))
      if (cursor !== undefined && after === undefined) {
        return yield* refuse(
          "cursor",
          "cursor: it is not from list_sources, or its document is gone; start again without a cursor"
        )
      }
      const found = yield* orEmpty(
        collection,
        [] as ReadonlyArray<ListedDocument>
      )(store.list(collection, { limit: limit + 1, after, filter }))
      const page = found.slice(0, limit)
      const empty = page.length > 0 ? undefined : yield* nothingIndexed(settings)
      const others = page.length > 0 ? [] : yield* elsewhere(collection)
      const why = page.length > 0 || filter === undefined ? "" : ((yield* filterHint(filter, [collection])) ?? "")
      const further = why.replace(/^no document matches the filter(?:; )?/, "")
      return yield* fitting(
        page.map((document) => ({ structured: toSource(document), text: [lineOf(document)] })),
        maxTokens,
        page.length === 0 ? "the answer" : "the answer with one document",
        (fit) => {
          const shown = page.slice(0, fit)
          const next = shown.length > 0 && shown.length < found.length ? encodeCursor(shown.at(-1)!.docId) : undefined
          const none = `No ${cursor === undefined ? "" : "further "}document${filter === undefined ? "" : given === undefined ? " is new or changed since then" : " matches the filter"} in collection ${collection}.`
          const opening =
            empty !== undefined
              ? `No document is listed: ${empty}`
              : shown.length === 0
                ? [none, ...(further === "" ? [] : [`Why: ${further}.`]), ...others].join(" ")
                : `${plural(shown.length, "document")} of collection ${collection}, by source. ${guard}`
          const closing = next === undefined ? [] : [`More follow: call list_sources again with cursor "${next}".`]
          return {
            structured: {
              notice: [opening, ...closing].join(" "),
              sources: shown.map(toSource),
              next_cursor: next
            },
            text: [[opening, ...(shown.length === 0 ? [] : [quote(shown.map(lineOf))]), ...closing].join("\n")]
          }
        }
      )
    })
})

/** Collections with documents, for a caller that asked about an empty one. */
const elsewhere = Effect.fnUntraced(function* (collection: CollectionName) {
  const others = (yield* (yield* Store).collections).filter(
    ({ documents, name }) => documents > 0 && name !== collection
  )
  const names = others.slice(0, 10).map(({ documents, name }) => `${name} (${plural(documents, "document")})`)
  return names.length === 0 ? [] : [`There are other collections: ${names.join(", ")}.`]
})
