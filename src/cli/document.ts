import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as path from "node:path"
import { Collections } from "../Collections.ts"
import type { CollectionName } from "../model/Collection.ts"
import { DocumentId } from "../model/Document.ts"
import { Store } from "../Store.ts"
import { exitCode, stop } from "./exit.ts"
import { Place, shown } from "./place.ts"
import { Terminal } from "./terminal.ts"

/** How many documents a message names if several match. */
const named = 5

const literal = (text: string): string => text.replace(/[*?[\]\\]/g, "?")

/** The document with a source (a relative path or as stored), an id, or the end of a source. */
export const lookFor = Effect.fnUntraced(function* (source: string, collection: CollectionName | undefined) {
  const store = yield* Store
  const { cwd } = yield* Place
  const collections = yield* (yield* Collections).among(collection)
  const names = [...new Set([path.resolve(cwd, source), source])]
  for (const { name } of collections) {
    for (const each of names) {
      const id = DocumentId.make(each.trim().slice(0, 1000).trim() || "-")
      // One by one: two names of one document in a batch would be a conflict.
      const [found = Option.none()] = yield* Effect.catchTag(
        store.lookup(name, [{ source: each, derivedId: id }]),
        "DocumentConflict",
        // The id of a document without this source.
        () => store.lookup(name, [{ docId: id, derivedId: id }])
      )
      if (Option.isSome(found)) return [{ collection: name, docId: found.value.docId, source }]
    }
  }
  const found = yield* Effect.forEach(collections, ({ name }) =>
    Effect.map(store.list(name, { limit: named + 1, filter: { source: `*${literal(source)}` } }), (documents) =>
      documents.map((document) => ({
        collection: name,
        docId: document.docId,
        source: document.source ?? document.docId
      }))
    )
  )
  return found.flat()
})

/** The one document that matches; if there is none or more than one, says so and exits with 3. */
export const theDocument = Effect.fnUntraced(function* (source: string, collection: CollectionName | undefined) {
  const found = yield* lookFor(source, collection)
  const [only] = found
  if (found.length === 1 && only !== undefined) return only
  const { cwd } = yield* Place
  const { note } = yield* Terminal
  yield* note(
    found.length === 0
      ? `clew: no document ${JSON.stringify(source)}; clew list shows all`
      : `clew: several documents end in ${JSON.stringify(source)}: ${found
          .slice(0, named)
          .map((each) => `${shown(cwd, each.source)} (${each.collection})`)
          .join(", ")}`
  )
  return yield* stop(exitCode.nothingFound)
})
