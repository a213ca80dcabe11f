import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Indexer } from "../../Indexer.ts"
import { type CollectionName, defaultCollection } from "../../model/Collection.ts"
import { DocumentId } from "../../model/Document.ts"
import { Store } from "../../Store.ts"
import { oneLine } from "../../text/prompt.ts"
import { invalidParams, type Problem, RpcError } from "../RpcError.ts"
import { orEmpty } from "./request.ts"

const candidates = 5

const isDocumentId = (text: string): text is DocumentId => text.trim() === text && text !== "" && text.length <= 1000

/** `*` and `?` of a path stand for themselves as far as a glob allows: as any one character. */
const glob = (text: string): string => `*${text.replace(/[*?[\]\\]/g, "?")}`

const refuse = (path: string, message: string) => invalidParams([{ path, message } satisfies Problem])

/**
 * The document under a source, or under a doc_id given as one, since a result without a source shows its doc_id there; or
 * the only one whose source ends like it. Fails with -32602, naming those that come near.
 */
const findSource = Effect.fn("mcp.findSource")(function* (collection: CollectionName, source: string) {
  const store = yield* Store
  const refs = [
    (yield* Indexer).draft({ content: "", source, metadata: {} }),
    ...(isDocumentId(source) ? [{ docId: source, derivedId: source }] : [])
  ]
  for (const ref of refs) {
    const [found = Option.none()] = yield* orEmpty(collection, [])(store.lookup(collection, [ref]))
    if (Option.isSome(found)) return found.value.docId
  }
  const near = yield* orEmpty(
    collection,
    []
  )(store.list(collection, { limit: candidates + 1, filter: { source: glob(source) } }))
  const [only] = near
  if (near.length === 1 && only !== undefined) return only.docId
  const given = JSON.stringify(oneLine(source).slice(0, 200))
  const names = near.slice(0, candidates).map((document) => document.source ?? document.docId)
  return yield* refuse(
    "source",
    near.length === 0
      ? `source: no document has the source ${given}; give it as search or list_sources shows it`
      : `source: several documents end in ${given}: ${names.join(", ")}${near.length > candidates ? ", …" : ""}; give one of them whole`
  )
})

/** The document that a caller names by its doc_id or its source, one of the two. */
export const findDocument = Effect.fn("mcp.findDocument")(function* (by: {
  readonly docId?: DocumentId | undefined
  readonly source?: string | undefined
  readonly collection?: CollectionName | undefined
}) {
  const collection = by.collection ?? defaultCollection
  if ((by.docId === undefined) === (by.source === undefined)) {
    return yield* refuse(by.docId === undefined ? "source" : "doc_id", "give either source or doc_id, one of the two")
  }
  const docId = by.docId ?? (yield* findSource(collection, by.source as string))
  const missing = refuse(
    "doc_id",
    `doc_id: no document has the id ${JSON.stringify(docId)}; search and list_sources show the ids there are`
  )
  const found = yield* (yield* Store).get(collection, docId).pipe(
    orEmpty(collection, undefined),
    Effect.catchTag("DocumentNotFound", () => missing)
  )
  return found === undefined ? yield* missing : found
})

const cited = /^(.+):(\d{1,9})(?:-(\d{1,9}))?$/s

/** As `findDocument`; a source that is none may be cited as search shows it, `source:12-30`, and gives those lines too. */
export const findCited = (by: Parameters<typeof findDocument>[0]) =>
  findDocument(by).pipe(
    Effect.map((document) => ({ document, lines: undefined })),
    Effect.catchIf(
      (error) => error instanceof RpcError,
      (refusal) => {
        const [, source, first, last = first] = cited.exec(by.source ?? "") ?? []
        return source === undefined
          ? Effect.fail(refusal)
          : findDocument({ ...by, source }).pipe(
              Effect.map((document) => ({ document, lines: { startLine: Number(first), endLine: Number(last) } })),
              Effect.catchIf(
                (error) => error instanceof RpcError,
                () => Effect.fail(refusal)
              )
            )
      }
    )
  )
