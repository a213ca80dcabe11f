import * as Effect from "effect/Effect"
import type { Collections } from "../Collections.ts"
import { find } from "../find.ts"
import { Store } from "../Store.ts"
import { type Cited, linesCited, referencesIn } from "../model/Locator.ts"
import type { DoorSimilarRequest } from "../model/Query.ts"
import type { StoredDocument } from "../model/Stored.ts"
import { because, fault } from "../model/fault.ts"

/** There is no passage where a request says that one is. */
export class PassageNotFound extends fault<PassageNotFound>()(
  "PassageNotFound",
  404,
  because,
  ({ reason }) => `No such passage: ${reason}`
) {}

/** What a request may name: a source, or the doc_id that results show in place of one, and both with a line or a place. */
const referencesOf = ({ cited, docId, source }: DoorSimilarRequest) =>
  docId === undefined
    ? referencesIn(source ?? "").map((reference) => ({ by: { source: reference.source }, cited: reference.cited }))
    : [{ by: { docId, source }, cited }]

/** The passage of an index, a line or a place, of which it is the first; of a document with one passage, that. */
const passageOf = (document: StoredDocument, chunkIndex: number | undefined, cited: Cited | undefined) => {
  const { passages } = document
  if (chunkIndex !== undefined) return passages.find(({ ordinal }) => ordinal === chunkIndex)
  if (cited === undefined) return passages.length === 1 ? passages[0] : undefined
  const line = linesCited(document, cited)?.startLine ?? NaN
  return (
    passages.find(({ endLine, startLine }) => startLine <= line && line <= endLine) ??
    // A line between two passages, which is blank, belongs to the first.
    (line <= (passages.at(-1)?.endLine ?? 0) ? passages.findLast(({ endLine }) => endLine < line) : undefined)
  )
}

/** Finds the passages that requests name. */
export const naming = (documents: typeof Store.Service, searched: (typeof Collections.Service)["searched"]) => {
  /** The passage that a request names, in the first collection that has its document, and the text that it is found by. */
  const named = Effect.fnUntraced(function* (request: DoorSimilarRequest) {
    const refs = referencesOf(request)
    for (const { name } of yield* searched(request.home ?? request.collection)) {
      for (const { by, cited } of refs) {
        const known = yield* Effect.provideService(find([name], by), Store, documents)
        if (known === undefined) continue
        const document = yield* Effect.catchTag(
          documents.get(name, known.docId),
          "DocumentNotFound",
          ({ message }) => new PassageNotFound({ reason: message })
        )
        const passage = passageOf(document, request.chunkIndex, cited)
        if (passage === undefined) {
          const last = document.passages.length - 1
          return yield* new PassageNotFound({
            reason: `${document.source ?? document.docId} has ${last < 0 ? "no passages" : `passages 0 to ${last}, in lines ${document.passages[0]!.startLine} to ${document.passages[last]!.endLine}`}: say which by chunk_index (--chunk), or as source:line`
          })
        }
        return { collection: name, document, passage }
      }
    }
    return yield* new PassageNotFound({
      reason: `no document has the ${request.docId === undefined ? `source ${JSON.stringify(request.source)}` : `doc_id ${JSON.stringify(request.docId)}`}; give it as results show it`
    })
  })

  /** The vector that a collection has of a passage; undefined if it is not at hand, and has to be made again. */
  const vectorOf = Effect.fnUntraced(function* ({
    collection,
    document,
    passage
  }: Effect.Effect.Success<ReturnType<typeof named>>) {
    const { embedder } = yield* documents.collection(collection)
    const all = yield* documents.embeddings(collection, { docIds: [document.docId], fingerprints: [] })
    const same = all.find(
      ({ heading, text }) => text === passage.text && heading.join("\n") === passage.heading.join("\n")
    )
    return same && { embedder, vector: same.vector }
  })

  return { named, vectorOf }
}
