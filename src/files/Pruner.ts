import * as Effect from "effect/Effect"
import type { Store } from "../Store.ts"
import type { CollectionName } from "../model/Collection.ts"
import type { Deleted, Pruned, PrunePosition } from "../model/Stored.ts"
import { letOthersWrite } from "../runtime/EventLoop.ts"

const pageFiles = 100

/**
 * Deletes documents from files at or below the paths, in steps that let others write; only those seen before the run, or
 * all, with the records of files that brought none.
 */
export const pruneAll = Effect.fnUntraced(function* (
  store: typeof Store.Service,
  collection: CollectionName,
  paths: ReadonlyArray<string>,
  before?: number
) {
  let sum = none
  let from: PrunePosition | undefined
  do {
    const step: Pruned = yield* store.prune(collection, paths, { before, from })
    sum = add(sum, step)
    from = step.next
    if (from !== undefined) yield* letOthersWrite
  } while (from !== undefined)
  for (const path of before === undefined ? paths : []) {
    for (let after: string | undefined; ;) {
      const files = yield* store.filesBelow(collection, path, { limit: pageFiles, after })
      if (files.length === 0) break
      const these = files.map((file) => file.path)
      sum = add(sum, yield* store.prune(collection, these))
      after = these.at(-1)
      yield* letOthersWrite
    }
  }
  return sum
})

export const none: Deleted = { documents: 0, passages: 0 }

export const add = (a: Deleted, b: Deleted): Deleted => ({
  documents: a.documents + b.documents,
  passages: a.passages + b.passages
})
