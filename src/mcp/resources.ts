import type { ReadResourceResult, Resource, ResourceTemplate } from "@modelcontextprotocol/sdk/types.js"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { formatOfName } from "../chunking/format.ts"
import { bounded, boundedSource } from "../citations/line.ts"
import { CollectionName, defaultCollection } from "../model/Collection.ts"
import { DocumentId } from "../model/Document.ts"
import type { RecentDocument } from "../model/Stored.ts"
import { Store } from "../Store.ts"
import { code, refuse, RpcError } from "./RpcError.ts"
import type { Needs, Settings } from "./Tool.ts"
import { plural } from "./tools/answers.ts"
import { indexInfo } from "./tools/collectionInfo.ts"
import type { Watched } from "./Watching.ts"
import { readDocument } from "./tools/getDocument.ts"

const statsUri = "service://index/stats"

/** Documents are available only if the tool get_document is; `--filter` applies here too. */
const servesDocuments = ({ tools }: Settings): boolean => tools.includes("get_document")

export const templates = (settings: Settings): ReadonlyArray<ResourceTemplate> =>
  servesDocuments(settings)
    ? [
        {
          name: "document",
          title: "Document",
          uriTemplate: "clew://documents/{doc_id}",
          description:
            "An indexed document of the default collection, quoted; a long one is cut, and says how to read on"
        },
        {
          name: "collection_document",
          title: "Document of a collection",
          uriTemplate: "clew://collections/{collection}/documents/{doc_id}",
          description: "An indexed document of a named collection, quoted; a long one is cut"
        }
      ]
    : []

const stats: Resource = {
  uri: statsUri,
  name: "index_stats",
  title: "Index statistics",
  description: "Documents, passages (chunks), database size and embedding model of the index, as JSON",
  mimeType: "application/json"
}

const mimeType = (source: string | undefined): string =>
  source !== undefined && formatOfName(source) === "markdown" ? "text/markdown" : "text/plain"

const documentResource = ({ collection, docId, passages, source, title }: RecentDocument): Resource => ({
  uri:
    collection === defaultCollection
      ? `clew://documents/${encodeURIComponent(docId)}`
      : `clew://collections/${collection}/documents/${encodeURIComponent(docId)}`,
  name: boundedSource(source ?? docId),
  ...(title === undefined ? {} : { title: bounded(title) }),
  description: `Indexed document, ${plural(passages, "passage")}`,
  mimeType: mimeType(source)
})

/** How many documents are listed; templates reach the rest. Clients fetch all pages before they continue. */
const listed = 20

/** Fails with -32602 if a list is to go on: none has a second page. */
export const onlyPage = (cursor: string | undefined): Effect.Effect<void, RpcError> =>
  cursor === undefined ? Effect.void : refuse("cursor", "cursor is invalid: there is only one page")

/** The statistics, then the latest documents. */
export const list = (settings: Settings, cursor: string | undefined) =>
  Effect.gen(function* () {
    yield* onlyPage(cursor)
    if (!servesDocuments(settings)) return { resources: [stats] }
    const recent = yield* (yield* Store).recent(listed)
    return { resources: [stats, ...recent.map(documentResource)] }
  })

const documentUri = /^clew:\/\/(?:collections\/([^/]+)\/)?documents\/([^/]+)$/

const decodeDocument = Schema.decodeUnknown(
  Schema.Struct({
    collection: Schema.compose(Schema.StringFromUriComponent, CollectionName),
    docId: Schema.compose(Schema.StringFromUriComponent, DocumentId)
  })
)

/** The resource that a URI names, which need not exist yet; fails with -32002 for what can be none. */
export const locate = (settings: Settings, uri: string): Effect.Effect<Watched, RpcError> => {
  if (uri === statsUri) return Effect.succeed({ uri })
  const [, collection = defaultCollection, docId] = (servesDocuments(settings) && documentUri.exec(uri)) || []
  return Effect.mapBoth(decodeDocument({ collection, docId }), {
    onFailure: () => unknown(uri),
    onSuccess: (document) => ({ uri, document })
  })
}

/** Fails with -32002 for a missing resource. */
export const read = (settings: Settings, uri: string): Effect.Effect<ReadResourceResult, unknown, Needs> =>
  Effect.gen(function* () {
    const { document } = yield* locate(settings, uri)
    if (document !== undefined) return yield* documentAt(uri, document)
    const { describe: _, ...info } = yield* indexInfo(settings)
    return { contents: [{ uri, mimeType: "application/json", text: JSON.stringify(info, null, 2) }] }
  })

const unknown = (uri: string, reason?: string) =>
  new RpcError({
    code: code.resourceNotFound,
    message: `uri: there is no resource ${JSON.stringify(boundedSource(uri))}${reason === undefined ? "" : `. ${reason}`}; resources/list and resources/templates/list show all`,
    data: { uri: boundedSource(uri) }
  })

const documentAt = (uri: string, { collection, docId }: NonNullable<Watched["document"]>) =>
  Effect.gen(function* () {
    const where = collection === defaultCollection ? "" : ` collection=${collection},`
    const { structured, text } = yield* readDocument(
      { docId, collection },
      `Continue with get_document, doc_id=${JSON.stringify(docId)},${where}`
    )
    return { contents: [{ uri, mimeType: mimeType(structured.source), text: text.join("\n") }] }
  }).pipe(
    Effect.catchTags({
      CollectionNotFound: ({ message }) => unknown(uri, message),
      RpcError: () => unknown(uri)
    })
  )
