import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as Option from "effect/Option"
import { Chunker } from "../Chunker.ts"
import type { Embedder } from "../Embedder.ts"
import { Embedders } from "../Embedders.ts"
import { Store } from "../Store.ts"
import { embeddedText } from "../chunking/embedded.ts"
import { extension } from "../chunking/format.ts"
import { located } from "../chunking/located.ts"
import type { Collection, EmbedderIdentity } from "../model/Collection.ts"
import type { Compared, Draft } from "../model/Draft.ts"
import type { Passage, Vector } from "../model/Passage.ts"
import type { PreparedDocument } from "../model/Stored.ts"
import { nextTurn, turnMs } from "../runtime/EventLoop.ts"
import { documentLanguage } from "../terms/detect.ts"

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
        most = Math.max(most, ...(yield* fill(some.map((passage) => embeddedText(draft.title, passage)))))
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
    const cut: Array<Pick<PreparedDocument, "language"> & { draft: Draft; passages: ReadonlyArray<Passage> }> = []
    let until = performance.now() + turnMs
    const embedder = yield* embedders.forCollection(collection, "patient")
    const fill = embedder.fill ?? (embedders.meanwhile && embedders.configured.fill)
    for (const draft of drafts) {
      const passages = located(yield* fitting(draft, fill), draft.marks)
      cut.push({ draft, passages, language: documentLanguage(passages) })
      if (performance.now() < until) continue
      yield* nextTurn
      until = performance.now() + turnMs
    }
    const before = yield* embeddedBefore(collection, changed)
    const pieces = cut.flatMap(({ draft, passages }) => passages.map((passage) => ({ draft, passage })))
    const vectors = yield* embedAll(embedder, pieces, collection.embedder, before)
    let at = 0
    return cut.map(({ draft, language, passages }): PreparedDocument => {
      const embedded = passages.map((passage) => ({ ...passage, vector: vectors[at++] ?? Option.none() }))
      return { ...draft, language, passages: embedded }
    })
  })
})

const languageOf = ({ format, origin, source }: Draft): string | undefined =>
  format === "code" || format === "data" ? extension(origin ?? source ?? "") : undefined

/** Passages whose tokens a model counts at once: questions wait meanwhile. */
const counted = 64

/** Texts passed to the embedder at once; all texts of a long document would need its size in memory again. */
const window = 2048

interface Piece {
  readonly draft: Draft
  readonly passage: Passage
}

/** Names a passage by its document and lines. */
const placeOf = ({ draft: { origin, source }, passage: { endLine, startLine } }: Piece): string =>
  `${source ?? origin ?? "a document"}:${startLine}${endLine > startLine ? `-${endLine}` : ""}`

/**
 * Copies vectors into one memory, which threads share: those of a large document would be in each one twice. V8 does not
 * see what such memory takes, so that what is gone at once had better not be in it.
 */
const sharing = (numbers: number): ((vector: Vector) => Vector) => {
  const all = new Float32Array(new SharedArrayBuffer(numbers * Float32Array.BYTES_PER_ELEMENT))
  let end = 0
  return (vector) => {
    const start = end
    end += vector.length
    all.set(vector, start)
    return all.subarray(start, end)
  }
}

/**
 * A vector for each passage, in order; known texts are not embedded again. Truncated and refused ones are logged with
 * file and lines.
 */
const embedAll = Effect.fnUntraced(function* (
  { embedPassages }: typeof Embedder.Service,
  pieces: ReadonlyArray<Piece>,
  { dimensions, making }: EmbedderIdentity,
  known: ReadonlyMap<string, Vector>
) {
  const vectors: Array<Option.Option<Vector>> = []
  const keep = pieces.length > window ? sharing(pieces.length * dimensions) : identity
  for (const some of Arr.chunksOf(pieces, window)) {
    const texts = some.map(({ draft, passage }) => embeddedText(draft.title, passage, making))
    // To look a text up is to hash all of it.
    const kept = texts.map((text) => (known.size === 0 ? undefined : known.get(text)))
    const unknown = some.filter((_, index) => kept[index] === undefined)
    const told = (index: number, what: string) => Effect.logWarning(`${placeOf(unknown[index]!)}: ${what}`)
    const fresh = texts.filter((_, index) => kept[index] === undefined)
    const embedded = fresh.length === 0 ? [] : yield* embedPassages(fresh, told)
    let at = 0
    for (const vector of kept) {
      const found = vector === undefined ? (embedded[at++] ?? Option.none()) : Option.some(vector)
      vectors.push(Option.map(found, keep))
    }
  }
  return vectors
})
