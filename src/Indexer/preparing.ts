import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Chunker } from "../Chunker.ts"
import { Embedders } from "../Embedders.ts"
import type { Collection } from "../model/Collection.ts"
import type { Compared, Draft } from "../model/Draft.ts"
import type { Passage } from "../model/Passage.ts"
import type { PreparedDocument } from "../model/Stored.ts"
import { nextTurn, turnMs } from "../runtime/EventLoop.ts"
import { Store } from "../Store.ts"
import { documentLanguage } from "../terms/detect.ts"
import { embeddedText } from "../chunking/embedded.ts"
import { extension } from "../chunking/format.ts"
import { located } from "../chunking/located.ts"
import { embedAll, placesOf, textsOf } from "./embedding.ts"

/** Makes ready to be stored what changed of a batch. */
export const preparing = Effect.gen(function* () {
  const store = yield* Store
  const embedders = yield* Embedders
  const chunker = yield* Chunker

  /** Stored vectors for the texts of changed documents, from their old versions or from elsewhere. */
  const embeddedBefore = Effect.fnUntraced(function* (
    { embedder, name }: Collection,
    changed: ReadonlyArray<Compared>
  ) {
    const passages = yield* Effect.catchTag(
      store.embeddings(name, {
        docIds: changed.flatMap(({ stored }) => Option.toArray(Option.map(stored, ({ docId }) => docId))),
        fingerprints: changed.map(({ draft }) => draft.fingerprint)
      }),
      "CollectionNotFound",
      () => Effect.succeed([])
    )
    const fitting = passages.filter(({ vector }) => vector.length === embedder.dimensions)
    return new Map(fitting.map((passage) => [embeddedText(passage.title, passage, embedder.making), passage.vector]))
  })

  /** Splits changed documents, and embeds their new passages. */
  return Effect.fn("Indexer.prepare")(function* (collection: Collection, batch: ReadonlyArray<Compared>) {
    const changed = batch.filter(({ status }) => status !== "unchanged")
    const drafts = changed.map(({ draft }) => draft)
    if (drafts.length === 0) return []
    const cut: Array<ReadonlyArray<Passage>> = []
    let until = performance.now() + turnMs
    for (const next of drafts) {
      cut.push(located(yield* chunker.chunk(next.content, next.format, languageOf(next)), next.marks))
      if (performance.now() < until) continue
      yield* nextTurn
      until = performance.now() + turnMs
    }
    const embedder = yield* embedders.forCollection(collection)
    const before = yield* embeddedBefore(collection, changed)
    const vectors = yield* embedAll(
      embedder,
      textsOf(drafts, cut, collection.embedder.making),
      before,
      placesOf(drafts, cut)
    )
    let at = 0
    return drafts.map((next, index): PreparedDocument => {
      const passages = cut[index]!.map((passage) => ({ ...passage, vector: vectors[at++] ?? Option.none() }))
      return { ...next, language: documentLanguage(passages), passages }
    })
  })
})

const languageOf = ({ format, origin, source }: Draft): string | undefined =>
  format === "code" || format === "data" ? extension(origin ?? source ?? "") : undefined
