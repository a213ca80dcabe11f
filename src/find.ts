import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Store } from "./Store.ts"
import type { CollectionName } from "./model/Collection.ts"
import { DocumentId } from "./model/Document.ts"

/** A document by its collection. */
export interface Wanted {
  readonly collection: CollectionName
  readonly docId: DocumentId
  readonly source?: string | undefined
}

const asId = Schema.decodeOption(DocumentId)

/** The document with exactly this source, or this id, in the first of the collections that has it. */
export const find = Effect.fnUntraced(function* (
  names: ReadonlyArray<CollectionName>,
  { docId, source = "" }: { readonly docId?: DocumentId | undefined; readonly source?: string | undefined }
) {
  const store = yield* Store
  // Not every source is an id.
  const id = docId ?? Option.getOrElse(asId(source.trim()), () => DocumentId.make("-"))
  const byId = { docId: id, derivedId: id }
  for (const collection of names) {
    const [found = Option.none()] = yield* Effect.catchTag(
      store.lookup(collection, [docId === undefined ? { source, derivedId: id } : byId]),
      "DocumentConflict",
      // The id of a document without this source.
      () => store.lookup(collection, [byId])
    ).pipe(Effect.catchTag("DocumentConflict", Effect.die))
    if (Option.isSome(found))
      return { collection, docId: found.value.docId, source: found.value.source } satisfies Wanted
  }
  return undefined
})
