import type { ReadResourceResult, Resource, ResourceTemplate } from "@modelcontextprotocol/sdk/types.js"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { CollectionName, defaultCollection } from "../model/Collection.ts"
import { DocumentId } from "../model/Document.ts"
import type { DocumentSummary } from "../model/Stored.ts"
import { Store } from "../Store.ts"
import { formatOfName } from "../text/format.ts"
import type { Engine } from "./Engine.ts"
import { code, invalidParams, RpcError } from "./RpcError.ts"
import type { Settings } from "./Tool.ts"
import { findDocument } from "./tools/document.ts"
import { indexInfo } from "./tools/info.ts"
import { orEmpty, plural } from "./tools/request.ts"

const statsUri = "service://index/stats"

/** Documents are served to whoever may read documents by tool; `--filter` holds here too. */
const servesDocuments = ({ tools }: Settings): boolean => tools.includes("get_document")

export const templates = (settings: Settings): ReadonlyArray<ResourceTemplate> =>
  servesDocuments(settings)
    ? [
        {
          name: "document",
          title: "Document",
          uriTemplate: "clew://documents/{doc_id}",
          description: "The whole text of an indexed document of the default collection, as it was indexed"
        },
        {
          name: "collection_document",
          title: "Document of a collection",
          uriTemplate: "clew://collections/{collection}/documents/{doc_id}",
          description: "The whole text of an indexed document of a named collection"
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

const documentResource = ({ docId, passages, source, title }: DocumentSummary): Resource => ({
  uri: `clew://documents/${encodeURIComponent(docId)}`,
  name: source ?? docId,
  ...(title === undefined ? {} : { title }),
  description: `Indexed document, ${plural(passages, "passage")}`,
  mimeType: mimeType(source)
})

const pageSize = 100

/** The statistics, then the default collection's documents by source, a page at a time. */
export const list = (settings: Settings, cursor: string | undefined) =>
  Effect.gen(function* () {
    if (!servesDocuments(settings)) return { resources: [stats] }
    const store = yield* Store
    const after = cursor === undefined ? undefined : yield* knownCursor(cursor)
    const found = yield* orEmpty(
      defaultCollection,
      [] as ReadonlyArray<DocumentSummary>
    )(store.list(defaultCollection, { limit: pageSize + 1, after }))
    const page = found.slice(0, pageSize)
    const last = found.length > pageSize ? page.at(-1) : undefined
    return {
      resources: [...(cursor === undefined ? [stats] : []), ...page.map(documentResource)],
      ...(last === undefined ? {} : { nextCursor: Buffer.from(last.docId).toString("base64url") })
    }
  })

const knownCursor = (cursor: string) =>
  Effect.gen(function* () {
    const refuse = invalidParams([
      { path: "cursor", message: "cursor is not one of ours, or its document is gone; start again without one" }
    ])
    const docId = yield* Effect.mapError(
      Schema.decodeUnknown(DocumentId)(Buffer.from(cursor, "base64url").toString("utf8")),
      () => refuse
    )
    const [known = Option.none()] = yield* orEmpty(
      defaultCollection,
      []
    )((yield* Store).lookup(defaultCollection, [{ docId, derivedId: docId }]))
    return Option.isSome(known) ? docId : yield* refuse
  })

const documentUri = /^clew:\/\/(?:collections\/([^/]+)\/)?documents\/([^/]+)$/

const decodeName = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Fails with -32002 for what is not there. */
export const read = (settings: Settings, uri: string): Effect.Effect<ReadResourceResult, unknown, Engine> =>
  Effect.gen(function* () {
    if (uri === statsUri) {
      const { describe: _, ...info } = yield* indexInfo(settings)
      return { contents: [{ uri, mimeType: "application/json", text: JSON.stringify(info, null, 2) }] }
    }
    const parts = servesDocuments(settings) ? documentUri.exec(uri) : null
    if (parts === null) return yield* unknown(uri)
    return yield* readDocument(uri, parts[1] ?? defaultCollection, parts[2] ?? "")
  })

const unknown = (uri: string) =>
  new RpcError({
    code: code.resourceNotFound,
    message: `uri: there is no resource ${JSON.stringify(uri)}; resources/list and resources/templates/list name what there is`,
    data: { uri }
  })

const readDocument = (uri: string, collectionText: string, idText: string) =>
  Effect.gen(function* () {
    const collection = yield* Schema.decodeUnknown(CollectionName)(decodeName(collectionText))
    const docId = yield* Schema.decodeUnknown(DocumentId)(decodeName(idText))
    const { content, source } = yield* findDocument({ docId, collection })
    return { contents: [{ uri, mimeType: mimeType(source), text: content }] }
  }).pipe(
    Effect.catchTags({
      ParseError: () => unknown(uri),
      CollectionNotFound: () => unknown(uri),
      RpcError: () => unknown(uri)
    })
  )
