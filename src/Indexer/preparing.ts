import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Chunker } from "../Chunker.ts"
import type { Embedder } from "../Embedder.ts"
import { Embedders } from "../Embedders.ts"
import { Store } from "../Store.ts"
import { embeddedText } from "../chunking/embedded.ts"
import { extension } from "../chunking/format.ts"
import { located } from "../chunking/located.ts"
import type { Collection } from "../model/Collection.ts"
import type { Compared, Draft } from "../model/Draft.ts"
import type { Passage, Vector } from "../model/Passage.ts"
import type { PreparedDocument } from "../model/Stored.ts"
import { nextTurn, turnMs } from "../runtime/EventLoop.ts"
import { documentLanguage } from "../terms/detect.ts"
import type { Language } from "../terms/languages.ts"

/** Makes ready to be stored what changed of a batch. */
export const preparing = Effect.gen(function* () {
  const store = yield* Store
  const embedders = yield* Embedders
  const chunker = yield* Chunker

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

  /** A document's passages, smaller ones if a model cannot read them at once; a model that is left nothing reads parts. */
  const fitting = Effect.fnUntraced(function* (draft: Draft, fill: Embedder["Type"]["fill"]) {
    const cut = (share?: number) => chunker.chunk(draft.content, draft.format, languageOf(draft), share)
    let passages = yield* cut()
    if (fill === undefined) return passages
    let share = 1
    for (let times = 0; times < 3; times++) {
      let most = 0
      for (const some of Arr.chunksOf(passages, counted)) {
        most = Math.max(most, ...(yield* fill([...textsOf([draft], [some])])))
      }
      if (most <= 1) break
      share *= 0.9 / most
      passages = yield* cut(share)
    }
    return passages
  })

  return Effect.fn("Indexer.prepare")(function* (collection: Collection, batch: ReadonlyArray<Compared>) {
    const changed = batch.filter(({ status }) => status !== "unchanged")
    const drafts = changed.map(({ draft }) => draft)
    if (drafts.length === 0) return []
    const cut: Array<ReadonlyArray<Passage>> = []
    const languages: Array<Language> = []
    let until = performance.now() + turnMs
    const embedder = yield* embedders.forCollection(collection, "patient")
    const fill = embedder.fill ?? (embedders.meanwhile && embedders.configured.fill)
    for (const next of drafts) {
      const passages = located(yield* fitting(next, fill), next.marks)
      cut.push(passages)
      languages.push(documentLanguage(passages))
      if (performance.now() < until) continue
      yield* nextTurn
      until = performance.now() + turnMs
    }
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
      return { ...next, language: languages[index]!, passages }
    })
  })
})

const languageOf = ({ format, origin, source }: Draft): string | undefined =>
  format === "code" || format === "data" ? extension(origin ?? source ?? "") : undefined

/** Passages whose tokens a model counts at once: questions wait meanwhile. */
const counted = 64

/** Texts passed to the embedder at once; all texts of a long document would need its size in memory again. */
const window = 2048

/** The texts to embed of each document, in order. */
export function* textsOf(
  drafts: ReadonlyArray<{ readonly title?: string | undefined }>,
  cut: ReadonlyArray<ReadonlyArray<Passage>>,
  making?: number
): Generator<string> {
  for (const [index, { title }] of drafts.entries()) {
    for (const passage of cut[index]!) yield embeddedText(title, passage, making)
  }
}

/** Names a text of the sequence by its document and lines. */
export const placesOf =
  (
    drafts: ReadonlyArray<{ readonly source?: string | undefined; readonly origin?: string | undefined }>,
    cut: ReadonlyArray<ReadonlyArray<Passage>>
  ) =>
  (at: number): string => {
    let left = at
    for (const [index, { origin, source }] of drafts.entries()) {
      const passage = cut[index]![left]
      if (passage === undefined) {
        left -= cut[index]!.length
        continue
      }
      const lines = `${passage.startLine}${passage.endLine > passage.startLine ? `-${passage.endLine}` : ""}`
      return `${source ?? origin ?? "a document"}:${lines}`
    }
    return "a document"
  }

/**
 * A vector for each text, in order; known ones are not embedded again. Truncated and refused texts are logged with file
 * and lines.
 */
export const embedAll = Effect.fnUntraced(function* (
  { embedPassages }: typeof Embedder.Service,
  texts: Iterator<string>,
  known: ReadonlyMap<string, Vector>,
  placeOf: (at: number) => string
) {
  const vectors: Array<Option.Option<Vector>> = []
  for (;;) {
    const some: Array<string> = []
    while (some.length < window) {
      const next = texts.next()
      if (next.done === true) break
      some.push(next.value)
    }
    const first = vectors.length
    // To look a text up is to hash all of it.
    const kept = some.map((text) => (known.size === 0 ? undefined : known.get(text)))
    const places: Array<number> = []
    const unknown = some.filter((_, index) => kept[index] === undefined && places.push(first + index))
    const told = (index: number, what: string) => Effect.logWarning(`${placeOf(places[index]!)}: ${what}`)
    const embedded = unknown.length === 0 ? [] : yield* embedPassages(unknown, told)
    let at = 0
    for (const vector of kept) {
      vectors.push(vector === undefined ? (embedded[at++] ?? Option.none()) : Option.some(vector))
    }
    if (some.length < window) return vectors
  }
})
